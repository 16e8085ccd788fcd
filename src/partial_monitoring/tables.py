"""From a problem to a game: a table of what you earn and what you see.

Rows are what you can do, columns are what may be true, and each cell says what you then earn and
what you then see.
"""

from __future__ import annotations

import csv
from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import Any

from partial_monitoring.errors import InvalidInput
from partial_monitoring.finite_game import FiniteGame
from partial_monitoring.validation import real_number

Table = Mapping[str, Mapping[str, Any]]


def from_table(earn: Table | Any, see: Table | Any | None = None) -> FiniteGame:
    """Build a finite game from a table.

    Parameters
    ----------
    earn
        ``{action: {outcome: reward}}`` or a pandas DataFrame with actions as rows. Without ``see``
        each cell is a pair (reward, signal).
    see
        ``{action: {outcome: signal}}`` or a DataFrame with the same labels.

    Examples
    --------
    >>> game = from_table({
    ...     "offer $1": {"pays $1": (1, "sold"), "pays $2": (1, "sold")},
    ...     "offer $2": {"pays $1": (0, "no"), "pays $2": (2, "sold")},
    ... })
    >>> game.signal("offer $2", "pays $1")
    'no'
    """
    rewards = _rows("earn", earn)
    actions = list(rewards)
    if not actions:
        raise InvalidInput("earn must have at least one row; got an empty table.")
    outcomes = list(rewards[actions[0]])
    cells = {} if see is None else _rows("see", see)
    if see is not None:
        _same_labels("see has other rows than earn", cells, rewards)
    earned: list[list[float]] = []
    seen: list[list[Hashable]] = []
    for action in actions:
        _same_labels(f"row {action!r} of earn has other columns", rewards[action], outcomes)
        if see is None:
            pairs = [_pair(action, x, rewards[action][x]) for x in outcomes]
        else:
            _same_labels(f"row {action!r} of see has other columns", cells[action], outcomes)
            pairs = [(rewards[action][x], cells[action][x]) for x in outcomes]
        earned.append([real_number(f"earn[{action!r}]", value) for value, _ in pairs])
        seen.append([signal for _, signal in pairs])
    return FiniteGame(earned, seen, actions=actions, outcomes=outcomes)


def from_csv(path: str | Path, see: str | Path | None = None) -> FiniteGame:
    """Build a finite game from a CSV file, or from one file for rewards and one for signals.

    The first row holds the outcomes, the first column the actions. In a single file each cell reads
    ``reward signal``, for example ``-2 no`` or ``-2 | not sold``.
    """
    if see is not None:
        return from_table(_read_csv(Path(path)), _read_csv(Path(see)))
    table = _read_csv(Path(path))
    return from_table(
        {
            action: {x: _split(Path(path), action, x, text) for x, text in row.items()}
            for action, row in table.items()
        }
    )


def _rows(name: str, table: Any) -> dict[str, dict[str, Any]]:
    """Read a mapping of mappings or a DataFrame."""
    if hasattr(table, "to_dict") and not isinstance(table, Mapping):
        table = table.to_dict("index")
    if not isinstance(table, Mapping) or not all(
        isinstance(row, Mapping) for row in table.values()
    ):
        raise InvalidInput(
            f"{name} must map each action to a row {{outcome: cell}}; got {type(table).__name__}."
        )
    return {str(action): {str(x): cell for x, cell in row.items()} for action, row in table.items()}


def _same_labels(what: str, found: Any, wanted: Any) -> None:
    if set(found) != set(wanted):
        odd = sorted(set(found) ^ set(wanted))[0]
        raise InvalidInput(f"{what}: {odd!r} stands in only one of them.")


def _pair(action: str, outcome: str, cell: Any) -> tuple[Any, Hashable]:
    if not isinstance(cell, tuple | list) or len(cell) != 2:
        raise InvalidInput(
            f"cell ({action!r}, {outcome!r}) must be a pair (reward, signal); got {cell!r}."
        )
    return cell[0], cell[1]


def _read_csv(path: Path) -> dict[str, dict[str, str]]:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InvalidInput(f"{path}: cannot be read: {error.strerror}.") from None
    lines = [[cell.strip() for cell in row] for row in csv.reader(text.splitlines())]
    lines = [line for line in lines if any(line)]
    if len(lines) < 2:
        raise InvalidInput(f"{path}: must hold a row of outcomes and at least one action.")
    outcomes = lines[0][1:]
    for i, line in enumerate(lines[1:], start=2):
        if len(line) != len(outcomes) + 1:
            raise InvalidInput(
                f"{path}: row {i} must have {len(outcomes) + 1} cells; got {len(line)}."
            )
    table = {line[0]: dict(zip(outcomes, line[1:], strict=True)) for line in lines[1:]}
    if len(table) < len(lines) - 1 or len(set(outcomes)) < len(outcomes):
        raise InvalidInput(f"{path}: actions and outcomes must be different from each other.")
    return table


def _split(path: Path, action: str, outcome: str, text: str) -> tuple[str, str]:
    reward, bar, signal = text.partition("|") if "|" in text else text.partition(" ")
    if not bar or not signal.strip():
        raise InvalidInput(
            f"{path}: cell ({action!r}, {outcome!r}) must read 'reward signal'; got {text!r}."
        )
    return reward.strip(), signal.strip()
