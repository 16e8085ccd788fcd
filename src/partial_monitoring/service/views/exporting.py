"""All decisions or events of a study, as a file."""

from __future__ import annotations

from collections.abc import Iterator

from partial_monitoring.learner.base import LearnerBase
from partial_monitoring.service.views.taken import taken
from partial_monitoring.storage.exporting import exported_rows


def export(hosted: LearnerBase, what: str = "decisions", format: str = "ndjson") -> Iterator[bytes]:
    """Yield a file piece by piece, read as it is asked for.

    Parameters
    ----------
    what
        "decisions" or "events".
    format
        "parquet", "csv" or "ndjson".
    """
    own = taken(hosted)
    return exported_rows(own.storage, what, format, before=own.before)
