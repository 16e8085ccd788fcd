"""Games of extreme size and degenerate shape, in every use that a game has.

Classes do not depend on units, so that a game times 1e-90 must be classified as the game itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Any

import numpy as np

import partial_monitoring as pm
from tests.attacks.judge import Attack, Wrong

SCALES = (
    *(5e-324, 1e-310, 1e-300, 1e-200, 1e-160, 1e-101, 1e-99, 1e-90, 1e-30, 1e-10),
    *(1.0, 1e10, 1e30, 1e90, 1e99, 1e101, 1e154, 1e155, 1e200, 1e300, 1e308),
)
MAPS = [[[1.0, 0.0]], [[0.0, 1.0]]]
MIDDLE = np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]])
BOTH = [*MAPS, [[1.0, -1.0]]]
Build = Callable[[float], Any]


def polytope(s: float) -> pm.Polytope:
    return pm.Polytope([[1.0, 0], [-1, 0], [0, 1], [0, -1]], [s] * 4)


EXTREME: dict[str, Build] = {
    "rewards": lambda s: pm.FiniteGame(np.array([[0, -1.0], [-1.5, 0]]) * s, ["yy", "ny"]),
    "one reward": lambda s: pm.FiniteGame([[0, -s], [-2, 0]], ["yy", "ny"]),
    "finite noise": lambda s: pm.FiniteGame([[0, -1], [-2, 0]], ["yy", "ny"], noise_std=s),
    "features": lambda s: pm.Game(np.eye(2) * s, MAPS, pm.Ball([0, 0], 1)),
    "maps": lambda s: pm.Game(np.eye(2), np.array(MAPS) * s, pm.Ball([0, 0], 1)),
    "noise": lambda s: pm.Game(np.eye(2), MAPS, pm.Ball([0, 0], 1), noise_std=s),
    "radius": lambda s: pm.Game(np.eye(2), MAPS, pm.Ball([0, 0], s)),
    "center": lambda s: pm.Game(np.eye(2), MAPS, pm.Ball([s, s], 1)),
    "box": lambda s: pm.Game(np.eye(2), MAPS, pm.Box([-s, -s], [s, s])),
    "polytope": lambda s: pm.Game(np.eye(2), MAPS, polytope(s)),
    "features and radius": lambda s: pm.Game(MIDDLE * s, BOTH, pm.Ball([0, 0], s)),
    "features and box": lambda s: pm.Game(MIDDLE * s, BOTH, pm.Box([-s, -s], [s, s])),
    "features and polytope": lambda s: pm.Game(MIDDLE * s, BOTH, polytope(s)),
    "maps and radius": lambda s: pm.Game(MIDDLE, np.array(BOTH) * s, pm.Ball([0, 0], s)),
    "all but the noise": lambda s: pm.Game(MIDDLE * s, np.array(BOTH) * s, pm.Ball([0, 0], s)),
    "all": lambda s: pm.Game(MIDDLE * s, np.array(BOTH) * s, pm.Ball([0, 0], s), noise_std=s),
    "duels": lambda s: pm.DuelingGame(np.eye(2) * s, pm.Ball([0, 0], 1)),
    "duels and radius": lambda s: pm.DuelingGame(MIDDLE * s, pm.Ball([0, 0], s)),
    "kernel variance": lambda s: pm.games.kernelized_bandit(
        [[0.1], [0.9]], kernel=pm.kernels.SquaredExponential(0.5, variance=s)
    ),
    "kernel lengthscale": lambda s: pm.games.kernelized_bandit(
        [[0.1], [0.9]], kernel=pm.kernels.Matern(2.5, lengthscale=s)
    ),
    "kernel points": lambda s: pm.games.kernelized_bandit([[-s], [s]]),
    "norm bound": lambda s: pm.games.kernelized_bandit([[0.1], [0.9]], norm_bound=s),
    "context features": lambda s: pm.games.contextual_linear_bandit(
        np.array([[[1.0, 0], [0, 1]], [[0.6, 0.8], [0, 1]]]) * s
    ),
}
UNCHANGED = (
    *("rewards", "features", "maps", "noise", "radius", "box", "polytope", "duels"),
    *("features and radius", "features and box", "features and polytope", "maps and radius"),
    *("all but the noise", "all", "duels and radius"),
)
"""Games whose class does not depend on the scale."""

DEGENERATE: dict[str, Callable[[], Any]] = {
    "one action": lambda: pm.FiniteGame([[1, 2]], ["ab"]),
    "one outcome": lambda: pm.FiniteGame([[1], [2]], ["a", "b"]),
    "one of both": lambda: pm.FiniteGame([[0]], ["a"]),
    "equal actions": lambda: pm.FiniteGame([[1, 0]] * 4, ["ab"] * 4),
    "no rewards": lambda: pm.FiniteGame(np.zeros((3, 3)), ["abc"] * 3),
    "no signals": lambda: pm.FiniteGame([[1, 0], [0, 1]], ["aa", "aa"]),
    "zero features": lambda: pm.Game(np.zeros((2, 2)), MAPS, pm.Ball([0, 0], 1)),
    "zero maps": lambda: pm.Game(np.eye(2), np.zeros((2, 1, 2)), pm.Ball([0, 0], 1)),
    "no rows": lambda: pm.Game(np.eye(2), [[], []], pm.Ball([0, 0], 1)),
    "no radius": lambda: pm.Game(np.eye(2), MAPS, pm.Ball([0.5, 0], 0)),
    "box of a point": lambda: pm.Game(np.eye(2), MAPS, pm.Box([1, 1], [1, 1])),
    "box of a line": lambda: pm.Game(np.eye(2), MAPS, pm.Box([0, 1], [1, 1])),
    "one dimension": lambda: pm.Game([[1.0]], [[[1.0]]], pm.Simplex(1)),
    "polytope of a point": lambda: pm.Game(np.eye(2), MAPS, polytope(0.0)),
    "one item": lambda: pm.DuelingGame([[1.0, 0]], pm.Ball([0, 0], 1)),
    "equal items": lambda: pm.DuelingGame([[1.0, 0]] * 3, pm.Ball([0, 0], 1)),
    "one point": lambda: pm.games.kernelized_bandit([[0.5]]),
    "equal points": lambda: pm.games.kernelized_bandit([[0.5]] * 3),
    "constant kernel": lambda: pm.games.kernelized_bandit(
        [[0.1], [0.9]], kernel=pm.kernels.Constant(1.0)
    ),
    "one context": lambda: pm.ContextualGame([pm.games.linear_bandit()]),
    "impossible context": lambda: pm.ContextualGame([pm.games.linear_bandit()] * 2, [1.0, 0.0]),
    "nearly parallel": lambda: pm.Game(
        [[1.0, 0], [1, 1e-15], [0, 1]], [[[1.0, 0]]] * 3, pm.Ball([0, 0], 1)
    ),
    "nearly equal rewards": lambda: pm.FiniteGame([[1, 0], [1, 5e-324]], ["ab", "ab"]),
}


def text(game: Any) -> object:
    return str(game) + repr(game)


def analysed(game: Any) -> object:
    analysis = pm.analyze(game)
    return str(analysis) + analysis.explain()


def aligned(game: Any) -> object:
    found = pm.alignment(game)
    return float(found if isinstance(found, float) else found.value)


def bounded(game: Any) -> object:
    bounds = pm.contextual_bounds if game.traits.contexts else pm.bounds
    return np.asarray(bounds(game, [10, 1000]).regret)


def learned(game: Any) -> object:
    learner = pm.Learner(game, pm.IDS(), allow_hopeless=True)
    given = {"context": 0} if game.traits.contexts else {}
    for _ in range(3):
        decision = learner.ask(**given)
        own: Any = game.at(0) if given else game
        finite = own.traits.finite
        count = own.row_count(decision.action)
        learner.tell(decision, own.symbols[decision.action][0] if finite else [0.0] * count)
    learner.save("learner.json")
    again = pm.Learner.load("learner.json").ask(**given)
    if again.distribution.tolist() != (here := learner.ask(**given)).distribution.tolist():
        raise Wrong("the saved learner decides differently")
    return here.distribution if np.isfinite(here.distribution).all() else float("nan")


def simulated(policy: str, game: Any) -> object:
    return pm.simulate(game, policy, horizon=5, seeds=2).regret[policy]


def advised(game: Any) -> object:
    return pm.advise(game).explain()


def stored(game: Any) -> object:
    pm.save_game(game, "game.json")
    again = pm.load_game("game.json")
    if str(again) != str(game):
        raise Wrong("the file holds another game")
    return None


USES: dict[str, Callable[[Any], object]] = {
    "text": text,
    "analyze": analysed,
    "alignment": aligned,
    "bounds": bounded,
    "learn": learned,
    "simulate ids": partial(simulated, "ids"),
    "simulate greedy": partial(simulated, "greedy"),
    "simulate cbp": partial(simulated, "cbp"),
    "advise": advised,
    "file": stored,
}


def attacks(seed: int) -> Iterator[Attack]:
    for name, build in DEGENERATE.items():
        for use, function in USES.items():
            yield Attack(f"{name}: {use}", partial(built, build, function))
    for name, scaled in EXTREME.items():
        for scale in SCALES:
            for use, function in USES.items():
                call = partial(built, partial(scaled, scale), function)
                yield Attack(f"{name} x {scale:g}: {use}", call)
            if name in UNCHANGED:
                yield Attack(f"{name} x {scale:g}: class", partial(same_class, name, scale))


def built(build: Callable[[], Any], use: Callable[[Any], object]) -> object:
    return use(build())


@cache
def plain_class(name: str) -> str:
    return str(pm.analyze(EXTREME[name](1.0)).category)


def same_class(name: str, scale: float) -> None:
    found = pm.analyze(EXTREME[name](scale)).category
    if found != plain_class(name):
        raise Wrong(f"the class is {found!r}; it is {plain_class(name)!r}")
