"""What every confidence set answers is what brute force over its support function says."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import partial_monitoring as pm
from partial_monitoring.estimation.state import Prior, initial_state
from tests.oracles.confidence_sets import (
    ALONE,
    DUELS,
    GROUPS,
    KERNEL,
    LINEAR,
    NAMES,
    PAPER,
    SEEDS,
    SETS,
    brute_exact,
    brute_greedy,
    brute_relaxed,
    confidence_of,
    features,
    game,
    groups_of,
    state_of,
    supports,
)
from tests.oracles.every_game import actions_of, environment_of

every_set = pytest.mark.parametrize("name", NAMES)
alone = pytest.mark.parametrize("name", ALONE)
in_groups = pytest.mark.parametrize("name", GROUPS)
rounds = pytest.mark.parametrize("rounds", [0, 7])


def near(found: Any, expected: Any, tolerance: float = 1e-6) -> None:
    size = 1.0 + float(np.abs(expected).max(initial=0.0))
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=tolerance * size)


# -- gaps ------------------------------------------------------------------------------------------


@rounds
@every_set
def test_exact_gaps_are_the_largest_support_of_a_difference(name: str, rounds: int) -> None:
    confidence = confidence_of(name, rounds)
    found = confidence.exact_gaps()
    near(found, brute_exact(confidence))
    assert (found >= 0).all()


@rounds
@every_set
def test_relaxed_gaps_are_two_supports_and_above_the_exact_ones(name: str, rounds: int) -> None:
    confidence = confidence_of(name, rounds)
    found = confidence.relaxed_gaps()
    near(found, brute_relaxed(confidence))
    assert (found >= confidence.exact_gaps() - 1e-9 * (1 + found.max())).all()


@rounds
@every_set
def test_greedy_gaps_are_those_at_the_estimate_plus_the_greedy_one(name: str, rounds: int) -> None:
    confidence = confidence_of(name, rounds)
    near(confidence.greedy_gaps(), brute_greedy(confidence))


@rounds
@in_groups
def test_gaps_of_all_groups_at_once_are_those_of_each_alone(name: str, rounds: int) -> None:
    confidence = confidence_of(name, rounds)
    assert confidence.groups[-1] == confidence.means.shape[1]
    for part, own in groups_of(confidence):
        for ask in ("exact_gaps", "relaxed_gaps", "greedy_gaps"):
            near(getattr(confidence, ask)()[:, part], getattr(own, ask)(), 1e-9)
        for known in ("means", "lengths"):
            near(getattr(confidence, known)[:, part], getattr(own, known), 1e-12)
        m = own.signals.shape[-1]
        near(confidence.signals[:, part, :m, :m], own.signals, 1e-12)
        assert not confidence.signals[:, part, m:].any()
        np.testing.assert_array_equal(confidence.always_best[part], own.always_best)
        np.testing.assert_array_equal(confidence.gap_ceiling[part], own.gap_ceiling)


@rounds
@pytest.mark.parametrize("name", [*DUELS, *KERNEL, *SETS])
def test_duels_are_greedy_gaps_and_distances_from_the_greedy_action(name: str, rounds: int) -> None:
    confidence = confidence_of(name, rounds)
    gaps, greedy, squared = confidence.duels()
    near(gaps, confidence.greedy_gaps(), 1e-9)
    best = confidence.always_best
    for row, g in enumerate(greedy):
        assert best[g] if best.any() else confidence.means[row, g] == confidence.means[row].max()
        near(squared[row], confidence.distances(row, int(g)), 1e-9)


@rounds
@alone
def test_how_far_actions_may_be_ahead_is_their_support_against_the_greedy_one(
    name: str, rounds: int
) -> None:
    confidence = confidence_of(name, rounds)
    pairs = supports(confidence, confidence.game.features)
    for row, means in enumerate(confidence.means):
        far, rivals, decide = confidence.ahead(row)
        greedy = int(means.argmax())
        near(far, pairs[row, greedy])
        assert rivals[greedy]
        plausible = decide()
        assert plausible.any()
        assert not (plausible & ~rivals).any()


# -- Theta alone -----------------------------------------------------------------------------------


@cache
def gaps_in_theta(name: str) -> list[tuple[Any, Any]]:
    """Return each group with gaps at parameters of Theta, if unbounded within B of the mean."""
    found = []
    for _, own in groups_of(confidence_of(name)):
        rewards = own.game.draw_truths(np.arange(400)) @ own.game.features.T
        found.append((own, rewards.max(axis=1, keepdims=True) - rewards))
    return found


@every_set
def test_no_gap_in_theta_exceeds_the_ceiling(name: str) -> None:
    for own, gaps in gaps_in_theta(name):
        assert (gaps <= own.gap_ceiling + 1e-9).all()


@every_set
def test_always_best_is_what_no_parameter_in_theta_puts_behind(name: str) -> None:
    for own, gaps in gaps_in_theta(name):
        np.testing.assert_array_equal(own.always_best, (gaps <= 1e-9).all(axis=0))


def test_an_action_is_always_best_whatever_the_prior_mean() -> None:
    """On the boundary of Theta another action may tie with it, and come first."""
    own = pm.Game(np.array([[0.0], [1.0], [0.5]]), np.ones((3, 1, 1)), pm.Box([0], [1]))
    for mean in ([0.0], [0.5], [1.0]):
        state = initial_state(own, 1, Prior(mean=mean))
        assert state.confidence(PAPER).always_best.tolist() == [False, True, False]


# -- the set itself --------------------------------------------------------------------------------


@rounds
@every_set
def test_supports_are_attained_in_theta(name: str, rounds: int) -> None:
    confidence = confidence_of(name, rounds)
    directions = features(5, confidence.game.d, 3)
    values, points = confidence.support(directions), confidence.maximizer(directions)
    near((points * directions).sum(axis=2), values)
    assert (values >= confidence.center @ directions.T - 1e-9).all()
    for point in points.reshape(-1, confidence.game.d):
        nearest = confidence.parameters.project(point)
        assert np.abs(nearest - point).max() <= 1e-6 * (1 + np.abs(point).max())


@rounds
@every_set
def test_uncut_is_the_whole_ellipsoid(name: str, rounds: int) -> None:
    """The set lies in it, it is symmetric, and it is its own ellipsoid."""
    confidence = confidence_of(name, rounds)
    whole = confidence.uncut
    assert whole.uncut is whole
    np.testing.assert_array_equal(whole.beta, confidence.beta)
    directions = features(5, confidence.game.d, 4)
    up, down = whole.support(directions), whole.support(-directions)
    near((up - down) / 2, whole.center @ directions.T, 1e-9)
    moved = (confidence.center - whole.center) @ directions.T  # the set is around theta_hat
    assert (confidence.support(directions) <= up + moved + 1e-7 * (1 + np.abs(up))).all()


@rounds
@alone
def test_widths_distances_and_lengths_are_those_of_the_ellipsoid(name: str, rounds: int) -> None:
    confidence = confidence_of(name, rounds)
    whole, phi = confidence.uncut, confidence.game.features
    pairs, means = supports(whole, phi), whole.center @ phi.T
    reach = np.sqrt(confidence.beta)
    near(reach[:, None] * confidence.lengths, whole.support(phi) - means)
    near(confidence.means, confidence.center @ phi.T, 1e-9)
    for row in range(len(SEEDS)):
        for b in range(min(len(phi), 4)):
            width = pairs[row, b] - (means[row] - means[row, b])
            near(confidence.widths(row, b), width)
            near(confidence.distances(row, b) * confidence.beta[row], width**2)
            assert confidence.distances(row, b)[b] == 0.0


@rounds
@alone
def test_signals_are_the_covariances_of_observations(name: str, rounds: int) -> None:
    confidence = confidence_of(name, rounds)
    if name in DUELS:
        return  # items show nothing by themselves
    own = confidence.game
    expected = confidence.observation_covariance(own.observation_maps)
    if np.ndim(own.noise_std):
        expected = expected / np.square(own.noise_std)[:, None, None]
    near(confidence.signals, expected, 1e-9)


@rounds
@alone
def test_expected_observations_are_rows_times_the_estimate(name: str, rounds: int) -> None:
    confidence, own = confidence_of(name, rounds), game(name)
    for action in (0, own.k - 1):
        rows = own.rows(action)
        near(confidence.expected(own, action), confidence.center @ rows.T, 1e-12)


@rounds
@alone
def test_draws_are_around_the_ellipsoid_with_its_lengths(name: str, rounds: int) -> None:
    """A draw is linear in its normal numbers z: the squares of its parts sum to the lengths."""
    confidence, n = confidence_of(name, rounds), len(SEEDS)
    count = state_of(name, rounds).normals
    middle = confidence.uncut.means
    near(confidence.sample(np.zeros((n, count)), 1.0), middle, 1e-12)
    parts = [confidence.sample(np.tile(e, (n, 1)), 2.0) - middle for e in np.eye(count)]
    near(np.sum(np.square(parts), axis=0), 4.0 * confidence.lengths**2)


# -- some of the actions ---------------------------------------------------------------------------

RESTRICTED = [name for name in (*LINEAR, *KERNEL) if game(name).k > 2]


@pytest.mark.parametrize("name", RESTRICTED)
def test_restricted_is_the_game_with_only_those_actions(name: str) -> None:
    """The two have learned the same from the same observations of these actions."""
    own = game(name)
    kept = np.arange(own.k)[::2]
    less = own.restricted(kept)
    environment = environment_of(own, SEEDS)
    whole, part = (
        initial_state(each, len(SEEDS), Prior(), functions=name in KERNEL) for each in (own, less)
    )
    for t in range(6):
        local = actions_of(less, SEEDS, t)
        shown = environment.observe(kept[local], t)
        whole = whole.after(kept[local], shown)
        part = part.after(local, shown[:, : less.m])
    found, expected = whole.confidence(PAPER).restricted(kept), part.confidence(PAPER)
    for known in ("beta", "log_det", "means", "lengths", "outside"):
        near(getattr(found, known), getattr(expected, known), 1e-8)
    near(found.signals[..., : less.m, : less.m], expected.signals, 1e-8)
    for ask in ("exact_gaps", "relaxed_gaps", "greedy_gaps"):
        near(getattr(found, ask)(), getattr(expected, ask)())
    np.testing.assert_array_equal(found.always_best, expected.always_best)
    near(found.gap_ceiling, expected.gap_ceiling, 1e-9)
    np.testing.assert_array_equal(found.round, expected.round)
    assert found.game.actions == less.actions


# -- gap estimates of one's own --------------------------------------------------------------------


class Counting:
    """pm.gaps.exact behind a function of one's own, which may change what it is handed."""

    def __init__(self, scale: float | None = None) -> None:
        self.scale, self.handed = scale, []

    def __call__(self, own: Any, confidence: Any) -> Any:
        gaps = pm.gaps.exact(own, confidence)
        self.handed.append(gaps)
        return gaps if self.scale is None else gaps * self.scale


