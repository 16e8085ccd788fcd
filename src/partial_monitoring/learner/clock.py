"""Time, given by the caller or by the clock of the system: seconds since 1970, to milliseconds."""

from __future__ import annotations

from datetime import UTC, datetime
from time import time

from partial_monitoring.errors import InvalidInput
from partial_monitoring.validation import brief, real_number

LATEST = 253402300799.0
"""The end of the year 9999, after which there are no dates."""

Now = datetime | float | None
"""A time with its zone, or seconds since 1970; the system's clock if it is None."""


def seconds(now: Now) -> float:
    """Return a time as seconds since 1970."""
    if now is None:
        return int(time() * 1000) / 1000
    if isinstance(now, datetime):
        if now.tzinfo is None:
            raise InvalidInput(f"now must have a time zone, as datetime.now(UTC) has; got {now}.")
        now = now.timestamp()
    try:
        found = real_number("now", now)
    except InvalidInput:
        raise InvalidInput(
            f"now must be a datetime with a zone, or seconds since 1970; got {brief(now)}."
        ) from None
    if not 0.0 <= found <= LATEST:
        raise InvalidInput(f"now must be seconds since 1970, until 9999; got {brief(now)}.")
    return round(found, 3)


def is_time(value: object) -> bool:
    """Whether an entry of an event is a time."""
    return type(value) in (int, float) and 0.0 <= value <= LATEST  # type: ignore[operator]


def date(time: float) -> datetime:
    """Return seconds since 1970 as a date in UTC."""
    return datetime.fromtimestamp(time, UTC)
