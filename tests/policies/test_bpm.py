"""BPM-TS and BPM-Least: the posterior, draws, the cells that are met, and rounds of play."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput
from partial_monitoring.policies.finite.bpm import BPMState, scratch
from tests.oracles.finite_games import NAMED, random_game
from tests.oracles.two_ways import compare

Array = NDArray[np.float64]

POLICIES: dict[str, Any] = {
    "ts": pm.BPMTS(allow_outside=True),
    "ts, weak prior": pm.BPMTS(regularization=0.01, allow_outside=True),
    "least": pm.BPMLeast(allow_outside=True),
    "least, derived": pm.BPMLeast(radius="derived", scale=1.0, allow_outside=True),
}
GAMES = NAMED | {"arms": pm.games.bernoulli_bandit(3)}


def played(game: pm.FiniteGame, policy: Any, rounds: int, seed: int) -> BPMState:
    """A state after random actions and outcomes."""
    rng = np.random.default_rng(seed)
    state, theta = policy.init(game, 1), rng.dirichlet(np.ones(game.d))
    for _ in range(rounds):
        action, outcome = rng.integers(game.k), rng.choice(game.d, p=theta)
        shown = game.observation_maps[action][:, outcome]
        state = policy.update(state, np.array([action]), shown[None])
    return state


def whole_precision(game: pm.FiniteGame, state: BPMState, prior: float) -> Array:
    """P, from its definition."""
    total = prior * np.eye(game.d)
    for a in range(game.k):
        rows = game.rows(a)
        total += state.plays[0, a] * rows.T @ np.linalg.inv(rows @ rows.T) @ rows
    return total


# -- the posterior -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", GAMES)
def test_the_posterior_is_that_of_gaussian_conditioning(name: str) -> None:
    """Round by round, in all of R^d, then conditioned on the sum."""
    game, prior = GAMES[name], 0.7
    policy = pm.BPMTS(regularization=prior, allow_outside=True)
    rng, state = np.random.default_rng(3), policy.init(game, 1)
    mean, cov = np.full(game.d, 1 / game.d), np.eye(game.d) / prior
    for _ in range(30):
        action, outcome = rng.integers(game.k), rng.integers(game.d)
        rows = game.rows(action)
        shown = rows[:, outcome]
        noise = rows @ rows.T
        gain = cov @ rows.T @ np.linalg.inv(rows @ cov @ rows.T + noise)
        mean, cov = mean + gain @ (shown - rows @ mean), cov - gain @ rows @ cov
        one = np.pad(shown, (0, game.m - len(shown)))
        state = policy.update(state, np.array([action]), one[None])
    ones = np.ones(game.d)
    gain = cov @ ones / (ones @ cov @ ones)
    mean, cov = mean + gain * (1 - ones @ mean), cov - np.outer(gain, ones @ cov)
    assert state.mean[0] == pytest.approx(mean, abs=1e-12)
    basis = state.design.basis[:, : state.design.rank]
    own = np.linalg.inv(state.precision[0])
    assert own == pytest.approx(basis.T @ cov @ basis, abs=1e-12)


def test_draws_have_the_posterior_distribution() -> None:
    """On apple tasting theta_1 ~ N(m, 1 / (2 (n + lambda))): how often a draw is below 1/2."""
    game, policy = pm.games.finite(losses=[[1, 0], [0, 1]], signals=["aa", "ab"]), pm.BPMTS()
    rng, n = np.random.default_rng(0), 40_000
    state = policy.init(game, n)
    for _ in range(5):
        shown = np.tile([1.0, 0.0], (n, 1))
        state = policy.update(state, np.ones(n, dtype=np.int64), shown)
    uniforms = rng.random((n, policy.draws(state)))
    share = (policy.decide(state, uniforms).action == 0).mean()
    mean, std = 5.5 / 6, 1 / np.sqrt(2 * 6)
    z = (0.5 - mean) / std
    from scipy.stats import norm

    assert share == pytest.approx(norm.cdf(z), abs=4 * np.sqrt(norm.cdf(z) / n))


def test_states_are_not_changed_and_nothing_is_lost_by_batches() -> None:
    game, policy = pm.games.bernoulli_bandit(2), pm.BPMTS()
    state = policy.init(game, 2)
    before = [np.copy(own) for own in state.known]
    policy.update(state, np.array([0, 1]), np.array([[1.0, 0.0], [0.0, 1.0]]))
    assert all(map(np.array_equal, before, state.known))


# -- cells -------------------------------------------------------------------------------------


def brute_force(facets: Array, bounds: Array, center: Array, precision: Array) -> float:
    """The least squared distance over all sets of facets that hold with equality."""
    dim, inverse = len(center), np.linalg.inv(precision)
    best = np.inf
    for size in range(dim + 1):
        for chosen in combinations(range(len(facets)), size):
            rows = facets[list(chosen)]
            gram = rows @ inverse @ rows.T
            if size and np.linalg.matrix_rank(gram, tol=1e-9) < size:
                continue
            away = rows @ center - bounds[list(chosen)]
            x = center - (inverse @ rows.T @ np.linalg.solve(gram, away) if size else 0.0)
            if (facets @ x <= bounds + 1e-9).all():
                best = min(best, float((x - center) @ precision @ (x - center)))
    return best


def distances(policy: Any, state: BPMState) -> Array:
    """The squared distances of all cells, as compiled code finds them."""
    from partial_monitoring.numerics.compiled import nearest

    cells, own = policy.cells(state), state.design
    room = scratch(1, own, len(cells.bounds), len(cells.actions))
    nearest.factor(state.precision[0], float(policy.regularization), room.root[0])
    x = np.zeros(own.basis.shape[1])
    x[: own.rank] = np.linalg.solve(state.precision[0], state.target[0])
    near = room.near
    nearest.face(cells.facets, cells.bounds, room.root[0], x, near.rows[0], near.slack[0])
    return np.array([nearest.distance(near, members, np.inf, 0) for members in cells.own])


def cell(game: pm.FiniteGame, state: BPMState, a: int) -> tuple[Array, Array, Array, Array]:
    """Facets, bounds, center and precision of the cell of action a against all actions."""
    basis, prior = state.design.basis, state.design.prior_mean
    losses = -game.rewards
    normals = np.concatenate([-np.eye(game.d), losses[a] - losses])
    facets, bounds = normals @ basis, -normals @ prior
    center = basis.T @ (state.mean[0] - prior)
    kept = np.abs(facets).max(axis=1, initial=0) > 1e-12
    return facets[kept], bounds[kept], center, basis.T @ whole_precision(game, state, 1.0) @ basis


@pytest.mark.parametrize("seed", range(40))
def test_distances_of_cells_are_those_of_brute_force(seed: int) -> None:
    """Random games with copies, mixtures and dominated actions, after random rounds."""
    game, policy = random_game(seed), POLICIES["least"]
    state = played(game, policy, rounds=int(4 ** (seed % 5)), seed=seed)
    found = distances(policy, state)
    for a, own in zip(state.geometry.actions, found, strict=True):
        assert own == pytest.approx(brute_force(*cell(game, state, a)), rel=1e-8, abs=1e-9)


@pytest.mark.parametrize("seed", range(12))
def test_distances_with_many_outcomes(seed: int) -> None:
    from partial_monitoring.numerics import conic

    game = pm.games.bernoulli_bandit(4 if seed % 2 else 3)
    policy = POLICIES["least"]
    state = played(game, policy, rounds=5 + 40 * seed, seed=seed)
    for a, own in zip(state.geometry.actions, distances(policy, state), strict=True):
        facets, bounds, center, precision = cell(game, state, a)
        away = conic.nearest_point(center, precision, facets, bounds) - center
        assert own == pytest.approx(away @ precision @ away, rel=1e-7, abs=1e-9)


@pytest.mark.parametrize("seed", range(25))
def test_what_is_played_follows_from_brute_force(seed: int) -> None:
    game, t = random_game(seed + 100), 30
    for policy in (POLICIES["least"], POLICIES["least, derived"]):
        state = played(game, policy, rounds=t - 1, seed=seed)
        shape, plays = state.geometry, state.plays[0]
        r = state.design.rank
        volume = np.linalg.slogdet(state.precision[0])[1] if r else 0.0
        derived = np.sqrt(2 * np.log(t) + volume / 2) + np.sqrt(1 - 1 / game.d)
        radius = policy.scale * (derived if policy.radius == "derived" else np.sqrt(np.log(t + 1)))
        away = {a: brute_force(*cell(game, state, a)) for a in shape.actions}
        met = [a for a in shape.actions if away[a] <= radius**2] or [
            min(away, key=away.__getitem__)
        ]
        candidates = set(met)
        for pair, near in zip(shape.pairs, shape.neighborhoods & shape.useful, strict=True):
            if set(pair) <= set(met):
                candidates |= set(np.flatnonzero(near))
        action = policy.decide(state, np.zeros(1)).action[0]
        assert action == min(candidates, key=lambda c: (plays[c], c))


def test_an_ellipsoid_outside_the_simplex_means_the_nearest_cell() -> None:
    """Two symbols that exclude each other were both seen always."""
    game = pm.games.finite(losses=1 - np.eye(3), signals=["abb", "bab", "bba"])
    policy = pm.BPMLeast(scale=0.1)
    state = policy.init(game, 1)
    for action in (0, 1, 1) * 20:
        state = policy.update(state, np.array([action]), np.array([[action == 0, action == 1]]))
        state = policy.update(state, np.array([1 - action]), np.array([[action == 1, action == 0]]))
    assert state.mean[0, 2] < -0.1
    found = distances(policy, state)
    assert (found > 0.01 * np.log(state.round[0] + 1)).all()
    assert policy.decide(state, np.zeros(1)).action[0] == found.argmin()


def test_neighbourhoods_are_played_where_only_they_tell() -> None:
    """A degenerate action between the two competing ones is the only one that shows anything."""
    game = NAMED["midpoint tells"]
    result = pm.simulate(
        game, {"least": "bpm_least", "ts": "bpm_ts"}, [0.3, 0.7], horizon=2000, seeds=20
    )
    assert result.plays["least"][:, -1, 2].min() > 10
    assert result.mean("least")[-1] < 100
    assert (result.plays["ts"][:, -1, 2] == 0).all()  # it only plays what may be best


# -- rounds ------------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES.keys())
@pytest.mark.parametrize("game", GAMES.values(), ids=GAMES.keys())
def test_compiled_rounds_are_the_batched_ones(game: pm.FiniteGame, policy: Any) -> None:
    compare(game, policy, 300)


@pytest.mark.parametrize("seed", range(6))
def test_compiled_rounds_of_random_games(seed: int) -> None:
    compare(random_game(seed), list(POLICIES.values())[seed % 4], 100)


@pytest.mark.parametrize("name", ["bpm_ts", "bpm_least"])
def test_the_contract_of_policies(name: str) -> None:
    pm.testing.check_policy(pm.policies.make(name))
    pm.testing.check_policy(pm.policies.make(name), pm.games.bernoulli_bandit(3))


@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES.keys())
@pytest.mark.parametrize("name", ["one action", "one outcome"])
def test_trivial_games_cost_nothing(name: str, policy: Any) -> None:
    game = NAMED[name]
    result = pm.simulate(game, {"own": policy}, np.eye(game.d)[0], horizon=20, seeds=2)
    assert (result.regret["own"] == 0).all()


def test_a_bandit_with_eight_outcomes() -> None:
    game, chances = pm.games.bernoulli_bandit(3), np.array([[0.8], [0.4], [0.3]])
    theta = np.where(game.rewards > 0, chances, 1 - chances).prod(axis=0)
    for name in ("bpm_ts", "bpm_least"):
        result = pm.simulate(game, name, theta, horizon=2000, seeds=10)
        assert result.backend[name] == "compiled"
        assert result.mean(name)[-1] < 0.25 * 2000 * (0.8 - chances.mean())


def test_corners_and_relabelled_games() -> None:
    """Outcomes in another order, signals with other names, actions in another order."""
    losses = np.array([[0.0, 1.0, 0.4], [0.5, 0.2, 1.0], [1.0, 0.6, 0.0]])
    signals = [["a", "b", "c"], ["a", "a", "b"], ["a", "b", "b"]]
    order, actions = [2, 0, 1], [1, 2, 0]
    names = {"a": 9, "b": 8, "c": 7}
    other = pm.games.finite(
        losses=losses[actions][:, order],
        signals=[[names[signals[a][x]] for x in order] for a in actions],
    )
    game, theta = pm.games.finite(losses=losses, signals=signals), np.array([0.2, 0.5, 0.3])
    for name in ("bpm_ts", "bpm_least"):
        one = pm.simulate(game, name, theta, horizon=400, seeds=200).regret[name][:, -1]
        two = pm.simulate(other, name, theta[order], horizon=400, seeds=200).regret[name][:, -1]
        error = np.sqrt((one.var() + two.var()) / 200) + 1.0
        assert abs(one.mean() - two.mean()) < 3.5 * error
        corner = pm.simulate(game, name, [1.0, 0.0, 0.0], horizon=100, seeds=5)
        assert np.isfinite(corner.regret[name]).all()


def test_scaling_and_shifting_losses_changes_nothing() -> None:
    game = NAMED["path"]
    losses = -np.array(game.rewards)
    other = pm.games.finite(losses=4 * losses + [1.0, 3.0], signals=game.signals)
    for name in ("bpm_ts", "bpm_least"):
        one = pm.simulate(game, name, [0.6, 0.4], horizon=200, seeds=5)
        two = pm.simulate(other, name, [0.6, 0.4], horizon=200, seeds=5)
        assert np.array_equal(one.plays[name], two.plays[name])


def test_a_mask_restricts_draws_to_actions_that_may_be_best() -> None:
    game = NAMED["dominated tells"]
    policy = pm.BPMTS(allow_outside=True)
    state = policy.init(game, 50)
    uniforms = np.random.default_rng(0).random((50, policy.draws(state)))
    free = policy.decide(state, uniforms)
    assert set(free.action) == {0, 1}
    assert (policy.decide(state, uniforms, np.array([True, False, True])).action == 0).all()
    assert (policy.decide(state, uniforms, np.array([False, False, True])).action == 2).all()


# -- refusals ----------------------------------------------------------------------------------


def test_refusals() -> None:
    with pytest.raises(InvalidInput, match="plays easy games at most, and this one is hard"):
        pm.BPMTS().init(pm.games.label_efficient(), 1)
    with pytest.raises(InvalidInput, match="cannot be told apart"):
        pm.BPMLeast(allow_outside=True).init(pm.games.matching_pennies("none"), 1)
    with pytest.raises(InvalidInput, match="radius must be"):
        pm.BPMLeast(radius="large")
    with pytest.raises(InvalidInput, match="scale"):
        pm.BPMLeast(scale=0.0)
    with pytest.raises(InvalidInput, match="regularization"):
        pm.BPMTS(regularization=-1.0)
    least = pm.BPMLeast()
    with pytest.raises(InvalidInput, match="available cannot be given"):
        least.decide(least.init(pm.games.apple_tasting(), 1), np.zeros(1), np.array([True, False]))


def test_promises() -> None:
    assert not pm.BPMTS().promise(None).certified
    assert not pm.BPMLeast().promise(None).certified
    assert pm.BPMLeast(radius="derived", scale=1.0).promise(None).certified


def test_outside_its_class_it_plays_and_may_lose_forever() -> None:
    game = pm.games.label_efficient()
    result = pm.simulate(
        game, {"ts": pm.BPMTS(allow_outside=True)}, [0.6, 0.4], horizon=500, seeds=20
    )
    assert result.plays["ts"][:, -1].sum() == 500 * 20