def many(k: int = 320) -> pm.Game:
    phi = features(k, 3)
    return pm.Game(phi, phi[:, None], pm.AllParameters(3), 0.5)


def decided(own: Any, gap: Any, t: int = 6) -> tuple[list[Any], Any]:
    """Return the decisions of some rounds, and E_t after them."""
    policy, environment = pm.IDS(gap=gap), environment_of(own, SEEDS)
    state, choices = policy.init(own, len(SEEDS)), []
    for round_ in range(t):
        context = environment.context(round_)
        given = {} if context is None else {"context": context}
        uniforms = np.array([0.3, 0.8])
        choices.append(policy.decide(state, uniforms, **given))
        shown = environment.observe(choices[-1].action, round_)
        state = policy.update(state, choices[-1].action, shown, **given)
    return choices, state


@pytest.mark.parametrize("name", ["all, 140 actions", "ball", "simplex", "kernel", "many"])
def test_a_wrapper_around_the_exact_gaps_decides_the_same(name: str) -> None:
    own = many() if name == "many" else game(name)
    for plain, wrapped in zip(
        decided(own, pm.gaps.exact)[0], decided(own, Counting())[0], strict=True
    ):
        for part in ("action", "distribution", "gaps", "ratio"):
            np.testing.assert_array_equal(getattr(plain, part), getattr(wrapped, part))


def test_a_wrapper_keeps_the_fast_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """With many actions on R^d only some gaps are made exact; nobody compares all pairs."""
    from partial_monitoring.estimation.linear.ellipsoid import Ellipsoid

    def compared(self: Any) -> Any:
        raise AssertionError("all pairs of actions were compared")

    monkeypatch.setattr(Ellipsoid, "exact_gaps", compared)
    gap = Counting()
    choices, _ = decided(many(), gap, 3)
    assert len(gap.handed) == len(choices)
    for handed, choice in zip(gap.handed, choices, strict=True):
        np.testing.assert_array_equal(handed, choice.gaps)


def test_whoever_changes_the_gaps_is_handed_the_exact_ones() -> None:
    own, gap = many(), Counting(0.5)
    policy = pm.IDS(gap=gap)
    choices, state = decided(own, gap)
    choice = policy.decide(state, np.array([0.3, 0.8]))
    exact = policy.confidence_set(state).exact_gaps()
    np.testing.assert_array_equal(gap.handed[-1], exact)
    np.testing.assert_array_equal(choice.gaps, 0.5 * exact)
    assert choices
