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
from partial_monitoring.numerics.compiled import forgetting
from tests.oracles.signal_games import SIGNALS

ROWS = 1e4 * np.eye(3)[:, :2] + 1.0
LARGE = pm.Game(ROWS, ROWS[:, None], pm.AllParameters(2))
"""Its Gram matrices are ill-conditioned."""

ARMS = pm.Game(np.eye(3), np.eye(3)[:, None], pm.AllParameters(3))
"""Each shows something of its own."""

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


def weights(actions: Any, half_life: float) -> Any:
    """Return the weights of observations of actions (count,), the oldest first, by definition."""
    count, same = len(actions), np.asarray(actions)
    keep, fade = 0.5 ** (1 / half_life), 0.5 ** (4 / half_life)
    later = np.array([(same[i + 1 :] == same[i]).sum() for i in range(count)])
    scale = (1 + keep) / (1 + keep ** min(count, Forgetting(half_life).memory - 1))
    return scale * keep ** np.arange(count)[::-1] * fade**later


def weighted(design: Any, rows: Any, residual: Any, half_life: float) -> tuple[Any, Any]:
    """Return the Gram matrix (r, r) and the vector (r,) of rows (rounds, m, r), one by one.

    What the observations G know of the rows M of a round fades: all of G but for what is known of
    directions that are orthogonal to them, G - G M' (M G M')^+ M G.
    """
    keep, fade = 0.5 ** (1 / half_life), 0.5 ** (4 / half_life)
    gram, vector = np.zeros((design.rank, design.rank)), np.zeros(design.rank)
    for t in range(len(rows)):
        gram, vector = keep * gram, keep * vector
        seen = rows[t] @ gram
        spread = np.linalg.pinv(seen @ rows[t].T, rcond=1e-9, hermitian=True)
        vector = vector - (1 - fade) * seen.T @ spread @ (rows[t] @ vector)
        gram = gram - (1 - fade) * seen.T @ spread @ seen
        gram = gram + rows[t].T @ rows[t]
        vector = vector + rows[t].T @ residual[t]
    scale = (1 + keep) / (1 + keep ** min(len(rows), Forgetting(half_life).memory - 1))
    return design.regularization * np.eye(design.rank) + scale * gram, scale * vector


def by_definition(design: Any, rows: Any, residual: Any, weight: Any) -> tuple[Any, Any]:
    """Return the Gram matrix (r, r) and the vector (r,) of rows (rounds, m, r) with weights."""
    gram = design.regularization * np.eye(design.rank)
    gram = gram + np.einsum("t,tmp,tmq->pq", weight, rows, rows)
    return gram, np.einsum("t,tm,tmp->p", weight, residual, rows)


@pytest.mark.parametrize("name", GAMES)
@settings(max_examples=10, deadline=None)
@given(half_life=st.floats(0.5, 1e4), rounds=st.integers(1, 60), seed=st.integers(0, 99))
def test_least_squares_is_that_of_all_weighted_observations(
    name: str, half_life: float, rounds: int, seed: int
) -> None:
    game = GAMES[name]
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
        gram, vector = weighted(design, design.maps[played], residual, half_life)
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


