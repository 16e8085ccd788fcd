"""What can be exported, and as what."""

FORMATS = ("parquet", "csv", "ndjson")
WHAT = ("decisions", "events")
