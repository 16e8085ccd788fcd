"""Games that were played with several truths: policies in rows, truths side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from partial_monitoring.report.summary import Section


@dataclass(frozen=True, eq=False)
class Side:
    """One game with several truths, such as random ones and an opponent."""

    game: str
    columns: list[Section]
    """One for each truth, in the order of the experiment."""

    @property
    def policies(self) -> list[str]:
        """Those that played with at least one of the truths."""
        return list(dict.fromkeys(name for own in self.columns for name in own.by_policy))


def side_by_side(sections: Sequence[Section]) -> list[Side]:
    """Return the games that were played with at least two truths."""
    together: dict[int, list[Section]] = {}
    for section in sections:
        if section.summaries:
            together.setdefault(id(section.verdict), []).append(section)  # equal games share theirs
    return [Side(own[0].comparison.game_name, own) for own in together.values() if len(own) > 1]
