"""How many rounds until the best action is known, and what that costs, from simulated runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import bdtr

from partial_monitoring import games as game_registry
from partial_monitoring import policies as registry
from partial_monitoring.display import Sheet, TableCell, as_html, as_lines, as_text, number
from partial_monitoring.errors import InvalidInput
from partial_monitoring.model.any_game import AnyGame
from partial_monitoring.model.feedback import NoiseFunction
from partial_monitoring.numerics.cuda import check_device
from partial_monitoring.policies.policy import Policy
from partial_monitoring.simulation.environment import Environment
from partial_monitoring.simulation.play import counted_actions, play
from partial_monitoring.simulation.result import Result
from partial_monitoring.simulation.simulate import MOST_ROUNDS, named_policies, seed_numbers
from partial_monitoring.simulation.truths import FixedTruth, Truth, read_truth
from partial_monitoring.simulation.truths.moving import MovingTruth
from partial_monitoring.simulation.worst_case import worst_theta
from partial_monitoring.validation import (
    Array,
    Indices,
    boolean,
    brief,
    non_negative_number,
    real_number,
    whole_number,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FIRST, GROWTH, LONGEST = 1000, 4, 64_000
"""Rounds that are played first, by what they grow until enough is known, and the most."""

SEARCHED = 4000
"""Rounds that are played in the search for the worst parameter."""

PER_DOUBLING = 8
"""Number of checkpoints between a round and twice that round."""

SHOWN = (0.5, 0.8, 0.9, 0.95, 0.99)
"""The chances in the table, beside the one that was asked for."""

SURE = 0.95
"""How sure the interval of a number of rounds is."""

ROUNDING = 1e-9
"""What a best action may seem to lose."""


@dataclass(frozen=True, eq=False)
class Plan:
    """How many rounds until the best action is known, and what that costs.

    A run knows the best action from round t on if, at every checkpoint from t to the horizon, more
    than half of its plays in the latest half of the rounds were best actions (or lost at most
    ``within``), and the horizon is at least 2 t.

    Attributes
    ----------
    policy, theta
        The names of the policy and of what is true.
    chance
        How likely the best action is to be known.
    within
        What an action may lose per round and still count as best.
    since
        From which round on each run knows, shape (seeds,); infinite for runs that do not.
    result
        The runs themselves.
    gaps
        What each action loses per round, shape (seeds, k); at the horizon if that changes.
    """

    policy: str
    theta: str
    chance: float
    within: float
    since: Array
    result: Result
    gaps: Array

    @property
    def horizon(self) -> int:
        """How long the runs were."""
        return self.result.horizon

    @property
    def rounds(self) -> float:
        """After how many rounds the best action is known with ``chance``; infinite if never."""
        return self.rounds_for(self.chance)

    @property
    def cost(self) -> float:
        """The mean regret until then; at the horizon if that is never."""
        return self.cost_for(self.chance)

    @property
    def interval(self) -> tuple[float, float]:
        """Between which numbers of rounds ``rounds`` is with 95 %, given the number of runs."""
        n = len(self.since)
        below = bdtr(np.arange(n + 1), n, self.chance)  # that at most so many runs know in time
        low, high = np.searchsorted(below, [(1 - SURE) / 2, (1 + SURE) / 2])
        ordered = np.concatenate([[1.0], np.sort(self.since), [inf]])
        return float(ordered[low]), float(ordered[high + 1])

    @property
    def share(self) -> Array:
        """The share of the runs that know the best action at each checkpoint."""
        return np.asarray((self.since[:, None] <= self.result.checkpoints).mean(axis=0))

    def rounds_for(self, chance: float) -> float:
        """Return after how many rounds a share of the runs knows; infinite if never."""
        if not 0 < real_number("chance", chance) <= 1:
            raise InvalidInput(f"chance must be above 0 and at most 1; got {brief(chance)}.")
        return float(np.sort(self.since)[max(0, int(np.ceil(len(self.since) * chance - 1e-9)) - 1)])

    def cost_for(self, chance: float) -> float:
        """Return the mean regret until a share of the runs knows."""
        return float(self.result.mean(self.policy)[self._place(chance)])

    def _place(self, chance: float) -> int:
        """Return the checkpoint at which a share of the runs knows, or the last one."""
        rounds, marks = self.rounds_for(chance), self.result.checkpoints
        return min(int(np.searchsorted(marks, rounds)), len(marks) - 1)

    def table(self) -> list[dict[str, Any]]:
        """Return one row of plain data per chance; rounds are None where it never is known."""
        regret, rows = self.result.regret[self.policy], []
        for chance in sorted({*SHOWN, self.chance}):
            rounds, place = self.rounds_for(chance), self._place(chance)
            low, high = np.quantile(regret[:, place], [0.05, 0.95])
            known = np.isfinite(rounds)
            rows.append(
                {
                    "chance": chance,
                    "rounds": int(rounds) if known else None,
                    "regret": self.cost_for(chance) if known else None,
                    "regret_low": float(low) if known else None,
                    "regret_high": float(high) if known else None,
                }
            )
        return rows

    def explain(self) -> str:
        """Say it in sentences."""
        return as_lines(self._sentences())

    def _sentences(self) -> list[str]:
        best = "the best action"
        if self.within > 0:
            best = f"an action within {number(self.within)} per round of the best"
        sure, n = f"{100 * self.chance:.3g} %", len(self.since)
        if np.isfinite(self.rounds):
            low, high = self.interval
            above = f"{high:,.0f}" if np.isfinite(high) else f"more than {self.horizon // 2:,}"
            uniform = number(float(self.gaps.mean()) * self.rounds)
            return [
                f"After {self.rounds:,.0f} rounds {best} is known with {sure}.",
                f"A 95 % interval from {n:,} runs: {low:,.0f} to {above} rounds.",
                f"Until then {self.policy} loses {number(self.cost)} on average; uniform play would"
                f" lose {uniform}.",
            ]
        known = 100 * float(np.isfinite(self.since).mean())
        found = [
            f"Within {self.horizon // 2:,} rounds {best} is not known with {sure}, but in "
            f"{known:.3g} % of {n:,} runs."
        ]
        close = self._closest()
        if close is not None:
            found += [
                f"In half of the others the second-best action loses at most {number(close)} per "
                f"round.",
                "within= says how much may be lost by an action that still counts as best.",
            ]
        return found

    def _closest(self) -> float | None:
        """Return the median of what the second-best action loses in runs that do not know."""
        missed = np.where(self.gaps > self.within + ROUNDING, self.gaps, inf).min(axis=1)
        missed = missed[~np.isfinite(self.since)]
        return float(np.median(missed)) if len(missed) and np.isfinite(missed).all() else None

    @property
    def title(self) -> str:
        """What was played in one line."""
        runs = f"{len(self.since):,} runs of {self.horizon:,} rounds"
        return f"Until the best action is known: {self.policy}, {self.theta}, {runs}"

    def sheets(self) -> list[Sheet]:
        """Return the plan as a table, with a sentence."""
        rows = []
        for row in self.table():
            cells = [f"> {self.horizon // 2:,}", "-", "-"]
            if row["rounds"] is not None:
                low, high = number(row["regret_low"]), number(row["regret_high"])
                cells = [f"{row['rounds']:,}", number(row["regret"]), f"{low} to {high}"]
            rows.append(tuple(map(TableCell, (f"{100 * row['chance']:.3g} %", *cells))))
        columns = ("known with", "rounds", "mean regret until then", "5 % to 95 % of runs")
        return [Sheet(self.title, columns, tuple(rows), tuple(self._sentences()))]

    def plot(self, ax: Any = None, *, title: str | None = None) -> Figure:
        """Draw the share of runs that know the best action, and the mean regret, over the rounds.

        Parameters
        ----------
        ax
            Axes to draw into; without them a new figure is made, which pyplot does not know.
        title
            By default what was played; "" for none.
        """
        from partial_monitoring.simulation.plan_picture import draw_plan

        return draw_plan(self, ax, self.title if title is None else title)

    def __repr__(self) -> str:
        return f"Plan({self.policy}, {100 * self.chance:.3g} % after {self.rounds:,.0f} rounds)"

    def __str__(self) -> str:
        return as_text(self.sheets())

    def _repr_html_(self) -> str:
        return as_html(self.sheets())


def plan(
    game: str | AnyGame,
    policy: str | Policy[Any] | None = None,
    theta: ArrayLike | str | Callable[[Array], Any] | Truth = "random",
    *,
    chance: float = 0.95,
    within: float = 0.0,
    horizon: int | None = None,
    seeds: int | Iterable[int] = 200,
    noise: str | NoiseFunction | None = None,
    probe: float = 0.0,
    threads: int | None = None,
    device: str | None = None,
    progress: bool = False,
) -> Plan:
    """Return how many rounds it takes until the best action is known, and what that costs.

    Parameters
    ----------
    game
        The game, or the name of one of ``pm.games``.
    policy
        The policy, or the name of one; ``pm.Calibrated()`` unless given.
    theta
        What is true: a parameter you believe in, "random" for one per run drawn uniformly from
        Theta (a prior), one row per run, "worst" for one that takes the policy long, found by a
        search (give ``within``, since near a tie it takes forever), or one of ``pm.truths``.
    chance
        How likely the best action shall be known.
    within
        What an action may lose per round and still count as best. With random truths some have two
        actions that earn nearly the same, and no number of rounds tells them apart.
    horizon
        The number of rounds that are simulated. Unless given, 1,000, and then 4 times as many until
        enough is known, at most 64,000.
    seeds
        How many runs, or their seeds.
    noise, probe, threads, device
        As for :func:`partial_monitoring.simulate`.
    progress
        Show a progress bar on standard error.

    Notes
    -----
    A run knows the best action from round t on if, at every checkpoint from t to the horizon, more
    than half of its plays in the latest half of the rounds were best actions, and the horizon is at
    least 2 t. So what a policy does counts, not what it could say: one that never stops exploring
    never knows.

    Examples
    --------
    >>> import partial_monitoring as pm
    >>> found = pm.plan("apple_tasting", theta=[0.8, 0.2], seeds=50)
    >>> found.rounds < 200, found.cost < 20
    (True, True)
    """
    game = game_registry.named(game)
    boolean("progress", progress)
    ((name, chosen),) = named_policies(
        [registry.DEFAULT if policy is None else policy], probe
    ).items()
    if not 0 < real_number("chance", chance) < 1:
        raise InvalidInput(f"chance must lie between 0 and 1; got {brief(chance)}.")
    allowed, numbers = non_negative_number("within", within), seed_numbers(seeds)
    if threads is not None:
        threads = whole_number("threads", threads, at_least=1)
    if device is not None:
        check_device(device)
    if game.traits.contexts:
        raise InvalidInput("game must have no contexts; plan for one of them with game.at.")
    rounds = FIRST
    if horizon is not None:
        rounds = whole_number("horizon", horizon, at_least=2, at_most=MOST_ROUNDS)
    truth = read_truth(theta, game, rows=True)
    label = truth.name
    if truth.searched:
        truth = FixedTruth(_slowest(game, chosen, horizon or SEARCHED, allowed, noise, threads))
        label = f"worst {truth.name}"
    while True:
        marks = checkpoints_of(rounds)
        if counted_actions(game, marks) == 0:
            raise InvalidInput(f"game must have fewer actions to plan for; got {game.k:,}.")
        ready = truth.prepared(game, rounds)
        if ready.against not in ("", MovingTruth.against):
            raise InvalidInput(
                f"theta must be parameters, still or moving: against opponents and given outcomes "
                f"no action is best in every round; got {brief(truth.name)}."
            )
        environment = ready.environment(game, numbers, rounds, noise)
        run = play(game, chosen, environment, marks, name if progress else None, threads, device)
        if run.interrupted:
            raise KeyboardInterrupt
        result = Result.of(numbers, marks, environment.theta, {name: run}, ready.against)
        gaps = _gaps(environment, game.k, marks, moving=bool(ready.against))
        since = known_since(result.plays[name], gaps <= allowed + ROUNDING, marks)
        found = Plan(name, label, float(chance), allowed, since, result, gaps[-1])
        if horizon is not None or np.isfinite(found.rounds) or rounds >= LONGEST:
            return found
        rounds *= GROWTH


def _slowest(
    game: AnyGame,
    policy: Policy[Any],
    horizon: int,
    within: float,
    noise: str | NoiseFunction | None,
    threads: int | None,
) -> Array:
    """Search for a parameter with which it takes long until the best action is known."""
    marks = checkpoints_of(horizon)

    def rounds(points: Array, seed: int) -> Array:
        numbers = np.arange(len(points), dtype=np.int64) + len(points) * seed
        environment = Environment(game, game.from_coordinates(points), numbers, noise)
        run = play(game, policy, environment, marks, threads=threads)
        if run.interrupted:
            raise KeyboardInterrupt
        gaps = _gaps(environment, game.k, marks, moving=False)
        since = known_since(run.plays, gaps <= within + ROUNDING, marks)
        return np.minimum(since, 2.0 * horizon)

    return game.from_coordinates(worst_theta(game.coordinate_set, rounds))


def checkpoints_of(horizon: int) -> Indices:
    """Return the checkpoints of a plan: evenly on a logarithmic scale, and the horizon."""
    count = int(np.ceil(PER_DOUBLING * np.log2(horizon)))
    marks = np.round(2.0 ** (np.arange(count + 1) / PER_DOUBLING))
    return np.unique(np.append(marks[marks < horizon], horizon)).astype(np.int64)


def known_since(plays: Indices, best: NDArray[np.bool_], marks: Indices) -> Array:
    """Return from which round on each run knows the best action, shape (n,); else infinite.

    Parameters
    ----------
    plays
        How often each action was played until each checkpoint, shape (n, checkpoints, k).
    best
        Which actions are best at each checkpoint, shape (1 or checkpoints, n, k).
    marks
        The checkpoints.
    """
    halves = np.searchsorted(marks, marks // 2, side="right") - 1
    before = np.where((halves < 0)[None, :, None], 0, plays[:, np.maximum(halves, 0)])
    recent = plays - before
    good = np.where(best.swapaxes(0, 1), recent, 0).sum(axis=2)  # (n, checkpoints)
    knows = 2 * good > recent.sum(axis=2)
    stays = np.logical_and.accumulate(knows[:, ::-1], axis=1)[:, ::-1]
    first = marks[stays.argmax(axis=1)]
    return np.where(stays.any(axis=1) & (2 * first <= marks[-1]), first, inf)


def _gaps(environment: Environment, k: int, marks: Indices, *, moving: bool) -> Array:
    """Return what actions lose at the checkpoints, (checkpoints, n, k); (1, n, k) if still."""
    n = len(environment.seeds)
    return np.array(
        [
            np.stack([environment.gap(np.full(n, a), int(t) - 1) for a in range(k)], axis=1)
            for t in (marks if moving else marks[-1:])
        ]
    )
