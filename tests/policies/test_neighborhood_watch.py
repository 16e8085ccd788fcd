"""NeighborhoodWatch and NeighborhoodWatch2 against slow formulas and exact fractions."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from math import log, sqrt
from typing import Any

import numpy as np
import pytest

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput
from partial_monitoring.numerics.compiled import watch
from partial_monitoring.policies.finite import neighborhood_watch
from tests.oracles.finite_games import NAMED, random_game
from tests.oracles.histories import after, history, relabelled
from tests.oracles.two_ways import compare

analyzed = cache(pm.analyze)

EASY: dict[str, pm.FiniteGame] = {
    **{name: game for name, game in NAMED.items() if analyzed(game).category == "easy"},
    "arms": pm.games.bernoulli_bandit(3),
    "copies of the middle": pm.games.finite(
        losses=[[0, 1], [1, 0], [0.75, 0.25], [0.75, 0.25], [1, 0], [2, 2]],
        signals=["aa", "aa", "ab", "aa", "ab", "ab"],
    ),
    "inspection": pm.games.inspection(),
}
ALONE = ("apples", "path", "bandit", "arms", "inspection")
"""Where two neighbours show their own difference."""

OPTIONS: dict[str, Any] = {
    "first": pm.NeighborhoodWatch(),
    "first, horizon": pm.NeighborhoodWatch(horizon=400),
    "second": pm.NeighborhoodWatch2(),
    "second, horizon": pm.NeighborhoodWatch2(horizon=400),
    "second, biased": pm.NeighborhoodWatch2(300, bias=True, delta=0.1),
}
CASES = [
    (policy, game)
    for policy in OPTIONS
    for game in EASY
    if policy.startswith("second") or game in ALONE
]
every_case = pytest.mark.parametrize(("policy", "game"), CASES)


def distribution(policy: Any, state: Any) -> Any:
    return policy.decide(state, np.full(len(state.round), 0.5)).distribution


def scaled(game: pm.FiniteGame) -> Any:
    return -game.rewards / np.ptp(game.rewards, axis=0).max()


# -- the distribution of a round -------------------------------------------------------------------


def stationary(steps: Any) -> list[Fraction]:
    """Return the stationary distribution of a chain whose numbers count as exact fractions."""
    size = len(steps)
    # (steps' - 1) p = 0, with the last equation replaced by sum p = 1; rows are normalised.
    rows = [[Fraction(float(steps[i][j])) for j in range(size)] for i in range(size)]
    rows = [[entry / sum(row) for entry in row] for row in rows]
    system = [[rows[i][j] - (i == j) for i in range(size)] + [Fraction(0)] for j in range(size)]
    system[-1] = [Fraction(1)] * (size + 1)
    for c in range(size):
        pivot = next(r for r in range(c, size) if system[r][c])
        system[c], system[pivot] = system[pivot], system[c]
        system[c] = [entry / system[c][c] for entry in system[c]]
        for r in range(size):
            if r != c:
                factor = system[r][c]
                system[r] = [x - factor * y for x, y in zip(system[r], system[c], strict=True)]
    return [row[-1] for row in system]


@pytest.mark.parametrize("seed", range(20))
def test_stationary_distributions_keep_all_digits(seed: int) -> None:
    """Also of chains whose steps differ by thirty orders of magnitude."""
    rng = np.random.default_rng(seed)
    size = int(rng.integers(1, 6))
    steps = 10.0 ** rng.uniform(-30 * (seed % 3) / 2, 0, size=(size, size))
    steps /= steps.sum(axis=1, keepdims=True)
    found, scratch = np.empty(size), steps.copy()
    watch.settle(scratch, found)
    assert found.sum() == pytest.approx(1.0, abs=1e-14)
    for mine, exact in zip(found, stationary(steps), strict=True):
        assert mine == pytest.approx(float(exact), rel=1e-12)


def test_a_long_chain_that_is_hardly_ever_left() -> None:
    """A path of 40 actions whose steps away are as rare as they get: nothing overflows."""
    size = 40
    for rare in (watch.NEVER, 0.0):
        steps = np.zeros((size, size))
        for j in range(size):
            steps[j, max(j - 1, 0)] += rare
            steps[j, min(j + 1, size - 1)] += 1.0
        found = np.empty(size)
        for order in (np.arange(size), np.random.default_rng(0).permutation(size)):
            watch.settle(np.ascontiguousarray(steps[np.ix_(order, order)]), found)
            assert np.isfinite(found).all()
            assert found.sum() == pytest.approx(1.0)


def textbook(policy: Any, game: pm.FiniteGame, sums: Any, t: int) -> tuple[Any, Any, float]:
    """Return the distribution of a round, that over A and eta, from what is printed."""
    analysis = analyzed(game)
    own, pairs = analysis.representatives, analysis.neighboring_cells
    first = isinstance(policy, pm.NeighborhoodWatch)
    inside = set(own) if first else {c for pair in pairs for c in analysis.neighborhoods[pair]}
    k, n = len(inside), t if policy.horizon is None else policy.horizon
    size = np.abs(policy.init(game, 1).shape.vectors).max()
    around = [[j, *(b if a == j else a for a, b in pairs if j in (a, b))] for j in own]
    if first:
        most = max(map(len, around))
        eta = sqrt(len(own) * log(most) / (2 * size**2 * (1 + most) * n))
        gamma = min(0.5, 2 * eta * size * most)
    else:
        delta = 1 / n if policy.delta is None else policy.delta
        eta = sqrt(log(k / delta) / (n * k)) / size
        gamma = min(0.5, size * k * eta)
    steps = np.zeros((len(own), len(own)))
    for j, near in enumerate(around):
        places = [own.index(a) for a in near]
        weights = np.exp(-eta * sums[j, places])
        steps[j, places] = weights / weights.sum()
        if first:
            steps[j, places] = (1 - gamma) * steps[j, places] + gamma / len(places)
    stays = np.array(list(map(float, stationary(steps))))
    chances = np.zeros(game.k)
    chances[own] = stays
    if first:
        return chances, stays, eta
    losses, moved = scaled(game), chances.copy()
    for c in inside - set(own):
        a, b = next(pair for pair in pairs if c in analysis.neighborhoods[pair])
        if np.allclose(losses[c], losses[b]):
            a, b = b, a
        apart = losses[a] - losses[b]
        w = float((losses[c] - losses[b]) @ apart / (apart @ apart))
        x = min(chances[i] / v for i, v in ((a, w), (b, 1 - w)) if v > 1e-9) / (2 * k)
        moved[c] += x
        moved[a] -= w * x
        moved[b] -= (1 - w) * x
    mixed = np.array([gamma / k if c in inside else 0.0 for c in range(game.k)])
    return (1 - gamma) * moved + mixed, stays, eta


@every_case
def test_a_round_is_as_printed(policy: str, game: str) -> None:
    played, own = EASY[game], OPTIONS[policy]
    for rounds in (0, 2, 50):
        state = after(own, played, history(played, rounds, seed=3))
        expected, *_ = textbook(own, played, state.sums[0], rounds + 1)
        np.testing.assert_allclose(distribution(own, state)[0], expected, rtol=1e-9, atol=1e-15)


@every_case
def test_moving_probability_between_actions_loses_nothing(policy: str, game: str) -> None:
    played, own = EASY[game], OPTIONS[policy]
    if not own.init(played, 1).shape.inside:
        shape = own.init(played, 1).shape
        stays = np.random.default_rng(0).dirichlet(np.ones(len(shape.actions)))
        chances = np.zeros(played.k)
        chances[shape.actions] = stays
        before = chances.copy()
        watch.redistribute(shape, stays, chances)
        np.testing.assert_allclose(chances @ played.rewards, before @ played.rewards, atol=1e-12)
        assert chances.sum() == pytest.approx(1.0, abs=1e-12)
        assert (chances[shape.actions] >= stays / 2).all()
        k = len(shape.actions) + len(shape.between)
        for e, ends in zip(shape.between, shape.ends, strict=True):
            assert chances[e] >= stays[ends].min() / (2 * k) * (1 - 1e-12)


# -- estimates -------------------------------------------------------------------------------------


@every_case
def test_estimates_are_unbiased_whatever_the_outcome(policy: str, game: str) -> None:
    """By enumeration: the mean change of C_ja is p~_j (l_a - l_j), less what makes it optimistic.

    Drawing the learner, too, as Foster and Rakhlin do, has the same mean: the learner is j and the
    action a with probability p~_j Q_ja.
    """
    played, own = EASY[game], OPTIONS[policy]
    actions, pairs = analyzed(played).representatives, analyzed(played).neighboring_cells
    state = after(own, played, history(played, 30, seed=5))
    chances, stays, eta = textbook(own, played, state.sums[0], 31)
    losses, size = scaled(played), np.abs(state.shape.vectors).max()
    optimistic = getattr(own, "bias", False)
    for x in range(played.d):
        change = np.zeros(state.sums[0].shape)
        for a in np.flatnonzero(chances):
            shown = played.observation_maps[a, :, x][None]
            change += chances[a] * (own.update(state, np.array([a]), shown).sums - state.sums)[0]
        expected = np.zeros(change.shape)
        for a, b in pairs:
            near = analyzed(played).neighborhoods[a, b]
            for j, i in ((a, b), (b, a)):
                p = stays[actions.index(j)]
                shift = eta * size**2 * p**2 * (1 / chances[near]).sum() if optimistic else 0.0
                place = actions.index(j), actions.index(i)
                expected[place] = p * (losses[i, x] - losses[j, x]) - shift
        np.testing.assert_allclose(change, expected, atol=1e-10)


# -- what must not matter --------------------------------------------------------------------------


@every_case
def test_names_do_not_matter(policy: str, game: str) -> None:
    played, own = EASY[game], OPTIONS[policy]
    if analyzed(played).duplicates:
        return  # the first of several copies is in A
    for seed in range(3):
        other, actions, outcomes = relabelled(played, seed)
        rounds = history(played, 30, seed)
        renamed = [(actions.index(a), outcomes.index(x)) for a, x in rounds]
        one = distribution(own, after(own, played, rounds))[0]
        two = distribution(own, after(own, other, renamed))[0]
        np.testing.assert_allclose(two, one[actions], atol=1e-7)


def test_losses_matter_only_by_differences_and_ratios() -> None:
    game = EASY["path"]
    other = pm.games.finite(losses=-2 * game.rewards + np.array([3, -1]), signals=game.signals)
    for own in OPTIONS.values():
        one, two = (after(own, g, history(g, 30, seed=4)) for g in (game, other))
        np.testing.assert_allclose(distribution(own, one), distribution(own, two), atol=1e-9)


# -- edges -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", OPTIONS.values(), ids=OPTIONS.keys())
@pytest.mark.parametrize("name", ["one action", "one outcome"])
def test_trivial_games_cost_nothing_and_need_no_program(
    policy: Any, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(neighborhood_watch, "unbiased_vectors", None)
    result = pm.simulate(NAMED[name], {"p": policy}, "random", horizon=50, seeds=5)
    assert not result.regret["p"].any()


@every_case
def test_compiled_rounds_are_those_of_the_formulas(policy: str, game: str) -> None:
    compare(EASY[game], OPTIONS[policy], 150)


@pytest.mark.parametrize("seed", range(10))
def test_every_game_that_can_be_learned_is_played_if_asked_for(seed: int) -> None:
    game = random_game(seed)
    compare(game, pm.NeighborhoodWatch(allow_outside=True), 60)
    compare(game, pm.NeighborhoodWatch2(allow_outside=True, bias=seed % 2 == 0), 60)


@pytest.mark.parametrize("policy", OPTIONS.values(), ids=OPTIONS.keys())
def test_the_checks_of_policies(policy: Any) -> None:
    pm.testing.check_policy(policy, rounds=10)


def test_sums_of_any_size_give_distributions() -> None:
    for own in OPTIONS.values():
        state = own.init(EASY["arms"], 1)
        for scale in (1e3, 1e9, 1e200):
            for seed in range(5):
                state.sums[:] = scale * np.random.default_rng(seed).normal(size=state.sums.shape)
                state.sums[:, range(3), range(3)] = 0.0
                found = distribution(own, state)
                assert np.isfinite(found).all()
                assert found.sum() == pytest.approx(1.0, abs=1e-12)


def test_refusals() -> None:
    labels, middle = NAMED["labels"], NAMED["midpoint tells"]
    for policy in (pm.NeighborhoodWatch(), pm.NeighborhoodWatch2()):
        with pytest.raises(InvalidInput, match="plays easy games at most, and this one is hard"):
            policy.init(labels, 1)
        with pytest.raises(InvalidInput, match="available cannot be given with Neighborhood"):
            policy.decide(policy.init(EASY["path"], 1), np.zeros(1), np.array([True] * 3))
        with pytest.raises(InvalidInput, match="hopeless"):
            policy.init(pm.games.matching_pennies("none"), 1)
    with pytest.raises(InvalidInput, match="need a third one; use NeighborhoodWatch2"):
        pm.NeighborhoodWatch().init(middle, 1)
    with pytest.raises(InvalidInput, match="games that can be learned"):
        pm.NeighborhoodWatch2(allow_outside=True).init(pm.games.matching_pennies("none"), 1)


@pytest.mark.parametrize(
    "options", [{"horizon": 0}, {"bias": 1}, {"delta": 0}, {"delta": 1.0}, {"allow_outside": "no"}]
)
def test_bad_options(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match=next(iter(options))):
        pm.NeighborhoodWatch2(**options)
