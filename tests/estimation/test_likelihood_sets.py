"""Sets of likely distributions: supports, gaps and estimates against slow, independent ones."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import gammaln

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput
from partial_monitoring.estimation.likelihood.channels import channels_of
from partial_monitoring.estimation.likelihood.likely_set import LikelySet
from partial_monitoring.estimation.linear.least_squares import counted
from partial_monitoring.estimation.linear.state import linear_design
from partial_monitoring.estimation.state import Prior
from partial_monitoring.numerics.compiled import likelihood, likely_support

Array = NDArray[np.float64]

SCHEDULE = pm.confidence.likelihood_ratio(0.05)
PRICES = pm.games.dynamic_pricing(range(1, 6))


def random_game(seed: int) -> pm.FiniteGame:
    """Rewards in quarters, so that there are ties and copies, and random signals."""
    rng = np.random.default_rng(seed)
    k, d = rng.integers(1, 6), rng.integers(1, 6)
    symbols = rng.integers(0, rng.integers(1, 4), size=(k, d))
    return pm.FiniteGame(rng.integers(-2, 3, size=(k, d)) / 4, symbols.tolist())


def after_counts(game: pm.FiniteGame, sums: Any) -> LikelySet:
    """Return E_t after signals were seen so often, shape (n, k, m)."""
    shown = np.asarray(sums, dtype=float)
    estimate = counted(linear_design(game, Prior()), shown.sum(axis=2).astype(np.int64), shown)
    channels = channels_of(game)
    return LikelySet.around(estimate, SCHEDULE, channels, channels.counts(shown))


def after_plays(game: pm.FiniteGame, seed: int, *, replicates: int = 1) -> LikelySet:
    """Return E_t after few or very many plays of some of the actions."""
    rng = np.random.default_rng(seed)
    sums = np.zeros((replicates, game.k, game.m))
    for own in sums:
        theta = rng.dirichlet(np.full(game.d, 0.5))
        plays = rng.integers(0, 10 ** rng.integers(1, 7), game.k) * rng.integers(0, 2, game.k)
        for a, often in enumerate(plays):
            p = game.observation_maps[a, : game.row_counts[a]] @ theta
            own[a, : game.row_counts[a]] = rng.multinomial(often, p / p.sum())
    return after_counts(game, sums)


def threshold(known: LikelySet) -> float:
    """Return log of the mixture - log 1/delta of one replicate, by its definition."""
    total = np.log(0.05)
    for start, end in pairwise(known.channels.starts):
        c, half = known.counts[0, start:end], (end - start) / 2
        total += gammaln(c + 0.5).sum() - 2 * half * gammaln(0.5)
        total += gammaln(half) - gammaln(c.sum() + half)
    return float(total)


def log_likelihood(known: LikelySet, theta: Array) -> Array:
    """Return the log-likelihood of distributions (..., d) for one replicate."""
    c, p = known.counts[0], theta @ known.channels.rows.T
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(c > 0, c * np.log(p), 0.0).sum(axis=-1))


# -- the support function ----------------------------------------------------------------------


@pytest.mark.parametrize("counts", [(3, 17), (0, 20), (20, 0), (1000, 3), (1, 0), (400000, 500000)])
def test_with_two_outcomes_it_is_the_interval_that_bisection_finds(counts: Any) -> None:
    game = pm.FiniteGame([[0, -1], [-1, 0]], ["ab", "cc"])
    known = after_counts(game, [[counts, (0, 0)]])
    level, top = threshold(known), counts[0] / sum(counts)

    def excess(p: float) -> float:
        return float(log_likelihood(known, np.array([p, 1 - p]))) - level

    high = 1.0 if counts[1] == 0 else brentq(excess, top, 1 - 1e-16, xtol=1e-16)
    low = 0.0 if counts[0] == 0 else brentq(excess, 1e-300, top, xtol=1e-18)
    found = known.support([[1.0, 0.0], [-1.0, 0.0]])[0]
    np.testing.assert_allclose(found, [high, -low], rtol=0, atol=1e-9 * (high - low))


@pytest.mark.parametrize("seed", range(12))
def test_supports_are_those_of_a_conic_solver(seed: int) -> None:
    cp = pytest.importorskip("cvxpy")
    game = random_game(seed)
    rng = np.random.default_rng(seed)
    sums = np.zeros((1, game.k, game.m))
    for a, rows in enumerate(game.row_counts):
        sums[0, a, :rows] = rng.multinomial(rng.integers(0, 40), np.full(rows, 1 / rows))
    known = after_counts(game, sums)
    c, rows = known.counts[0], known.channels.rows
    for direction in rng.normal(size=(3, game.d)):
        theta = cp.Variable(game.d)
        limits = [theta >= 0, cp.sum(theta) == 1]
        if c.any():
            limits.append(c[c > 0] @ cp.log(rows[c > 0] @ theta) >= threshold(known))
        problem = cp.Problem(cp.Maximize(direction @ theta), limits)
        problem.solve(solver="CLARABEL")
        if problem.status == "optimal":
            assert known.support([direction])[0, 0] == pytest.approx(problem.value, abs=2e-6)
        else:  # the data contradict the game
            assert known.outside[0] > known.beta[0]


@given(st.integers(0, 10**6), st.integers(0, 10**6))
@settings(max_examples=80)
def test_supports_are_attained_and_never_exceeded(seed: int, data: int) -> None:
    game = random_game(seed)
    known = after_plays(game, data)
    rng = np.random.default_rng(data)
    directions = np.concatenate([rng.normal(size=(3, game.d)), rng.integers(-1, 2, (3, game.d))])
    values, certified, points = likely_support.supports(directions.astype(float), *known._likely)
    assert certified.all()
    attained = (points[0] * directions).sum(axis=1)
    reach = values[0] - directions @ known.center[0]
    assert (attained <= values[0] + 1e-12).all()
    assert (values[0] - attained <= 1e-8 * reach + 1e-12 * np.abs(values[0]) + 1e-13).all()
    limit = log_likelihood(known, known.center[0]) - known.beta[0] / 2
    size = 1e-9 * (1 + np.abs(limit))
    assert (log_likelihood(known, points[0]) >= limit - size).all()
    assert points[0].min() >= -1e-12
    np.testing.assert_allclose(points[0].sum(axis=1), 1.0, rtol=1e-9)
    others = rng.dirichlet(np.ones(game.d), 200)
    share = rng.random((200, 1)) ** 4
    others = (1 - share) * known.center[0] + share * others
    inside = log_likelihood(known, others) >= limit
    assert (others[inside] @ directions.T <= values[0] + 1e-12).all()


@given(st.integers(0, 10**6), st.integers(0, 10**6))
@settings(max_examples=40)
def test_gaps_are_the_largest_supports_of_all_pairs(seed: int, data: int) -> None:
    game = random_game(seed)
    known = after_plays(game, data, replicates=2)
    pairs = game.features[None] - game.features[:, None]
    each = known.support(pairs.reshape(-1, game.d)).reshape(2, game.k, game.k)
    brute = np.maximum(each.max(axis=2), 0.0)
    size = 1e-8 * brute.max(initial=0.0) + 1e-12
    np.testing.assert_allclose(known.exact_gaps(), brute, rtol=0, atol=size)
    relaxed = known.relaxed_gaps()
    greedy = known.means.argmax(axis=1)
    for row, g in enumerate(greedy):
        delta = max(each[row, g].max(), 0.0)
        expected = delta + np.maximum(each[row, :, g], 0.0) * (np.arange(game.k) != g)
        np.testing.assert_allclose(relaxed[row], expected, rtol=0, atol=size)
    assert (relaxed >= known.exact_gaps() - size).all()


def test_before_the_first_signal_everything_is_likely() -> None:
    known = after_counts(PRICES, np.zeros((1, 5, 2)))
    gaps = PRICES.features.max(axis=0) - PRICES.features
    np.testing.assert_allclose(known.exact_gaps()[0], gaps.max(axis=1))
    np.testing.assert_allclose(known.center[0], 0.2)


def test_many_signals_lose_no_digits() -> None:
    """A billion plays: the width of the interval is that of a normal distribution."""
    game = pm.FiniteGame([[0, -1], [-1, 0]], ["ab", "cc"])
    n = 10**9
    known = after_counts(game, [[(n // 2, n // 2), (0, 0)]])
    width = known.support([[1.0, 0.0]])[0, 0] - 0.5
    regret = np.log(20) + 0.5 * np.log(n) + 0.5 * np.log(np.pi / 2)
    assert width == pytest.approx(np.sqrt(regret / (2 * n)), rel=1e-6)


# -- the estimate and the mixture -----------------------------------------------------------------


@given(st.lists(st.integers(0, 10**5), min_size=2, max_size=6))
def test_the_regret_of_the_mixture_is_its_definition(counts: list[int]) -> None:
    c = np.array(counts, dtype=float)
    n, m = c.sum(), len(c)
    mixture = gammaln(c + 0.5).sum() - m * gammaln(0.5) + gammaln(m / 2) - gammaln(n + m / 2)
    best = sum(x * np.log(x / n) for x in c if x > 0)
    found = likelihood.mixture_regret(c, 0, m)
    assert found == pytest.approx(best - mixture, rel=1e-9, abs=1e-7 + 1e-14 * abs(mixture))


def test_the_estimate_counts_half_of_each_outcome_more() -> None:
    game = pm.FiniteGame(-np.eye(3), ["abc", "ddd", "ddd"])
    known = after_counts(game, [[(7, 0, 2), (0, 0, 0), (5, 0, 0)]])
    np.testing.assert_allclose(known.center[0], np.array([7.5, 0.5, 2.5]) / 10.5, rtol=1e-9)
    np.testing.assert_allclose(known.means[0], -known.center[0])


@given(st.integers(0, 10**6), st.integers(0, 10**6))
@settings(max_examples=40)
def test_the_estimate_is_in_the_set_unless_that_is_empty(seed: int, data: int) -> None:
    known = after_plays(random_game(seed), data)
    excess = log_likelihood(known, known.center[0]) - threshold(known)
    if known.outside[0] == 0:
        assert excess >= -1e-6 * (1 + abs(threshold(known)))
        assert known.beta[0] / 2 == pytest.approx(excess, abs=2e-6 + 1e-12 * known.counts.sum())
        assert known.contains(known.center[0]).all()


def test_actions_that_show_the_same_share_a_channel() -> None:
    game = pm.FiniteGame(np.zeros((4, 3)), ["aab", "xxx", "ccb", "abb"])
    found = channels_of(game)
    assert found.starts.tolist() == [0, 2, 4]
    assert found.places[0].tolist() == [[0, 1], [4, 4], [0, 1], [2, 3]]
    assert found.counts(np.arange(8.0).reshape(1, 4, 2)).tolist() == [[4.0, 6.0, 6.0, 7.0]]


# -- data that the game cannot make ---------------------------------------------------------------


def test_where_no_distribution_is_likely_a_status_says_so() -> None:
    """Every action says that the outcome is its own."""
    game = pm.FiniteGame(-np.eye(3), ["abb", "bab", "bba"])
    learner = pm.Learner(game, pm.IDS(confidence=SCHEDULE), seed=0)
    learner.tell_past([0, 1, 2] * 60, ["a"] * 180)
    status = learner.status()
    assert any("parameter set" in warning for warning in status.warnings)
    assert np.isfinite(learner.ask().gaps).all()


# -- what policies and learners ask ---------------------------------------------------------------


def test_a_learner_decides_explains_and_knows_its_status() -> None:
    learner = pm.Learner(PRICES, pm.IDS(confidence=SCHEDULE), seed=0)
    truth, rng = pm.Instance(PRICES, [0.1, 0.2, 0.3, 0.3, 0.1]), np.random.default_rng(0)
    for _ in range(40):
        decision = learner.ask(available=["$2", "$3", "$5"])
        assert np.isinf(decision.gaps[[0, 3]]).all()
        learner.tell(decision, truth.observe(decision.action, rng))
    assert "may lose" in learner.ask().explain()
    status = learner.status()
    assert status.best in status.plausible
    assert "looks best" in status.explain()


@pytest.mark.parametrize("seed", range(6))
def test_plausible_actions_are_best_somewhere_in_the_set(seed: int) -> None:
    rng = np.random.default_rng(seed)
    game = pm.FiniteGame(rng.normal(size=(6, 3)), ["abb", "aab", "ccc", "ccc", "ccc", "ccc"])
    known = after_counts(game, rng.integers(1, 12, (1, 6, 2)) * (np.arange(6) < 2)[:, None])
    steps = 300
    grid = np.array([(i, j, steps - i - j) for i in range(steps) for j in range(steps - i)])
    inside = grid[log_likelihood(known, grid / steps) >= threshold(known)] / steps
    somewhere = np.bincount((inside @ game.features.T).argmax(axis=1), minlength=6) > 0
    _, rivals, decide = known.ahead(0)
    assert not (somewhere & ~decide()).any()
    assert not (decide() & ~rivals).any()
    margin = (inside @ game.features.T - (inside @ game.features.T).max(axis=1, keepdims=True)).max(
        0
    )
    assert (margin[decide()] > -0.05).all()  # nearly best on the grid


def test_what_needs_an_ellipsoid_is_refused_in_one_sentence() -> None:
    for options in ({"gap": pm.gaps.mean}, {"information": pm.information.directed}):
        learner = pm.Learner(PRICES, pm.IDS(confidence=SCHEDULE, **options))
        with pytest.raises(InvalidInput, match=r"needs an ellipsoid.*\.$"):
            learner.ask()
    with pytest.raises(InvalidInput, match=r"not for ContextualIDS.*\.$"):
        pm.Learner(pm.ContextualGame([PRICES]), pm.ContextualIDS(confidence=SCHEDULE))


# -- contexts -------------------------------------------------------------------------------------

SHOPS = pm.ContextualGame(
    [
        pm.FiniteGame([[0, -1, -2], [-2, 0, -1]], ["yyy", "nyy"], actions=["one", "two"]),
        pm.FiniteGame([[-2, 0, -1], [-2, -2, 0]], ["byy", "nnb"], actions=["two", "three"]),
    ],
    contexts=["here", "there"],
)


def test_signals_of_all_contexts_count() -> None:
    """The set is that of one game with the actions of all contexts."""
    whole = pm.FiniteGame(np.zeros((3, 3)), ["yyy", "nyy", "nnb"])
    learner = pm.Learner(SHOPS, pm.IDS(confidence=SCHEDULE), seed=0)
    seen = [("here", "two", "y"), ("there", "two", "b"), ("there", "three", "n")]
    seen += [("here", "one", "y"), ("there", "three", "b")]
    for context, action, signal in seen * 3:
        learner.tell_past([action], [signal], contexts=[context])
    expected = after_counts(whole, [[(3, 0), (3, 3), (3, 3)]])
    state = learner._session.state
    known = learner.policy.confidence_set(state, np.array([1]))
    directions = np.random.default_rng(0).normal(size=(5, 3))
    np.testing.assert_allclose(known.support(directions), expected.support(directions), rtol=1e-8)
    np.testing.assert_allclose(
        known.exact_gaps()[0], np.maximum(known.support([[0, -2, 1], [0, 2, -1]])[0], 0), rtol=1e-8
    )
    assert learner.status(context="there").best in ("two", "three")


def test_contexts_are_played_and_saved(tmp_path: Any) -> None:
    learner = pm.Learner(SHOPS, pm.IDS(confidence=SCHEDULE), seed=0)
    rng = np.random.default_rng(0)
    for t in range(30):
        context = ("here", "there")[t % 2]
        decision = learner.ask(context=context)
        own = SHOPS.at(context)
        place = own.action_index(decision.label)
        learner.tell(decision, own.signals[place][rng.integers(3)])
    learner.save(tmp_path / "learner.json")
    again = pm.Learner.load(tmp_path / "learner.json")
    ours, other = learner.ask(context="here"), again.ask(context="here")
    np.testing.assert_array_equal(ours.gaps, other.gaps)
    result = pm.simulate(SHOPS, {"ids": learner.policy}, [0.2, 0.5, 0.3], horizon=20, seeds=3)
    assert np.isfinite(result.regret["ids"]).all()


def test_other_games_have_ellipsoids() -> None:
    policy = pm.IDS(confidence=SCHEDULE, gap=pm.gaps.mean)
    for game in (
        pm.games.linear_bandit(),
        pm.games.dueling(np.eye(3)),
        pm.games.kernelized_bandit(),
    ):
        assert np.isfinite(pm.simulate(game, policy, horizon=3, seeds=2).regret["ids"]).all()