@settings(max_examples=20, deadline=None)
@given(half_life=st.floats(0.5, 1e4), rounds=st.integers(1, 60), seed=st.integers(0, 99))
def test_arms_of_their_own_have_weights_of_their_own(
    half_life: float, rounds: int, seed: int
) -> None:
    policy = pm.LinTS(half_life=half_life)
    state = policy.init(ARMS, 2)
    actions, shown = observed(ARMS, rounds, seed)
    for action, values in zip(actions, shown, strict=True):
        state = policy.update(state, action, values)
    for i in range(2):
        own = state.design.maps[actions[:, i]], shown[:, i] - state.design.expected[actions[:, i]]
        gram, vector = by_definition(state.design, *own, weights(actions[:, i], half_life))
        np.testing.assert_allclose(state.estimate.gram[i], gram, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(state.estimate.vector[i], vector, rtol=1e-7, atol=1e-9)


def test_weights_add_up_to_the_effective_number_of_observations() -> None:
    for count in (1, 7, 300):  # of actions that are not played again
        own = weights(np.arange(count), 100.0)
        np.testing.assert_allclose(own.sum(), own.sum() ** 2 / (own**2).sum())
    assert weights([0], 100.0) == 1.0
    one = weights(np.zeros(2000), 200.0)  # of one that always is, in the long run
    np.testing.assert_allclose(one.sum(), one.sum() ** 2 / (one**2).sum(), rtol=0.1)


def test_what_is_observed_all_the_time_is_known_from_a_fifth_of_the_half_life() -> None:
    one = weights(np.zeros(4000), 500.0)
    assert one[-101] / one[-1] == pytest.approx(0.5)


def test_the_norm_is_that_of_the_squared_weights_if_play_does_not_depend_on_age() -> None:
    """V V~^-1 V is V, up to how often each action happened to be played."""
    rounds, half_life = 2000, 200.0
    policy = pm.IDS(half_life=half_life)
    state = policy.init(ARMS, 1)
    actions, shown = observed(ARMS, rounds, 3)
    for action, values in zip(actions, shown, strict=True):
        state = policy.update(state, action[:1], values[:1])
    design, gram = state.design, state.estimate.gram[0]
    rows, own = design.maps[actions[:, 0]], weights(actions[:, 0], half_life)
    squared, _ = by_definition(design, rows, np.zeros((rounds, 1)), own**2)
    root = np.linalg.cholesky(np.linalg.inv(gram))
    ratios = np.linalg.eigvalsh(root.T @ squared @ root)  # of V~ to V
    assert 0.85 < ratios.min() <= ratios.max() < 1.15


def test_new_directions_and_rows_that_say_nothing_leave_the_rest_alone() -> None:
    """What is known along one axis does not fade when the other one, or nothing, is observed."""
    gram, vector = np.diag([5.0, 1.0])[None], np.array([[3.0, 0.0]])
    for row in ([0.0, 1.0], [0.0, 0.0]):
        rows = np.array(row).reshape(1, 1, 2)
        found = forgetting.forget_each(gram, vector, np.ones(1), rows, 0.5, 1.0)
        np.testing.assert_array_equal(found[0], gram)
        np.testing.assert_array_equal(found[1], vector)
    rows = np.array([[[2.0, 0.0]]])
    found = forgetting.forget_each(gram, vector, np.ones(1), rows, 0.5, 1.0)
    np.testing.assert_allclose(found[0], np.diag([3.0, 1.0])[None])  # the prior, 1, is kept
    np.testing.assert_allclose(found[1], [[1.5, 0.0]])


@settings(max_examples=200, deadline=None)
@given(
    r=st.integers(1, 4),
    m=st.integers(1, 3),
    count=st.integers(0, 6),
    fade=st.sampled_from([0.0, 0.1, 0.9, 1.0]),
    size=st.sampled_from([1e-3, 1.0, 1e4]),
    seed=st.integers(0, 999),
)
def test_what_fades_says_the_same_as_before_and_never_less_than_nothing(
    r: int, m: int, count: int, fade: float, size: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    seen, values = size * rng.standard_normal((count, r)), rng.standard_normal(count)
    own, vector, lam = seen.T @ seen, (seen.T @ values)[None], 0.7
    gram = (lam * np.eye(r) + own)[None]
    rows = rng.standard_normal((1, m, r)) * rng.integers(0, 2, (1, m, 1))
    rows[0, -1] = -rows[0, 0]  # twice the same if there are several
    own_rows = rows, fade, lam
    after, moved, directions = forgetting.forget_each(gram, vector, np.ones(1), *own_rows)
    left, scale = after[0] - lam * np.eye(r), np.abs(gram).max()
    np.testing.assert_array_equal(after[0], after[0].T)
    assert np.linalg.eigvalsh(left).min() > -1e-7 * scale
    assert np.linalg.eigvalsh(own - left).min() > -1e-7 * scale
    solved = np.linalg.lstsq(seen, values, rcond=None)[0]
    np.testing.assert_allclose(left @ solved, moved[0], atol=1e-6 * max(scale, 1.0))
    every = np.vstack([np.column_stack([seen, values]), lam**0.5 * np.eye(r, r + 1)])
    factor = np.linalg.qr(every, mode="r")[None, :r]
    faded = forgetting.fade_triangles(factor, directions, fade, lam)[0]
    np.testing.assert_allclose(faded[:, :r].T @ faded[:, :r], after[0], atol=1e-7 * scale)
    np.testing.assert_allclose(faded[:, :r].T @ faded[:, r], moved[0], atol=1e-6 * max(scale, 1.0))
    np.testing.assert_allclose(np.tril(faded[:, :r], -1), 0.0, atol=1e-12 * max(size, 1.0))


def test_what_was_not_observed_for_long_is_not_known() -> None:
    game = pm.Game(np.eye(2), np.eye(2)[:, None], pm.AllParameters(2))
    policy = pm.IDS(half_life=20.0)
    state, one, two = policy.init(game, 1), np.array([0]), np.array([1])
    for t in range(300):
        state = policy.update(state, one if t < 100 else two, np.zeros((1, 1)))
    first, second = state.estimate.variances[0]
    assert first > 0.9 > 0.1 > second


def test_duels_and_contexts_forget_as_well() -> None:
    half_life = 15.0
    items = pm.games.dueling(np.random.default_rng(1).standard_normal((4, 3)))
    duels, survey = pm.DuelingIDS(half_life=half_life), pm.games.survey()
    state = duels.init(items, 2)
    actions, shown = observed(items, 50, 4)
    for action, values in zip(actions, shown, strict=True):
        state = duels.update(state, action, values)
    rows = np.array([items.rows(a) for a in actions[:, 0]]) @ state.design.basis
    gram, vector = weighted(state.design, rows, shown[:, 0], half_life)
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
        gram, vector = weighted(known.design, *every, half_life)
        np.testing.assert_allclose(known.estimate.gram[0], gram, atol=1e-9)
        np.testing.assert_allclose(known.estimate.vector[0], vector, atol=1e-9)


@pytest.mark.parametrize("name", ["apple_tasting", "dynamic_pricing", "survey", "sign duels"])
def test_signals_are_counted_with_their_weights_and_the_prior_is_kept(name: str) -> None:
    game, half_life, rounds = SIGNALS[name], 12.0, 80
    policy, rng = pm.Calibrated(half_life=half_life), np.random.default_rng(2)
    state = policy.init(game, 1)
    model, actions, shown = state.known.model, [], []
    signals = model.signals
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
        actions.append(place)
        shown.append(values)
    counts = np.zeros(len(signals.base))
    weight = weights(actions, half_life)
    for place, values, own_weight in zip(actions, shown, weight, strict=True):
        own = slice(*signals.first[place : place + 2])
        seen = signals.scale[own] * values[signals.source[own]] + signals.shift[own]
        counts[own] += own_weight * seen
    np.testing.assert_allclose(state.known.counts[0], signals.prior + counts, rtol=1e-9)
    assert state.known.round.tolist() == [Forgetting(half_life).memory] == [49]
    estimate, design = state.known.least_squares(), model.design
    often = np.array([own.start < own.stop for own in map(slice, signals.first, signals.first[1:])])
    rows = design.maps[actions] * often[actions][:, None, None]
    residual = np.array(shown)[:, : design.maps.shape[1]] - design.expected[actions]
    gram, vector = by_definition(design, rows, residual, weight)
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
    assert Forgetting(2000.0).memory == 8001
    assert Forgetting(1e-9).memory == 2
    assert Forgetting(1e-9).keep == Forgetting(1e-9).fade == 0.0
    assert Forgetting().fade == Forgetting(1e30).fade == 1.0
    assert Forgetting(2000.0).fade ** 500 == pytest.approx(0.5)
    assert not Forgetting().active
