"""What a study was before it was edited: studies with its name and a number, ``pricing~1``."""

from __future__ import annotations

from partial_monitoring.storage.database import Database
from partial_monitoring.storage.study import Study


def edition(study: Study) -> int:
    """Return the number of a study that was edited, from its name, such as ``pricing~1``."""
    digits = study.name.rpartition("~")[2]
    return int(digits) if digits.isascii() and digits.isdecimal() else 0


def editions(database: Database, name: str) -> tuple[Study, ...]:
    """Return what a study was before it was edited, the latest first."""
    names = (own for own in database.names() if own.rpartition("~")[0] == name)
    found = [study for study in map(database.study, names) if study is not None and edition(study)]
    return tuple(sorted(found, key=edition, reverse=True))
