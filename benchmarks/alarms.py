"""False alarms, and how soon a misfit, a drift and missing answers are found."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.random import default_rng
from rich.table import Table

import partial_monitoring as pm
from partial_monitoring.learner.alarms.watch import KINDS, LEVEL, Watch
from partial_monitoring.learner.session import advance, decide, observe
from partial_monitoring.learner.spec import Session, Spec
from partial_monitoring.learner.status import status_of

ROUNDS, SEEDS = 1500, 20

STEPS = 10
"""Alarms are looked at after every this many rounds; today's warnings after every fifty."""

PRICES = [1, 2, 3, 4, 5]
DEMAND = [0.1, 0.25, 0.3, 0.2, 0.1, 0.05]
"""How many customers pay at most $0, $1, ..., $5."""

World = Callable[[Any, int, int, np.random.Generator], Any]
"""(game, action, round, generator) -> what a user observes, None if no answer comes."""


class Run(NamedTuple):
    """The rounds in which each kind of alarm was first raised, and in which status() warned."""

    first: dict[str, int]
    warned: int | None
    largest: dict[str, float]


def pricing(chance: Callable[[int, int], float], answer: Callable[[int], float]) -> World:
    """Return a world in which a price is taken, or an answer comes, with given probabilities."""

    def observe(game: Any, action: int, t: int, rng: np.random.Generator) -> Any:
        bought, answered = rng.random() < chance(action, t), rng.random() < answer(action)
        return ("yes" if bought else "no") if answered else None

    return observe


def linear(theta: Callable[[int], Any], noise: float = 1.0, bend: float = 0.0) -> World:
    """Return a world of a linear game; the last action shows more than the model says."""

    def observe(game: Any, action: int, t: int, rng: np.random.Generator) -> Any:
        mean = game.rows(action) @ theta(t) + bend * (action == 3)
        return mean + noise * rng.standard_normal(len(mean))

    return observe


SURVIVAL = 1.0 - np.cumsum(DEMAND)[:5]
"""The share of customers who buy at each price."""

TRUE = np.array([0.6, 0.3, 0.1])

WORLDS: dict[str, tuple[str, str, World]] = {
    "pricing, as assumed": ("pricing", "", pricing(lambda a, t: SURVIVAL[a], lambda a: 1.0)),
    "pricing, a fifth of the answers missing": (
        "pricing",
        "",
        pricing(lambda a, t: SURVIVAL[a], lambda a: 0.8),
    ),
    "linear bandit, as assumed": ("linear", "", linear(lambda t: TRUE)),
    "pricing, demand rises with the price": (
        "pricing",
        "misfit",
        pricing(lambda a, t: 0.2 + 0.15 * a, lambda a: 1.0),
    ),
    "pricing, demand halves after 500": (
        "pricing",
        "drift",
        pricing(lambda a, t: SURVIVAL[a] * (1.0 if t < 500 else 0.5), lambda a: 1.0),
    ),
    "pricing, fewer answers from $4 on": (
        "pricing",
        "answers",
        pricing(lambda a, t: SURVIVAL[a], lambda a: 0.9 if a < 3 else 0.5),
    ),
    "linear bandit, the last arm earns 1.5 more": (
        "linear",
        "misfit",
        linear(lambda t: TRUE, bend=1.5),
    ),
    "linear bandit, noise 1.3 times as large": ("linear", "misfit", linear(lambda t: TRUE, 1.3)),
    "linear bandit, theta turns after 500": (
        "linear",
        "drift",
        linear(lambda t: TRUE if t < 500 else -TRUE),
    ),
}
"""The game, the alarm that should be raised, and the world."""


def game_of(name: str) -> Any:
    return (
        pm.games.dynamic_pricing(PRICES, [0, *PRICES])
        if name == "pricing"
        else pm.games.linear_bandit()
    )


def play(name: str, world: World, seed: int, rounds: int = ROUNDS, *, warn: bool = True) -> Run:
    """Play a world with IDS, some answers late, and return when alarms were first raised."""
    spec, rng = Spec(game_of(name), pm.IDS(), seed, {"pending": "expected"}), default_rng(seed)
    watch = Watch(spec.game)
    first: dict[str, int] = {}
    largest: dict[str, float] = {}
    warned: int | None = None
    for t, session in enumerate(answered(spec, watch, world, rng, rounds), start=1):
        if t % STEPS == 0:
            for own in watch.evidence():
                largest[own.kind] = max(largest.get(own.kind, -np.inf), own.log_e)
                if own.log_e >= watch.limit(own.kind):
                    first.setdefault(own.kind, t)
        if warn and warned is None and t % 50 == 0:
            warned = t if status_of(spec, session, spec.nowhere).warnings else None
    return Run(first, warned, largest)


def answered(
    spec: Spec, watch: Watch, world: World, rng: np.random.Generator, rounds: int
) -> Iterator[Session]:
    """Play, every third answer up to ten rounds late, and keep the watch up to date."""
    waiting: list[tuple[int, Any, Any]] = []
    session = spec.start
    for t in range(rounds):
        step = decide(spec, session, {"token": "token"})
        watch.note(step)
        session = advance(spec, session, step)
        late = int(rng.integers(1, 11)) if rng.random() < 1 / 3 else 0
        waiting.append((t + late, step.event["decision"], world(spec.game, step.action, t, rng)))
        for due, decision, shown in waiting:
            if due <= t:
                step = observe(spec, session, {"decision": decision, "observation": shown})
                watch.note(step)
                session = advance(spec, session, step)
        waiting = [row for row in waiting if row[0] > t]
        yield session


def run(seeds: int = SEEDS) -> Table:
    table = Table(title=f"alarms of level {LEVEL:g}: {seeds} runs of {ROUNDS} rounds, IDS")
    for head in ("world", "should find", "misfit", "drift", "answers", "status() warns"):
        table.add_column(head)
    for name, (game, kind, world) in WORLDS.items():
        runs = [play(game, world, seed) for seed in range(seeds)]
        cells = [_summary([own.first.get(alarm) for own in runs]) for alarm in KINDS]
        if not kind:
            cells = [
                f"{cell}, log e <= {max(own.largest[alarm] for own in runs):.1f}"
                for cell, alarm in zip(cells, KINDS, strict=True)
            ]
        table.add_row(name, kind or "nothing", *cells, _summary([own.warned for own in runs]))
    return table


def _summary(rounds: list[int | None]) -> str:
    found = [t for t in rounds if t is not None]
    median = f", median round {np.median(found):.0f}" if found else ""
    return f"{len(found)} of {len(rounds)}{median}"
