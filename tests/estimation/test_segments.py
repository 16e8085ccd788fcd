"""Segments that are alike by a prior: least squares, counted signals, and the limits of both."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import partial_monitoring as pm
from partial_monitoring.estimation.profile.model import signal_model
from partial_monitoring.estimation.profile.state import ProfileState
from partial_monitoring.estimation.state import Prior, initial_state

SHOP = pm.games.dynamic_pricing()
BANDIT = pm.Game(np.eye(2), np.eye(2)[:, None], pm.AllParameters(2), 0.5)
BOX = pm.Game(np.eye(2), np.eye(2)[:, None], pm.Box([-1, -2], [1, 2]), 0.5)
BALL = pm.Game(np.eye(2), np.eye(2)[:, None], pm.Ball([0.5, 0], 1.0), 0.5)
NAMES = ("a", "b", "c")


def three(game: pm.Game, shared: float | None) -> Any:
    return pm.segments(dict.fromkeys(NAMES, game), shared)


def correlation(scale: float) -> Any:
    return (np.ones((3, 3)) + scale**2 * np.eye(3)) / (1 + scale**2)


def played(game: Any, rounds: int = 25, seed: int = 0) -> tuple[Any, Any, Any]:
    """Return a state after random rounds, the rows that were observed and what they showed."""
    rng = np.random.default_rng(seed)
    state = initial_state(game, 1, Prior(regularization=0.7))
    rows, shown = [], []
    for _ in range(rounds):
        z, action = int(rng.integers(3)), int(rng.integers(game.k))
        own = game.at(z).rows(action)
        seen = rng.normal(size=len(own))
        state = state.after(np.array([action]), seen[None], np.array([z]))
        rows.append(own)
        shown.append(seen)
    return state, np.concatenate(rows), np.concatenate(shown)


@pytest.mark.parametrize("scale", [0.1, 0.4, 3.0])
def test_least_squares_is_the_posterior_of_the_hierarchy(scale: float) -> None:
    game = three(BANDIT, scale)
    state, rows, shown = played(game)
    found = state.confidence(pm.confidence.deviations(2.0), np.array([1]))
    precision = 0.7 * np.linalg.inv(np.kron(correlation(scale), np.eye(2))) + rows.T @ rows
    np.testing.assert_allclose(found.center[0], np.linalg.solve(precision, rows.T @ shown))
    np.testing.assert_allclose(found.gram[0], precision, atol=1e-10)
    directions = np.random.default_rng(1).normal(size=(4, 6))
    widths = np.sqrt(np.einsum("qi,ij,qj->q", directions, np.linalg.inv(precision), directions))
    expected = directions @ found.center[0] + np.sqrt(found.beta[0]) * widths
    np.testing.assert_allclose(found.support(directions)[0], expected)


@pytest.mark.parametrize("own", [BOX, BALL], ids=["box", "ball"])
def test_the_same_set_cuts_in_whatever_coordinates(own: pm.Game) -> None:
    """E_t of the prior in its own coordinates is that of the same ellipsoid in those of theta."""
    game = three(own, 0.5)
    state, _, _ = played(game)
    found = state.confidence(pm.confidence.deviations(2.0), np.array([0]))
    center, gram, beta = found.center[0], found.gram[0], float(found.beta[0])
    assert game.parameters.contains(center)
    for c in np.random.default_rng(2).normal(size=(4, 6)):
        value, point = found.support(c[None])[0, 0], found.maximizer(c[None])[0, 0]
        assert value == pytest.approx(c @ point, abs=1e-6)
        away = point - center
        assert away @ gram @ away <= beta * (1 + 1e-5)
        assert np.abs(game.parameters.project(point) - point).max() < 1e-6
        # No point of the segment from the centre to any point of the set is higher.
        for other in game.parameters.sample(np.arange(20)):
            step = other - center
            length = min(1.0, np.sqrt(beta / max(step @ gram @ step, 1e-300)))
            assert c @ (center + length * step) <= value + 1e-6


def hessian(model: Any) -> Any:
    """Return minus the Hessian of the log prior at theta_0, in the coordinates of the basis W."""
    signals = model.signals
    r = len(model.axes)
    directions = np.concatenate([np.eye(r), signals.extra])[signals.direction]
    inner = np.einsum("s,si,sj->ij", signals.prior / signals.base**2, directions, directions)
    back = np.linalg.inv(model.axes)
    return back.T @ inner @ back


@pytest.mark.parametrize("scale", [0.1, 0.4, 3.0])
def test_counted_signals_have_the_same_prior(scale: float) -> None:
    alone, alike = hessian(signal_model(SHOP)), hessian(signal_model(three(SHOP, scale)))
    expected = np.kron(np.linalg.inv(correlation(scale)), alone)
    np.testing.assert_allclose(alike, expected, atol=1e-8 * np.abs(expected).max())


def test_a_signal_of_one_segment_alone_has_the_prior_of_this_segment() -> None:
    """The second segment sells at other prices: no signal is shared, though theta may be alike."""
    one = pm.FiniteGame([[1, 1, 1], [0, 2, 2]], [["yes"] * 3, ["no", "yes", "yes"]])
    two = pm.FiniteGame([[1, 1, 1], [0, 0, 3]], [["yes"] * 3, ["no", "no", "yes"]])
    apart, alike = (pm.segments({"a": one, "b": two}, shared) for shared in (None, 0.1))
    np.testing.assert_allclose(hessian(signal_model(alike)), hessian(signal_model(apart)))


def counted(game: Any, rounds: list[tuple[int, int, int]]) -> ProfileState:
    model = signal_model(game)
    assert model is not None
    state = ProfileState.initial(model, 1)
    for z, action, symbol in rounds:
        seen = np.eye(game.m)[symbol][None]
        context = np.array([z]) if game.traits.contexts else None
        state = state.after(np.array([action]), seen, context)
    return state.refreshed(np.ones(1, dtype=bool))


ROUNDS = [(0, 1, 0), (1, 2, 1), (0, 2, 1), (2, 1, 1), (0, 1, 0), (1, 1, 0), (0, 2, 1)]


def test_own_unknowns_are_counted_like_those_of_separate_learners() -> None:
    """The same estimates; what is learned saves in the rounds of its own segment only."""
    whole = counted(three(SHOP, None), ROUNDS)
    seen = np.bincount([z for z, _, _ in ROUNDS], minlength=3) + 1.0
    for z in range(3):
        alone = counted(SHOP, [(0, a, s) for own, a, s in ROUNDS if own == z])
        own = slice(3 * z, 3 * z + 3)
        np.testing.assert_allclose(whole.estimate[0, own], alone.estimate[0], atol=1e-6)
        np.testing.assert_allclose(whole.means[0, own], alone.means[0], atol=1e-6)
        expected = seen[z] / seen.sum() * alone.worth[0]
        np.testing.assert_allclose(whole.worth[0, own], expected, rtol=1e-4, atol=1e-9)


def test_between_one_learner_and_separate_ones() -> None:
    rounds = [(0, 2, 1)] * 30  # everybody in the first segment buys at the highest price

    def bought(shared: float | None) -> Any:
        theta = counted(three(SHOP, shared), rounds).estimate[0].reshape(3, 3)
        return theta[:, 2]

    apart, alike = bought(None), bought(0.3)
    assert apart[1] == pytest.approx(1 / 3)
    assert apart[1] < alike[1] < alike[0]
    np.testing.assert_allclose(bought(1000.0), apart, atol=1e-4)
    assert np.ptp(bought(0.001)) < 1e-3


def test_sharing_saves_regret_on_a_hierarchical_truth() -> None:
    """As in ``benchmarks/segments.py``, with few seeds, where segments differ in what is best.

    At smaller scales the same action is mostly best in all, and one pooled learner is as good.
    """
    from benchmarks.segments import linear, regrets

    found = {name: float(own.mean()) for name, own in regrets(linear(), 1.0, 60).items()}
    assert found["right prior"] < 0.95 * min(found["pooled"], found["separate learners"])
    assert found["segments"] == pytest.approx(found["separate learners"], rel=0.15)


@pytest.mark.nightly
def test_sharing_saves_regret_where_signals_are_counted() -> None:
    from benchmarks.segments import GAMES, regrets

    found = {n: float(own.mean()) for n, own in regrets(GAMES["five prices"](), 1.0, 200).items()}
    assert found["right prior"] < min(found["pooled"], found["separate learners"])
