"""Names as files, browsers, fonts and terminals can take them."""

from __future__ import annotations

import re

from partial_monitoring.display import ELLIPSIS

UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)
"""Control characters, changes of the direction of writing, halves of characters (surrogates)."""


def printable(name: str) -> str:
    r"""Write what cannot be shown as Python does.

    >>> printable("a\x1b[31m"), printable("\ud800")
    ('a\\x1b[31m', '\\ud800')
    """
    return UNPRINTABLE.sub(lambda found: found[0].encode("unicode_escape").decode(), name)


def short(name: str, most: int = 28) -> str:
    """Put a name on one line, and cut it if it would not fit into a legend.

    >>> short("information-directed sampling", 12)
    'information…'
    """
    line = printable(" ".join(name.split()))
    return line if len(line) <= most else line[: most - 1] + ELLIPSIS
