"""Alarms as e-processes: no way to play and to stop gains against a true hypothesis, exactly."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from functools import cache
from itertools import product
from math import exp
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize
from scipy.stats import norm

import partial_monitoring as pm
from partial_monitoring.learner.alarms.answers import dependence
from partial_monitoring.learner.alarms.drift import drift, is_split, log_weight
from partial_monitoring.learner.alarms.fits import least_squares, most_likely
from partial_monitoring.learner.alarms.misfit import misfit
from partial_monitoring.learner.alarms.mixtures import (
    log_most_likely,
    log_signals,
    log_some,
    log_spread,
    weights,
)
from partial_monitoring.learner.alarms.model import Watched
from partial_monitoring.learner.alarms.sums import Sums

ROUNDING = 1e-9

State = Hashable
Outcomes = Iterable[tuple[float, State]]


def best_bet(
    start: State, after: Callable[[State, int], Outcomes], e: Callable[[State], float], depth: int
) -> float:
    """Return the largest mean e-value over all ways to choose actions and to stop.

    After a state, an action leads to other states with their probabilities. Late answers are
    covered: which of them is told next is a choice like that of an action.
    """

    @cache
    def value(state: State, left: int) -> float:
        now = e(state)
        if not left:
            return now
        options = [list(after(state, a)) for a in (0, 1)]
        return max([now] + [sum(p * value(new, left - 1) for p, new in own) for own in options])

    return value(start, depth)


def added(rows: tuple[tuple[int, ...], ...], a: int, i: int) -> tuple[tuple[int, ...], ...]:
    return tuple(
        tuple(n + (a == b and i == j) for j, n in enumerate(own)) for b, own in enumerate(rows)
    )


# -- the parts -------------------------------------------------------------------------------


def test_the_mixture_of_signals_predicts_one_after_the_other() -> None:
    signals, counts, log_q = [0, 2, 2, 1, 0, 2, 2], np.zeros(3), 0.0
    for y in signals:
        log_q += np.log((counts[y] + 0.5) / (counts.sum() + 1.5))
        counts[y] += 1
    assert log_signals(counts) == pytest.approx(log_q, abs=1e-12)
    assert log_signals(np.zeros(4)) == log_most_likely(np.zeros(4)) == 0.0
    assert log_signals(np.array([7.0])) == pytest.approx(0.0, abs=1e-12)  # one signal: no news
    assert log_most_likely(np.array([3.0, 0.0])) == 0.0


def test_the_mixtures_never_gain_on_the_most_likely_distribution() -> None:
    rng = np.random.default_rng(0)
    for scale in (1, 10, 1e4, 1e12):
        counts = rng.integers(0, scale + 1, (50, 4)).astype(float)
        assert (log_signals(counts) <= log_most_likely(counts)).all()


def test_the_normal_mixture_is_its_integral() -> None:
    n, total, sigma = 7, 3.1, 0.8

    def integrand(delta: float) -> float:
        return norm.pdf(delta, scale=sigma) * exp((delta * total - n * delta**2 / 2) / sigma**2)

    mean = total / n
    formula = log_spread(np.array(n), np.array(1)) + weights(np.array(n)) * mean**2 / (2 * sigma**2)
    assert exp(formula) == pytest.approx(quad(integrand, -10, 10)[0], rel=1e-8)


def test_some_cells_are_averages_over_sets_of_cells() -> None:
    log_e = np.array([1.0, -2.0, 0.5])
    sets = [sum(np.array(chosen) * log_e) for chosen in product([0, 1], repeat=3)]
    assert log_some(log_e) == pytest.approx(np.log(np.mean(np.exp(sets))))


@pytest.mark.parametrize("seed", range(6))
def test_no_distribution_exceeds_the_bound_of_the_likelihood(seed: int) -> None:
    rng = np.random.default_rng(seed)
    maps = (rng.random((4, 5)) < 0.5).astype(float)
    rows = np.concatenate([maps, 1 - maps])
    rows = rows[rows.any(axis=1)]
    counts = rng.integers(0, 10 ** (1 + seed), len(rows)).astype(float)
    counts[rng.integers(len(rows))] = 0.0
    fit = most_likely(rows, counts)
    assert fit.theta.sum() == pytest.approx(1.0)

    def likelihood(theta: Any) -> Any:
        with np.errstate(divide="ignore"):
            logs = np.log(np.maximum(theta @ rows.T, 0.0))
        return np.where(counts > 0, counts * np.where(counts > 0, logs, 0.0), 0.0).sum(axis=-1)

    others = rng.dirichlet(np.full(5, 0.5), 20_000)
    assert likelihood(others).max() <= fit.bound
    assert fit.bound - likelihood(fit.theta) < 0.01 + 1e-9 * counts.sum()


def test_a_bound_of_the_likelihood_needs_no_convergence(monkeypatch: pytest.MonkeyPatch) -> None:
    rows, counts = (
        np.array([[1.0, 0, 0], [0, 1, 1], [1, 1, 0], [0, 0, 1]]),
        np.array([9.0, 1, 2, 8]),
    )
    good = most_likely(rows, counts)
    monkeypatch.setattr("partial_monitoring.learner.alarms.fits.MOST_STEPS", 1)
    monkeypatch.setattr("partial_monitoring.learner.alarms.fits.ACCURACY", 1e3)
    bad = most_likely(rows, counts)
    assert bad.bound > good.bound + 0.1


@pytest.mark.parametrize("radius", [np.inf, 10.0, 0.5, 0.01])
def test_least_squares_in_a_ball(radius: float) -> None:
    rng = np.random.default_rng(1)
    rows, target, center = rng.normal(size=(7, 3)), rng.normal(size=7), np.array([0.1, 0.0, -0.2])
    found = least_squares(rows, target, center, radius)

    def loss(theta: Any) -> float:
        return float(((target - rows @ theta) ** 2).sum())

    inside = [{"type": "ineq", "fun": lambda x: radius**2 - ((x - center) ** 2).sum()}]
    best = minimize(loss, center, constraints=inside if radius < np.inf else [], tol=1e-12).fun
    assert best - 0.02 * best <= found.bound <= best + 1e-9


def test_least_squares_without_rank_and_without_rows() -> None:
    rows, target = np.array([[1.0, 1.0], [1.0, 1.0], [2.0, 2.0]]), np.array([1.0, 2.0, 3.0])
    assert least_squares(rows, target, np.zeros(2), np.inf).bound == pytest.approx(0.5)
    assert least_squares(np.zeros((2, 2)), np.ones(2), np.zeros(2), 1.0).bound == pytest.approx(2.0)
    assert least_squares(np.zeros((0, 2)), np.zeros(0), np.zeros(2), 1.0).bound == 0.0


def test_the_weights_of_all_splits_sum_to_one() -> None:
    splits = [t for t in range(1, 2**14) if is_split(t)]
    assert splits[:10] == [4, 5, 6, 7, 8, 10, 12, 14, 16, 20]
    total = sum(exp(log_weight(t)) for t in splits)
    assert total == pytest.approx(1 - 1 / 13)  # the sum over octaves telescopes


# -- e-processes -----------------------------------------------------------------------------


GAMES = {
    "pricing": pm.FiniteGame([[0, 1], [1, 0]], ["yn", "ny"]),
    "three signals": pm.FiniteGame([[0, 1, 2], [1, 0, 2]], ["abc", "xxy"]),
    "one silent": pm.FiniteGame([[0, 1], [1, 0]], ["zz", "ny"]),
}


@cache
def misfit_of(name: str, counts: tuple[tuple[int, ...], ...]) -> float:
    sums = {(None, a): Sums(sum(own), own) for a, own in enumerate(counts) if sum(own)}
    return exp(misfit(Watched(GAMES[name]), sums).log_e)


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("truth", [0, 0.02, 0.3, 0.5, 1])
def test_misfit_of_signals(name: str, truth: float) -> None:
    """Under every theta, whatever the policy does and whenever it is stopped."""
    game = GAMES[name]
    theta = np.array(
        [truth, 1 - truth] if game.d == 2 else [truth, (1 - truth) / 3, (1 - truth) / 1.5]
    )
    chances = [game.rows(a) @ theta for a in range(2)]

    def e(counts: Any) -> float:
        return misfit_of(name, counts)

    def after(counts: Any, a: int) -> Outcomes:
        return [(p, added(counts, a, i)) for i, p in enumerate(chances[a]) if p > 0]

    start = tuple((0,) * own for own in game.row_counts)
    assert best_bet(start, after, e, 6) <= 1 + ROUNDING


TWO_ROWS = pm.Game([[1, 0], [0, 1]], [[[1, 0]], [[0.5, 0.5]]], pm.Ball([0, 0], 1.0), noise_std=0.5)
SAME = pm.Game([[1], [2]], [[[1]], [[1]]], pm.AllParameters(1), noise_std=[0.5, 1.0])
TRIALS = pm.Game(
    [[1, 0], [0, 1]], [[[1, 0]], [[1, 0]]], pm.Box([0, 0], [1, 1]), noise_std=0.1, noise="bernoulli"
)


@pytest.mark.parametrize(
    ("game", "theta", "low", "high"),
    [
        (TWO_ROWS, [0.6, -0.8], (-0.5, -0.5), (0.5, 0.5)),
        (TWO_ROWS, [0.0, 0.0], (-0.25, -0.1), (0.75, 0.9)),
        (SAME, [5.0], (-0.5, -1.0), (0.5, 1.0)),
        (SAME, [5.0], (-0.9, -1.8), (0.1, 0.2)),
        (TRIALS, [0.3, 0.5], (-0.3, -0.3), (0.7, 0.7)),
    ],
)
def test_misfit_of_numbers(game: Any, theta: Any, low: Any, high: Any) -> None:
    """With noise of two values, which is not normal, but as sub-Gaussian as its range allows."""
    watched = Watched(game)
    means = [float((game.rows(a) @ theta)[0]) for a in range(2)]

    @cache
    def e(counts: Any) -> float:
        sums = {}
        for a, (less, more) in enumerate(counts):
            if less + more:
                shown = [means[a] + low[a]] * less + [means[a] + high[a]] * more
                scatter = float(((np.array(shown) - np.mean(shown)) ** 2).sum())
                sums[None, a] = Sums(len(shown), (sum(shown),), scatter)
        return exp(misfit(watched, sums).log_e)

    def after(counts: Any, a: int) -> Outcomes:
        p = -low[a] / (high[a] - low[a])  # of the higher value, so that the mean is 0
        return [(1 - p, added(counts, a, 0)), (p, added(counts, a, 1))]

    assert best_bet(((0, 0), (0, 0)), after, e, 8) <= 1 + ROUNDING


@pytest.mark.parametrize("numbers", [False, True])
@pytest.mark.parametrize("chances", [(0.5, 0.5), (0.1, 0.7), (0.0, 1.0)])
def test_drift(chances: tuple[float, float], numbers: bool) -> None:
    watched = Watched(TRIALS if numbers else GAMES["pricing"])

    def sums_of(counts: Any) -> dict[Any, Sums]:
        each = [(a, own) for a, own in enumerate(counts) if sum(own)]
        return {(None, a): Sums(sum(own), (float(own[1]),) if numbers else own) for a, own in each}

    @cache
    def e(state: Any) -> float:
        counts, splits = state
        early = [(sum(map(sum, own)), sums_of(own)) for own in splits]
        return exp(drift(watched, early, sums_of(counts)).log_e)

    def after(state: Any, a: int) -> Outcomes:
        for i, p in enumerate((1 - chances[a], chances[a])):
            counts = added(state[0], a, i)
            more = (counts,) if is_split(sum(map(sum, counts))) else ()
            if p > 0:
                yield p, (counts, (*state[1], *more))

    assert best_bet((((0, 0), (0, 0)), ()), after, e, 7) <= 1 + ROUNDING


@pytest.mark.parametrize("rate", [0.0, 0.2, 0.5, 0.97])
def test_answers(rate: float) -> None:
    watched = Watched(GAMES["pricing"])

    @cache
    def e(counts: Any) -> float:
        known = {(None, a): own for a, own in enumerate(counts) if sum(own)}
        return exp(dependence(watched, known).log_e)

    def after(counts: Any, a: int) -> Outcomes:
        return [(p, added(counts, a, i)) for i, p in enumerate((rate, 1 - rate)) if p > 0]

    assert best_bet(((0, 0), (0, 0)), after, e, 12) <= 1 + ROUNDING


def test_against_other_hypotheses_they_gain() -> None:
    """The same calculation under a truth that no theta allows: both actions show 'y' always."""
    watched, both = Watched(GAMES["pricing"]), {}
    for n in (5, 20, 80):
        sums = {(None, 0): Sums(n, (float(n), 0.0)), (None, 1): Sums(n, (0.0, float(n)))}
        both[n] = misfit(watched, sums).log_e
    assert both[5] < both[20] < both[80]
    assert both[80] > 90  # against log 4^80 = 111, less what the mixtures cost
