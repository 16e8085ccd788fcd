"""From a problem to a game: a table of what you earn and what you see.

Rows are what you can do, columns are what may be true, and each cell says what you then earn and
what you then see.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Hashable, Mapping
from fractions import Fraction
from io import StringIO
from pathlib import Path
from typing import Any

from partial_monitoring.errors import InvalidInput
from partial_monitoring.model.finite import FiniteGame
from partial_monitoring.validation import brief, file_path, real_number

Table = Mapping[str, Mapping[str, Any]]

FRACTION = re.compile(r"[-+]?\d{1,400}/0*[1-9]\d{0,400}")
"""A fraction in a file, such as "1/3"."""


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
        _same_labels(f"row {brief(action)} of earn has other columns", rewards[action], outcomes)
        if see is None:
            pairs = [_pair(action, x, rewards[action][x]) for x in outcomes]
        else:
            _same_labels(f"row {brief(action)} of see has other columns", cells[action], outcomes)
            pairs = [(rewards[action][x], cells[action][x]) for x in outcomes]
        for x, (_, signal) in zip(outcomes, pairs, strict=True):
            if signal is None:
                raise InvalidInput(f"cell ({brief(action)}, {brief(x)}) has no signal; got None.")
        earned.append([real_number(f"earn[{brief(action)}]", value) for value, _ in pairs])
        seen.append([signal for _, signal in pairs])
    return FiniteGame(earned, seen, actions=actions, outcomes=outcomes)


def from_csv(path: str | Path, see: str | Path | None = None) -> FiniteGame:
    """Build a finite game from a CSV file, or from one file for rewards and one for signals.

    The first row holds the outcomes, the first column the actions. In a single file each cell reads
    ``reward signal``, for example ``-2 no`` or ``-2 | not sold``.
    """
    source = file_path(path)
    read = _pair_cell if see is None else _reward
    table = {
        action: {
            x: read(f"{source}: cell ({brief(action)}, {brief(x)})", text)
            for x, text in row.items()
        }
        for action, row in _read_csv(source).items()
    }
    return from_table(table, None if see is None else _read_csv(file_path(see)))


def _rows(name: str, table: Any) -> dict[str, dict[str, Any]]:
    """Read a mapping of mappings or a DataFrame."""
    if hasattr(table, "to_dict") and hasattr(table, "columns"):
        if not (table.index.is_unique and table.columns.is_unique):
            raise InvalidInput(f"{name} must have rows and columns with different labels.")
        table = table.to_dict("index")
    if not isinstance(table, Mapping) or not all(
        isinstance(row, Mapping) for row in table.values()
    ):
        raise InvalidInput(
            f"{name} must map each action to a row {{outcome: cell}}; got {type(table).__name__}."
        )
    for labels in (table, *table.values()):
        if len({str(label) for label in labels}) < len(labels):
            raise InvalidInput(
                f"{name} has labels that read the same: {brief(sorted(map(str, labels)))}."
            )
    return {str(action): {str(x): cell for x, cell in row.items()} for action, row in table.items()}


def _same_labels(what: str, found: Any, wanted: Any) -> None:
    if set(found) != set(wanted):
        odd = sorted(set(found) ^ set(wanted))[0]
        raise InvalidInput(f"{what}: {brief(odd)} appears in only one of them.")


def _pair(action: str, outcome: str, cell: Any) -> tuple[Any, Hashable]:
    if not isinstance(cell, tuple | list) or len(cell) != 2:
        raise InvalidInput(
            f"cell ({brief(action)}, {brief(outcome)}) must be a pair (reward, signal); "
            f"got {brief(cell)}."
        )
    return cell[0], cell[1]


def _read_csv(path: Path) -> dict[str, dict[str, str]]:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InvalidInput(f"{path}: cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise InvalidInput(f"{path}: must be encoded in UTF-8.") from None
    if "\0" in text:
        raise InvalidInput(f"{path}: must be text; it holds a NUL character.")
    reader = csv.reader(StringIO(text, newline=""))
    try:
        numbered = [(reader.line_num, [cell.strip() for cell in row]) for row in reader if any(row)]
    except csv.Error as error:
        raise InvalidInput(f"{path}: line {reader.line_num}: {error}.") from None
    lines = [line for _, line in numbered]
    if len(lines) < 2 or len(lines[0]) < 2:
        raise InvalidInput(
            f"{path}: must hold a row of outcomes and at least one action, separated by commas."
        )
    outcomes = lines[0][1:]
    for number, line in numbered[1:]:
        if len(line) != len(outcomes) + 1:
            raise InvalidInput(
                f"{path}: line {number} must have {len(outcomes) + 1} cells; got {len(line)}."
            )
    table = {line[0]: dict(zip(outcomes, line[1:], strict=True)) for line in lines[1:]}
    if len(table) < len(lines) - 1 or len(set(outcomes)) < len(outcomes):
        raise InvalidInput(f"{path}: actions and outcomes must be different from each other.")
    return table


def _reward(where: str, text: str) -> float:
    try:
        number = Fraction(text) if FRACTION.fullmatch(text) else float(text)
    except ValueError:
        raise InvalidInput(f"{where} must have a number as reward; got {brief(text)}.") from None
    return real_number(where, number)


def _pair_cell(where: str, text: str) -> tuple[float, str]:
    reward, bar, signal = text.partition("|") if "|" in text else text.partition(" ")
    if not bar or not signal.strip():
        raise InvalidInput(f"{where} must read 'reward signal'; got {brief(text)}.")
    return _reward(where, reward.strip()), signal.strip()
