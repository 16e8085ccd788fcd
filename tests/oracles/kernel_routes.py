"""Kernel games of all kinds, and the same games in coordinates, to be played side by side."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import partial_monitoring as pm
from partial_monitoring.estimation.kernel.posterior import KernelEstimate
from partial_monitoring.kernels import (
    Constant,
    Linear,
    Matern,
    Periodic,
    Polynomial,
    SquaredExponential,
    readings,
)
from partial_monitoring.policies.ids.ratio import information_ratio

Array = NDArray[np.float64]


def points(count: int, dimension: int = 1, seed: int = 0) -> Array:
    """Points in general position, so that few rounds are ties."""
    return np.random.default_rng(seed).uniform(0, 1, (count, dimension))


def bandit(count: int = 12, kernel: Any = None, **options: Any) -> pm.KernelGame:
    used = SquaredExponential(0.3) if kernel is None else kernel
    dimension = options.pop("dimension", 1)
    x = options.pop("x", points(count, dimension))
    return pm.games.kernelized_bandit(x, kernel=used, **options)


def two_rows() -> pm.KernelGame:
    """Earn the value, see the value and the average of all."""
    x = points(8, 2)
    shown = readings.together(readings.values(x), readings.averages(x, [range(8)] * 8))
    kernel = Matern(2.5, (0.4, 0.8), 2.0)
    return pm.KernelGame.from_kernel(
        kernel, readings.values(x), shown, noise_std=0.3, norm_bound=2.0
    )


def three_rows() -> pm.KernelGame:
    """Of different numbers: three, two, one and none."""
    x = points(7, 1)
    some = readings.one_after_another(readings.values(x[:5]), readings.nothing(2))
    groups = [(0, 1), (2, 3, 4), [6]]
    few = readings.one_after_another(readings.nothing(4), readings.sums(x, groups))
    slopes = readings.one_after_another(readings.derivatives(x[:6] + 0.01, 0), readings.nothing(1))
    return pm.KernelGame.from_kernel(
        SquaredExponential(0.4),
        readings.values(x),
        readings.together(some, few, slopes),
        noise_std=np.linspace(0.3, 1.2, 7),
        norm_bound=1.5,
    )


def slopes_only() -> pm.KernelGame:
    x = points(8, 2)
    return pm.KernelGame.from_kernel(
        SquaredExponential((0.5, 0.7)) + Periodic(1.3),
        readings.values(x),
        readings.together(readings.derivatives(x, 0), readings.derivatives(x, 1)),
        noise_std=0.4,
    )


def written(m: int = 2) -> pm.KernelGame:
    """From three kernels, whose joint Gram matrix has less than full rank."""
    rng = np.random.default_rng(m)
    k = 6
    phi, maps = rng.normal(size=(k, 5)), rng.normal(size=(k, m, 5))
    return pm.KernelGame(
        phi @ phi.T,
        np.einsum("aid,bjd->aibj", maps, maps),
        np.einsum("ad,bid->abi", phi, maps),
        noise_std=0.7,
        norm_bound=2.5,
    )


def copies() -> pm.KernelGame:
    x = points(5, 1)
    return bandit(x=np.concatenate([x, x[:3], x[:1]]))


def silent() -> pm.KernelGame:
    """Some actions show nothing at all, others only zero."""
    x = points(6)
    shown = readings.one_after_another(
        readings.values(x[:3]), readings.nothing(2), readings.weighted(x[:1], [[0.0]])
    )
    return pm.KernelGame.from_kernel(
        Matern(1.5, 0.5), readings.values(x), shown, noise_std=0.5, norm_bound=1.0
    )


GAMES: dict[str, Callable[[], pm.KernelGame]] = {
    "bandit": bandit,
    "matern": lambda: bandit(10, Matern(0.5, (0.3, 0.6), 1.7), dimension=2, norm_bound=3.0),
    "own noise": lambda: bandit(9, noise_std=np.linspace(0.2, 1.5, 9)),
    "low rank": lambda: bandit(15, Linear(), dimension=2, noise_std=0.8),
    "offset": lambda: bandit(9, 4.0 * SquaredExponential(0.2) + Constant(2.0), noise_std=1.0),
    "copies": copies,
    "one action": lambda: bandit(1),
    "silent": silent,
    "localized duels": lambda: pm.games.kernelized_localized_dueling(
        points(7), radius=0.3, norm_bound=2.0
    ),
    "duels": lambda: pm.games.kernelized_dueling(points(5), noise_std=0.6, norm_bound=1.5),
    "transductive": lambda: pm.games.kernelized_transductive(points(6), points(5, seed=1)),
    "transductive rich": lambda: pm.games.kernelized_transductive(
        points(5), points(4, seed=1), kernel=SquaredExponential(0.6)
    ),
    "cubic": lambda: bandit(9, Polynomial(3), noise_std=0.5),
    "two rows": two_rows,
    "three rows": three_rows,
    "slopes": slopes_only,
    "written": written,
    "written, three rows": lambda: written(3),
}


def factored(game: pm.KernelGame) -> pm.Game:
    """The linear game from the joint Gram matrix of all rewards and observations, by itself."""
    k, m = game.k, game.m
    rows = np.concatenate([game.features, game.observation_maps.reshape(k * m, game.d)])
    different, place = np.unique(rows, axis=0, return_inverse=True)  # copies are copies
    values, vectors = np.linalg.eigh(different @ game.gram.matrix @ different.T)
    kept = values > 1e-13 * values[-1]
    coordinates = (vectors[:, kept] * np.sqrt(values[kept]))[np.ravel(place)]
    maps = coordinates[k:].reshape(k, m, -1)
    return pm.Game(
        coordinates[:k],
        [maps[a, : game.row_count(a)] for a in range(k)],
        pm.AllParameters(coordinates.shape[1]),
        game.noise_std,
    )


def truth(game: pm.KernelGame, seed: int) -> Array:
    """The numbers of a random function within the norm bound."""
    rng = np.random.default_rng(seed)
    direction = rng.normal(size=game.root.shape[1])
    return np.asarray(game.root @ direction * (game.norm_bound / np.linalg.norm(direction)))


def observation(game: pm.KernelGame, action: int, theta: Array, rng: np.random.Generator) -> Array:
    shown = np.zeros((1, game.m))
    size = float(np.broadcast_to(game.noise_std, (game.k,))[action])
    rows = game.row_count(action)
    shown[0, :rows] = (game.rows(action) @ theta) + size * rng.normal(size=rows)
    return shown


def estimated(choice: Any, game: pm.Game) -> Array:
    """The rewards of the actions at the estimate."""
    if isinstance(game, pm.KernelGame):
        return np.asarray(choice.estimate)
    return np.asarray(choice.estimate @ game.features.T)


def assert_close(
    found: Array, expected: Array, *, rtol: float = 1e-7, atol: float = 0.0, message: str = ""
) -> None:
    """Do what NumPy does, which takes longer than a round, only for what is not plainly close."""
    with np.errstate(invalid="ignore"):  # infinite numbers are left to NumPy
        near = np.abs(found - expected) <= atol + rtol * np.abs(expected)
    if found.shape != expected.shape or not near.all():
        np.testing.assert_allclose(found, expected, rtol=rtol, atol=atol, err_msg=message)


def compare(mine: Any, theirs: Any, close: float) -> bool:
    """Decisions are the same, or there was a tie. Returns whether they are the same."""
    assert_close(mine.beta, theirs.beta, rtol=close)
    scale = 1 + np.abs(np.where(np.isfinite(theirs.gaps), theirs.gaps, 0.0)).max()
    assert_close(mine.gaps, theirs.gaps, atol=close * scale)
    assert_close(mine.information, theirs.information, atol=close)
    assert_close(mine.ratio, theirs.ratio, rtol=10 * close, atol=close)
    same = np.abs(mine.distribution - theirs.distribution).max() <= 1e-6
    if same:
        assert mine.action.tolist() == theirs.action.tolist()
        return True
    finite = np.where(np.isfinite(theirs.gaps), theirs.gaps, 0.0)
    ratio = information_ratio(mine.distribution, finite, theirs.information)
    assert_close(ratio, theirs.ratio, rtol=100 * close, atol=close)
    return False


def play(
    game: pm.KernelGame,
    policy: Any,
    linear: pm.Game,
    *,
    rounds: int = 100,
    seed: int = 0,
    close: float = 1e-8,
    available: bool = False,
) -> float:
    """Play both routes with the same observations; return how often they decided the same."""
    other = replace(policy, norm_bound=game.norm_bound)
    mine, theirs = policy.init(game, 1), other.init(linear, 1)
    rng, theta = np.random.default_rng(seed), truth(game, seed)
    same = 0
    for t in range(rounds):
        mask = None
        if available and t % 3:
            mask = rng.random(game.k) < 0.5
            mask[rng.integers(game.k)] = True
        uniforms = rng.random(1)
        one, two = policy.decide(mine, uniforms, mask), other.decide(theirs, uniforms, mask)
        assert_close(estimated(one, game), estimated(two, linear), atol=close, message=f"round {t}")
        # At t = 1 beta is the root of rounding, as the logarithm of the determinant is zero.
        same += compare(one, two, close if t else 100 * close)
        seen = observation(game, int(one.action[0]), theta, rng)
        mine = policy.update(mine, one.action, seen)
        theirs = other.update(theirs, one.action, seen)
    return same / rounds


def learn(game: pm.KernelGame, actions: Any, observations: Array, lam: float) -> KernelEstimate:
    """Play everything and return what is known."""
    policy = pm.IDS(regularization=lam)
    state = policy.init(game, 1)
    for a, y in zip(actions, observations, strict=True):
        state = policy.update(state, np.array([a]), y[None])
    estimate = state.estimate
    assert isinstance(estimate, KernelEstimate)
    return estimate


def some_data(
    game: pm.KernelGame, rounds: int, seed: int = 0, among: int | None = None
) -> tuple[NDArray[np.int64], Array]:
    rng = np.random.default_rng(seed)
    theta = truth(game, seed)
    actions = rng.integers(0, game.k if among is None else among, rounds)
    seen = [observation(game, int(a), theta, rng)[0] for a in actions]
    return actions, np.array(seen).reshape(rounds, game.m)
