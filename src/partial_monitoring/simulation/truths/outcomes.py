"""Outcomes of a finite game, one per round: from a list, a file, an iterator or a function."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from partial_monitoring import disk
from partial_monitoring.errors import InvalidInput
from partial_monitoring.model.any_game import AnyGame
from partial_monitoring.model.feedback import NoiseFunction
from partial_monitoring.simulation.changing import Scheduled, check_rounds
from partial_monitoring.simulation.environment import Environment
from partial_monitoring.simulation.truths.kinds import Truth
from partial_monitoring.validation import Array, Indices, boolean, brief, file_path, is_whole

FIXED = "the best fixed action in hindsight"
"""What regret is measured against where outcomes are chosen, not drawn."""

FILES = (".csv", ".json", ".txt")
"""Kinds of files that hold outcomes."""


class OutcomeTruth(Truth):
    """Outcomes that are known before they are played."""

    against: ClassVar[str] = FIXED

    def possible(self, game: AnyGame, seeds: Indices) -> Array:
        return np.eye(game.d)

    def rows(self, game: AnyGame, seeds: Indices, horizon: int) -> Indices:
        """Return the outcomes of all rounds, shape (1 or n, horizon)."""
        raise NotImplementedError

    def environment(
        self, game: AnyGame, seeds: Indices, horizon: int, noise: str | NoiseFunction | None = None
    ) -> Environment:
        rows = self.rows(game, seeds, horizon)
        return Scheduled(game, np.eye(game.d), rows, seeds, noise, fixed=True)


@dataclass(frozen=True, eq=False)
class Given(Truth):
    """Outcomes as a user gave them, for a game and a horizon that are not known yet."""

    source: Tape
    repeat: bool
    label: str = "outcomes"

    @property
    def name(self) -> str:
        return self.label

    def prepared(self, game: AnyGame, horizon: int) -> Truth:
        require_finite(game)
        found = self.source.first(horizon)
        if not found:
            raise InvalidInput("outcomes must hold at least one outcome; got none.")
        numbers = outcome_numbers(game, found, self.source.texts)
        if len(found) < horizon and not self.repeat:
            raise InvalidInput(
                f"outcomes must last for {horizon:,} rounds; got {len(found):,} "
                f"(repeat=True starts them again)."
            )
        return Outcomes(np.resize(numbers, horizon), self.label)


@dataclass(frozen=True, eq=False)
class Outcomes(OutcomeTruth):
    """The same outcomes in every run."""

    numbers: Indices
    """Shape (horizon,)."""
    label: str = "outcomes"

    @property
    def name(self) -> str:
        return self.label

    def rows(self, game: AnyGame, seeds: Indices, horizon: int) -> Indices:
        return self.numbers[None]

    @property
    def content(self) -> object:
        digest = sha256(self.numbers.astype(np.int64).tobytes()).hexdigest()
        return {"kind": "truth:outcomes", "rounds": len(self.numbers), "digest": digest}


@dataclass(frozen=True, eq=False)
class OutcomeFunction(OutcomeTruth):
    """Outcomes that a function of the round and the seed gives."""

    chosen: Callable[[int, int], Any]

    @property
    def name(self) -> str:
        return str(getattr(self.chosen, "__name__", "outcomes"))

    def prepared(self, game: AnyGame, horizon: int) -> Truth:
        require_finite(game)
        return self

    def rows(self, game: AnyGame, seeds: Indices, horizon: int) -> Indices:
        check_rounds(len(seeds), horizon)
        found = [[self.chosen(t, int(seed)) for t in range(horizon)] for seed in seeds]
        return np.array([outcome_numbers(game, own) for own in found])


class Tape:
    """The beginning of a list, a file or an iterator; what an iterator gave is kept."""

    def __init__(self, source: Iterable[Any], *, texts: bool = False) -> None:
        self._rest: Iterator[Any] = iter(source)
        self._found: list[Any] = []
        self.texts = texts
        """Whether they are texts of a file, in which numbers are texts as well."""

    def first(self, count: int) -> list[Any]:
        """Return the first outcomes, at most ``count``."""
        self._found += islice(self._rest, max(0, count - len(self._found)))
        return self._found[:count]


def outcomes(
    source: Sequence[Any] | Iterable[Any] | str | Path | Callable[[int, int], Any],
    *,
    repeat: bool = False,
) -> Truth:
    """The outcomes of a finite game, one per round, chosen before the game is played.

    Parameters
    ----------
    source
        A list or an array of outcomes, each a label of the game or a number; the path of a file
        (.csv, .json or .txt) with one outcome per line, or a JSON list; an iterator; or a function
        (t, seed) -> outcome of the number of rounds played before and the seed.
    repeat
        Whether outcomes that end before the last round start again; they are refused otherwise.

    Notes
    -----
    All policies and seeds meet the same outcomes, unless a function depends on the seed. Regret is
    measured against the best fixed action for the outcomes until each checkpoint, so it may be
    negative. ``result.theta`` is the share of each outcome.

    Examples
    --------
    >>> import partial_monitoring as pm
    >>> theta = pm.truths.outcomes([0, 1, 1, 0], repeat=True)
    >>> result = pm.simulate("apple_tasting", "cbp", theta, horizon=100, seeds=2)
    >>> result.theta[0], result.against
    (array([0.5, 0.5]), 'the best fixed action in hindsight')
    """
    boolean("repeat", repeat)
    if isinstance(source, str | Path):
        path = file_path(source)
        return Given(Tape(_read(path), texts=path.suffix.lower() != ".json"), repeat, path.stem)
    if callable(source):
        if repeat:
            raise InvalidInput("repeat is for outcomes that end; got it with a function.")
        return OutcomeFunction(source)
    if isinstance(source, bytes | Mapping | Set) or not isinstance(source, Iterable):
        raise InvalidInput(
            f"outcomes must be a list, a file, an iterator or a function (t, seed) -> outcome; got "
            f"{brief(source)}."
        )
    return Given(Tape(source), repeat)


def require_finite(game: AnyGame) -> None:
    """Refuse games without outcomes that could be chosen."""
    if not game.traits.finite or game.traits.contexts:
        raise InvalidInput(
            f"theta can be outcomes for finite games without contexts only; got {brief(game)}."
        )


def outcome_numbers(game: Any, given: Sequence[Any], texts: bool = False) -> Indices:
    """Return the numbers of outcomes, shape (n,); the first one that is unknown is named.

    A text of a file that is no label may be a number.
    """
    known: dict[Any, int] = {}
    found = np.zeros(len(given), dtype=np.int64)
    for t, own in enumerate(given):
        try:
            found[t] = known[type(own), own]
        except (KeyError, TypeError):  # new, or nothing that has a hash
            number = texts and own not in game.outcomes and own.isdecimal() and len(own) < 10
            found[t] = outcome_number(game, int(own) if number else own, f"outcome {t + 1:,}")
            known[type(own), own] = int(found[t])
    return found


def outcome_number(game: Any, outcome: Any, where: str) -> int:
    """Return the number of an outcome that is given by its label or number."""
    plain = outcome.item() if isinstance(outcome, np.generic) else outcome
    if not isinstance(plain, str) and not is_whole(plain):
        raise InvalidInput(
            f"{where} must be a label or a number below {game.d}; got {brief(outcome)}."
        )
    try:
        return int(game.outcome_index(plain))
    except InvalidInput as error:
        raise InvalidInput(f"{where}: {error}") from None


def _read(path: Path) -> list[Any]:
    """Return the outcomes of a file."""
    kind = path.suffix.lower()
    if kind not in FILES:
        raise InvalidInput(f"outcomes must be a file named .csv, .json or .txt; got {str(path)!r}.")
    if kind == ".json":
        found = disk.read_json(path)
        if not isinstance(found, list):
            raise InvalidInput(f"{path}: must hold a list of outcomes; got {brief(found)}.")
        return found
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise InvalidInput(f"{path}: no such file.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{path}: cannot be read: {error}.") from None
    lines = [line.strip() for line in text.splitlines()]
    if kind == ".txt":
        return [line for line in lines if line]
    rows = [row for row in csv.reader(lines) if row]
    for number, row in enumerate(rows, start=1):
        if len(row) > 1:
            raise InvalidInput(
                f"{path}: must have one outcome per line; line {number} has {len(row)} columns."
            )
    column = [row[0].strip() for row in rows]
    return column[1:] if column[:1] == ["outcome"] else column
