"""States that forget know what all observations say together, each with the weight of its age."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import partial_monitoring as pm
from partial_monitoring.estimation.forgetting import FOREVER, Forgetting
from partial_monitoring.estimation.linear.least_squares import refreshed
from tests.oracles.signal_games import SIGNALS

ROWS = 1e4 * np.eye(3)[:, :2] + 1.0
LARGE = pm.Game(ROWS, ROWS[:, None], pm.AllParameters(2))
"""Its Gram matrices are ill-conditioned."""

GAMES = {
    "bandit": pm.games.linear_bandit(),
    "pricing": pm.games.dynamic_pricing(),
    "noise of each action": pm.games.heteroscedastic_linear_bandit(),
    "large rows": LARGE,
}


def observed(game: Any, rounds: int, seed: int) -> tuple[Any, Any]:
    """Return actions (rounds, 2) of two replicates and observations (rounds, 2, m)."""
    rng = np.random.default_rng(seed)
    return rng.integers(game.k, size=(rounds, 2)), rng.random((rounds, 2, game.m))


def weighted(design: Any, rows: Any, residual: Any, keep: float) -> tuple[Any, Any]:
    """Return the Gram matrix (r, r) and the vector (r,) of rows (rounds, m, r), by definition."""
    weight = keep ** np.arange(len(rows))[::-1]
    gram = design.regularization * np.eye(design.rank)
    gram = gram + np.einsum("t,tmp,tmq->pq", weight, rows, rows)
    return gram, np.einsum("t,tm,tmp->p", weight, residual, rows)


@pytest.mark.parametrize("name", GAMES)
@settings(max_examples=10, deadline=None)
@given(half_life=st.floats(0.5, 1e4), rounds=st.integers(1, 60), seed=st.integers(0, 99))
def test_least_squares_is_that_of_all_weighted_observations(
    name: str, half_life: float, rounds: int, seed: int
) -> None:
    game, keep = GAMES[name], 0.5 ** (1 / half_life)
    policy = pm.IDS(half_life=half_life)
    state = policy.init(game, 2)
    actions, shown = observed(game, rounds, seed)
    for action, values in zip(actions, shown, strict=True):
        state = policy.update(state, action, values)
    design = state.design
    assert state.estimate.round.tolist() == [min(1 + rounds, Forgetting(half_life).memory)] * 2
    for i in range(2):
        played = actions[:, i]
        masked = np.where(np.arange(game.m) < design.counts[played][:, None], shown[:, i], 0.0)
        residual = masked * design.whitening[played][:, None] - design.expected[played]
        gram, vector = weighted(design, design.maps[played], residual, keep)
        size = np.abs(gram).max()
        np.testing.assert_allclose(state.estimate.gram[i], gram, atol=1e-10 * size)
        np.testing.assert_allclose(
            state.estimate.vector[i], vector, atol=1e-9 * np.abs(vector).max()
        )
        factor = state.estimate.triangle[i]  # what ill-conditioned estimates are computed from
        root = factor[:, : design.rank]
        np.testing.assert_allclose(root.T @ root, gram, atol=1e-9 * size)
        np.testing.assert_allclose(root.T @ factor[:, -1], vector, atol=1e-8 * np.abs(vector).max())
        solved = np.linalg.solve(gram, vector)
        if name != "large rows":
            np.testing.assert_allclose(state.estimate.coordinates[i], solved, rtol=1e-6, atol=1e-9)


def test_the_confidence_set_holds_that_of_the_squared_weights() -> None:
    """V~ <= V: the norm of V V~^-1 V is larger than that of V, and so is log det V than of V~."""
    game, half_life, rounds = GAMES["bandit"], 20.0, 200
    policy = pm.IDS(half_life=half_life)
    state, keep = policy.init(game, 1), 0.5 ** (1 / half_life)
    actions, shown = observed(game, rounds, 3)
    for action, values in zip(actions, shown, strict=True):
        state = policy.update(state, action[:1], values[:1])
    design, zero = state.design, np.zeros((rounds, game.m))
    squared, _ = weighted(design, design.maps[actions[:, 0]], zero, keep**2)
    gram = state.estimate.gram[0]
    tight = gram @ np.linalg.inv(squared) @ gram
    assert np.linalg.eigvalsh(tight - gram).min() >= -1e-9
    log_det = np.linalg.slogdet(squared / design.regularization)[1]
    assert state.estimate.log_det[0] >= log_det > 0.6 * state.estimate.log_det[0]
    beta = policy.confidence_set(state).beta[0]
    spread = 4 * np.log(Forgetting(half_life).memory) + log_det
    assert beta >= (design.noise_std * spread**0.5 + design.norm_bound) ** 2


def test_duels_and_contexts_forget_as_well() -> None:
    half_life, keep = 15.0, 0.5 ** (1 / 15.0)
    items = pm.games.dueling(np.random.default_rng(1).standard_normal((4, 3)))
    duels, survey = pm.DuelingIDS(half_life=half_life), pm.games.survey()
    state = duels.init(items, 2)
    actions, shown = observed(items, 50, 4)
    for action, values in zip(actions, shown, strict=True):
        state = duels.update(state, action, values)
    rows = np.array([items.rows(a) for a in actions[:, 0]]) @ state.design.basis
    gram, vector = weighted(state.design, rows, shown[:, 0], keep)
    np.testing.assert_allclose(state.estimate.gram[0], gram, rtol=1e-9)
    np.testing.assert_allclose(state.estimate.vector[0], vector, rtol=1e-8)
    for policy in (pm.ContextualIDS(half_life=half_life), pm.IDS(half_life=half_life)):
        known, rng, seen = policy.init(survey, 1), np.random.default_rng(5), []
        for _ in range(50):
            z = int(rng.integers(len(survey.games)))
            action, values = int(rng.choice(survey.positions(z))), rng.random(survey.m)
            known = policy.update(known, np.array([action]), values[None], np.array([z]))
            part, local = known.parts[z], int(survey.local_actions[z, action])
            m = part.counts[local]
            seen.append((part.maps[local][:m], values[:m] - part.expected[local][:m]))
        every = np.zeros((50, survey.m, known.design.rank)), np.zeros((50, survey.m))
        for t, (own, residual) in enumerate(seen):
            every[0][t, : len(own)], every[1][t, : len(own)] = own, residual
        gram, vector = weighted(known.design, *every, keep)
        np.testing.assert_allclose(known.estimate.gram[0], gram, atol=1e-9)
        np.testing.assert_allclose(known.estimate.vector[0], vector, atol=1e-9)


@pytest.mark.parametrize("name", ["apple_tasting", "dynamic_pricing", "survey", "sign duels"])
def test_signals_are_counted_with_their_weights_and_the_prior_is_kept(name: str) -> None:
    game, half_life, rounds = SIGNALS[name], 12.0, 80
    policy, rng = pm.Calibrated(half_life=half_life), np.random.default_rng(2)
    state, keep = policy.init(game, 1), 0.5 ** (1 / 12.0)
    model, actions, shown = state.known.model, [], []
    signals = model.signals
    counts = np.zeros(len(signals.base))
    for _ in range(rounds):
        z = int(rng.integers(len(model.games)))
        local = int(rng.integers(model.games[z].k))
        place = int(model.groups[z] + local)
        action = int(np.flatnonzero(model.positions[z] == place)[0])
        own = slice(*signals.first[place : place + 2])
        values = np.zeros(game.m)
        if own.start < own.stop and model.games[z].traits.finite:
            values[rng.integers(own.stop - own.start)] = 1.0
        elif own.start < own.stop:
            low = 0.0 if model.games[z].noise == "bernoulli" else -1.0
            values[:] = rng.choice([low, 1.0], size=game.m)
        context = {"context": np.array([z])} if game.traits.contexts else {}
        state = policy.update(state, np.array([action]), values[None], **context)
        counts *= keep
        counts[own] += signals.scale[own] * values[signals.source[own]] + signals.shift[own]
        actions.append(place)
        shown.append(values)
    np.testing.assert_allclose(state.known.counts[0], signals.prior + counts, rtol=1e-9)
    assert state.known.round.tolist() == [Forgetting(half_life).memory]
    estimate, design = state.known.least_squares(), model.design
    often = np.array([own.start < own.stop for own in map(slice, signals.first, signals.first[1:])])
    rows = design.maps[actions] * often[actions][:, None, None]
    residual = np.array(shown)[:, : design.maps.shape[1]] - design.expected[actions]
    gram, vector = weighted(design, rows, residual, keep)
    np.testing.assert_allclose(estimate.gram[0], gram, atol=1e-9)
    np.testing.assert_allclose(estimate.vector[0], vector, atol=1e-9)


def test_everything_that_follows_is_up_to_date_in_every_round() -> None:
    policy = pm.LinTS(half_life=7.0)
    state = policy.init(GAMES["bandit"], 2)
    actions, shown = observed(GAMES["bandit"], 40, 6)
    for action, values in zip(actions, shown, strict=True):
        state = policy.update(state, action, values)
        fresh = refreshed(state.estimate)
        np.testing.assert_array_equal(state.estimate.means, fresh.means)
        np.testing.assert_array_equal(state.estimate.log_det, fresh.log_det)


def test_how_many_rounds_count() -> None:
    assert Forgetting().memory == Forgetting(1e30).memory == FOREVER
    assert Forgetting(2000.0).memory == 2885
    assert Forgetting(1e-9).memory == 1
    assert Forgetting(1e-9).keep == 0.0
    assert not Forgetting().active
