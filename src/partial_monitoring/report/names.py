"""Names as legends can take them."""

from __future__ import annotations

from partial_monitoring.display import ELLIPSIS
from partial_monitoring.errors import visible


def short(name: str, most: int = 28) -> str:
    """Put a name on one line, and cut it if it would not fit into a legend.

    >>> short("information-directed sampling", 12)
    'information…'
    """
    line = visible(" ".join(name.split()))
    return line if len(line) <= most else line[: most - 1] + ELLIPSIS
