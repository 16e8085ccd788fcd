"""What to measure: the cheapest set of extra observations that makes a game learnable.

Cells depend only on the rewards, so extra observations change nothing but the spans: a set of
measurements reaches "hard" iff all actions together see every neighbour pair, and "easy" iff every
pair is seen by its own neighbourhood. More measurements never hurt.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Any

import numpy as np

from partial_monitoring import games
from partial_monitoring.analysis.analysis import Analysis, analyze_game
from partial_monitoring.analysis.duels import DuelAnalysis, analyze_duels, many_duels
from partial_monitoring.analysis.explain import html_lines
from partial_monitoring.analysis.measurements import Measurement, default_candidates
from partial_monitoring.analysis.observability import SEEN
from partial_monitoring.display import as_lines
from partial_monitoring.errors import InvalidInput
from partial_monitoring.model.game import Game
from partial_monitoring.numerics.linalg import row_space, unit_rows
from partial_monitoring.validation import Array, brief, items, one_of

MOST_SETS = 100_000
"""Largest number of sets of candidates in the search for the cheapest one."""

LADDER = ("hopeless", "hard", "easy", "trivial")
"""The classes of games, from hardest to easiest."""


@dataclass(frozen=True, eq=False, repr=False)
class Advice:
    """Which measurements lift a game to the target class."""

    target: str
    """The class to reach: "easy" or "hard"."""
    before: Analysis | DuelAnalysis
    """The analysis of the game as it is."""
    after: Analysis | DuelAnalysis
    """The analysis of the game with the measurements added."""
    measurements: tuple[Measurement, ...]
    """What to measure."""
    optimal: bool
    """Whether no cheaper set of the candidates reaches the target."""

    @property
    def achieved(self) -> bool:
        """Whether the target is reached."""
        return _reaches(self.after.category, self.target)

    @property
    def cost(self) -> float:
        """The total cost of the measurements."""
        return float(sum(measurement.cost for measurement in self.measurements))

    def explain(self) -> str:
        """Say in plain sentences what to measure."""
        now = self.before.category
        if not self.measurements:
            if self.achieved:
                return f"The game is {now} as it is; no further measurement is needed."
            return (
                f"The game is {now}, and not even all candidate measurements together make it "
                f"{self.target}."
            )
        lines = [f"The game is {now}. It becomes {self.after.category} if:"]
        lines += [f"  - {measurement.label}" for measurement in self.measurements]
        if self.optimal:
            lines.append(f"No cheaper choice among the candidates does it (cost {self.cost:g}).")
        else:
            lines.append(
                f"None of these {len(self.measurements)} can be left out (cost {self.cost:g}), but "
                f"there were too many candidates to rule out a cheaper choice."
            )
        proof = "exact arithmetic" if self.after.certified else "floating point"
        lines.append(f"Verified in {proof} by analysing the game with the measurements added.")
        return as_lines(lines)

    def to_dict(self) -> dict[str, object]:
        """Return the advice as plain data, as ``pm advise --json`` prints."""
        index = self.before.game.action_index
        return {
            "target": self.target,
            "before": self.before.category,
            "after": self.after.category,
            "achieved": self.achieved,
            "measurements": [
                {"action": index(own.action), "label": own.label}
                | {"rows": own.rows.tolist(), "cost": own.cost}
                for own in self.measurements
            ],
            "cost": self.cost,
            "optimal": self.optimal,
            "certified": self.after.certified,
        }

    def __repr__(self) -> str:
        change = f"{self.before.category} to {self.after.category}"
        count = len(self.measurements)
        return f"Advice({change}, {count} measurement{'s' * (count != 1)}, cost {self.cost:g})"

    def __str__(self) -> str:
        return self.explain()

    def _repr_html_(self) -> str:
        lines = (line.removeprefix("  - ") for line in self.explain().splitlines())
        return html_lines("\n".join(lines))


def advise(
    game: Game | str, candidates: Iterable[Measurement] | None = None, target: str = "easy"
) -> Advice:
    """Find the cheapest set of extra observations that makes a game easy (or hard).

    Parameters
    ----------
    game
        The game, or its name in ``pm.games``.
    candidates
        What could be measured; without it, at cost 1 each: every action's own reward, what
        compares it with each competing action (in a finite game: outcomes told apart that share a
        signal), and the whole outcome (or parameter).
    target
        "easy", or "hard" for a hopeless game that should at least be learnable.

    Examples
    --------
    >>> import partial_monitoring as pm
    >>> print(pm.advise(pm.games.label_efficient()).explain())
    The game is hard. It becomes easy if:
      - playing 'predict 0' would also show its own reward
    No cheaper choice among the candidates does it (cost 1).
    Verified in exact arithmetic by analysing the game with the measurements added.
    """
    one_of("target", target, ("easy", "hard"))
    known: Any = games.named(game)
    before = analyze_duels(known) if many_duels(known) else analyze_game(known)
    offered = [] if candidates is None else _checked(known, candidates)
    if isinstance(before, DuelAnalysis) or _reaches(before.category, target):
        return Advice(target, before, before, (), True)
    offered = default_candidates(known, before) if candidates is None else offered
    rows = [_in_coordinates(known, candidate.rows) for candidate in offered]
    for chosen, optimal in _MeasurementSearch(before, offered, rows, target).choices():
        measurements = tuple(offered[i] for i in chosen)
        after = analyze_game(with_measurements(known, measurements))
        if _reaches(after.category, target):
            return Advice(target, before, after, measurements, optimal)
    return Advice(target, before, before, (), True)


def with_measurements(game: Game, measurements: Iterable[Measurement]) -> Game:
    """Return the linear game in which some actions show more than before.

    A finite game becomes one on the simplex, since what is added need not be a symbol.
    """
    linear = game.linear
    maps = [linear.rows(a) for a in range(game.k)]
    for measurement in measurements:
        a = game.action_index(measurement.action)
        maps[a] = np.concatenate([maps[a], _in_coordinates(game, measurement.rows)])
    noise = "gaussian" if game.traits.finite else game.noise
    return Game(linear.features, maps, linear.parameters, game.noise_std, game.actions, noise=noise)


def _in_coordinates(game: Game, rows: Array) -> Array:
    """Return rows (n, d) over the parameter of a game as rows (n, D) over that of ``linear``."""
    return rows @ game.root if game.traits.function else rows  # type: ignore[attr-defined]


class _MeasurementSearch:
    """The search for sets of candidates that make all the required pairs visible."""

    def __init__(
        self,
        analysis: Analysis,
        candidates: Sequence[Measurement],
        rows: Sequence[Array],
        target: str,
    ) -> None:
        game = analysis.game
        self.q = game.reduced.difference_basis
        self.costs = np.array([candidate.cost for candidate in candidates])
        self.rows = [unit_rows(own) @ self.q for own in rows]
        homes = [game.action_index(candidate.action) for candidate in candidates]
        everyone = tuple(range(game.k))
        features = game.reduced.features
        # One requirement per set of observers: its rows, the differences it must see, its helpers.
        groups: dict[tuple[int, ...], list[Array]] = {}
        for a, b in analysis.neighbors:
            near = everyone if target == "hard" else tuple(analysis.neighborhoods[a, b])
            groups.setdefault(near, []).append(features[a] - features[b])
        self.requirements: list[tuple[Array, Array, frozenset[int]]] = []
        self._met: dict[tuple[int, frozenset[int]], bool] = {}
        for near, differences in groups.items():
            own = unit_rows(game.observation_maps[list(near)].reshape(-1, game.d)) @ self.q
            helpers = frozenset(i for i, home in enumerate(homes) if home in near)
            self.requirements.append((own, np.array(differences), helpers))

    def choices(self) -> Iterator[tuple[tuple[int, ...], bool]]:
        """Yield sets that reach the target, with whether none is cheaper, best first.

        Sets are visited in the order of their costs. A set that leaves a requirement open has to be
        extended by a helper of that requirement, so no other extensions are considered. After
        ``MOST_SETS`` of them the search gives up and one set is found by leaving candidates out.
        """
        if self._open_requirement(frozenset(range(len(self.costs)))) is not None:
            return
        queue: list[tuple[float, int, tuple[int, ...]]] = [(0.0, 0, ())]
        known: set[frozenset[int]] = set()
        while queue:
            cost, size, chosen = heappop(queue)
            missing = self._open_requirement(frozenset(chosen))
            if missing is None:
                yield chosen, True
                continue
            if len(known) > MOST_SETS:
                yield self._greedy(), False
                return
            for i in sorted(self.requirements[missing][2] - set(chosen)):
                larger = frozenset((*chosen, i))
                if larger not in known:
                    known.add(larger)
                    entry = (cost + float(self.costs[i]), size + 1, tuple(sorted(larger)))
                    heappush(queue, entry)

    def _greedy(self) -> tuple[int, ...]:
        """Drop candidates one by one, the most expensive first, while the rest suffices."""
        kept = frozenset().union(*(helpers for _, _, helpers in self.requirements))
        for i in sorted(kept, key=lambda i: (-self.costs[i], -len(self.rows[i]), -i)):
            if self._open_requirement(kept - {i}) is None:
                kept -= {i}
        return tuple(sorted(kept))

    def _open_requirement(self, chosen: frozenset[int]) -> int | None:
        """Return the first requirement that the chosen candidates do not meet, if any."""
        for number, (own, differences, helpers) in enumerate(self.requirements):
            key = number, chosen & helpers
            if key not in self._met:
                extra = [self.rows[i] for i in sorted(key[1])]
                basis = row_space(np.concatenate([own, *extra]))
                rest = differences - differences @ basis @ basis.T
                sizes = np.linalg.norm(differences, axis=1)
                self._met[key] = bool((np.linalg.norm(rest, axis=1) <= SEEN * sizes).all())
            if not self._met[key]:
                return number
        return None


def _checked(game: Game, candidates: Iterable[Measurement]) -> list[Measurement]:
    offered = items("candidates", candidates, " of Measurement objects")
    for i, candidate in enumerate(offered):
        if not isinstance(candidate, Measurement):
            raise InvalidInput(
                f"candidates must be Measurement objects; got {brief(candidate)} at {i}."
            )
        game.action_index(candidate.action)
        if candidate.rows.shape[1] != game.d:
            raise InvalidInput(
                f"candidates[{i}].rows must have {game.d} columns to match the game; got shape "
                f"{candidate.rows.shape}."
            )
    return offered


def _reaches(category: str, target: str) -> bool:
    return LADDER.index(category) >= LADDER.index(target)
