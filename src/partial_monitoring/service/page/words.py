"""Numbers and times as people read them."""

from __future__ import annotations

from datetime import UTC, datetime
from math import floor, log10

NONE = "–"
"""What is shown where there is no number."""

UNITS = (
    (60.0, 1.0, "s"),
    (3600.0, 60.0, "min"),
    (86400.0, 3600.0, "h"),
    (30 * 86400.0, 86400.0, "days"),
)
"""Up to which age, in seconds, a time is given in which unit."""


def count(value: float | None) -> str:
    """Return a whole number.

    >>> count(128402), count(None)
    ('128,402', '–')
    """
    return NONE if value is None else f"{value:,.0f}"


def number(value: float | None) -> str:
    """Return a number with three digits that matter.

    >>> number(0.020413), number(-1234.56), number(2.0), number(1e-16), number(3.2e12)
    ('0.0204', '−1,235', '2', '0', '3.2e+12')
    """
    if value is None:
        return NONE
    size = abs(value)
    if size < 1e-9:
        return "0"
    if not 1e-4 <= size < 1e9:
        text = f"{size:.3g}"
    else:
        digits = max(0, 2 - floor(log10(size)))
        text = f"{size:,.{digits}f}"
        text = text.rstrip("0").rstrip(".") if "." in text else text
    return f"−{text}" if value < 0 else text


def percent(value: float | None) -> str:
    """Return a share.

    >>> percent(0.1234), percent(1.0), percent(0.00012), percent(0.999999), percent(0.0)
    ('12 %', '100 %', '0.01 %', '> 99.9 %', '0 %')
    """
    if value is None:
        return NONE
    if 0.999 < value < 1.0:
        return "> 99.9 %"
    share = 100 * value
    if 0 < share < 0.01:
        return "< 0.01 %"
    digits = 0 if share >= 9.95 or share == 0 else 1 if share >= 0.95 else 2
    text = f"{share:.{digits}f}"
    return (text.rstrip("0").rstrip(".") if "." in text else text) + " %"


def iso(at: float) -> str:
    """Return a time as a browser reads it.

    >>> iso(0.0)
    '1970-01-01T00:00:00Z'
    """
    return _moment(at).strftime("%Y-%m-%dT%H:%M:%SZ")


def ago(at: float, now: float) -> str:
    """Return how long ago a time was, or its date.

    >>> ago(0.0, 3.0), ago(0.0, 7300.0), ago(0.0, 1e9)
    ('just now', '2 h ago', '1 Jan 1970')
    """
    past = now - at
    if -60.0 <= past < 5.0:
        return "just now"
    for most, size, unit in UNITS:
        if 0 <= past < most:
            return f"{past // size:.0f} {unit} ago"
    moment = _moment(at)
    date = f"{moment.day} {moment:%b %Y}"
    return date if past > 0 else f"{date}, {moment:%H:%M} UTC"


def _moment(at: float) -> datetime:
    """Return a time; one that no calendar has becomes the last one."""
    try:
        return datetime.fromtimestamp(at, UTC)
    except (OverflowError, ValueError, OSError):
        return datetime.max.replace(tzinfo=UTC)


def names(labels: list[str], most: int = 4) -> str:
    """Return the first of several names, and how many more there are.

    >>> names(["$1", "$2"]), names(list("abcdefg"), 3)
    ('$1, $2', 'a, b, c and 4 more')
    """
    more = len(labels) - most
    return ", ".join(labels[:most]) + (f" and {more:,} more" if more > 0 else "")


def sentence(text: str) -> str:
    """Return a sentence with a capital letter and a full stop."""
    text = text.strip()
    if not text:
        return ""
    return text[0].upper() + text[1:] + ("" if text[-1] in ".!?" else ".")
