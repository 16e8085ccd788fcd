"""Gaps and information from expected improvements, and the default rule for Gaussian feedback."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import partial_monitoring as pm
from partial_monitoring.estimation.linear.state import initial_state
from partial_monitoring.estimation.state import Prior
from partial_monitoring.numerics.compiled import rivals as compiled
from partial_monitoring.policies.bandit.improvement import expected_gain
from partial_monitoring.policies.calibrated.gaussian import gaussian_rule, prior_weight
from tests.oracles.confidence_sets import DUELS, GROUPS, KERNEL, LINEAR, confidence_of, game
from tests.oracles.improvement import slow_improvement

PAPER = pm.confidence.paper()
IMPROVING = pm.IDS(gap=pm.gaps.improvement, information=pm.information.improvement)


def near(found: Any, expected: Any, tolerance: float = 1e-7) -> None:
    size = max(float(np.abs(expected).max(initial=0.0)), 1e-12)
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=tolerance * size)


def slow(confidence: Any, chances: Any = None) -> tuple[Any, Any]:
    """Return gaps and information of a set of parameters, by loops."""
    data, design = confidence.data, confidence.data.design
    found = []
    for row in range(len(data.round)):
        starts = confidence.groups
        groups = [
            (list(range(starts[z], starts[z + 1])), 1.0 if chances is None else chances[row, z])
            for z in range(len(starts) - 1)
        ]
        offered = None if confidence.offered is None else confidence.offered[row]
        found.append(
            slow_improvement(
                data.means[row],
                design.observed_features,
                design.maps,
                data.inverse[row],
                design.noise_std,
                int(data.round[row]),
                groups,
                offered=offered,
                earned=np.column_stack([design.slopes, design.offsets]),
            )
        )
    return tuple(map(np.array, zip(*found, strict=True)))


# -- against loops over pairs ----------------------------------------------------------------------


@pytest.mark.parametrize("rounds", [0, 7])
@pytest.mark.parametrize("name", [*LINEAR, *GROUPS])
def test_improvements_of_parameters_are_what_loops_say(name: str, rounds: int) -> None:
    confidence = confidence_of(name, rounds)
    gaps, information = slow(confidence)
    near(pm.gaps.improvement(confidence.game, confidence), gaps)
    near(pm.information.improvement(confidence.game, confidence), information)


@pytest.mark.parametrize("rounds", [0, 7])
@pytest.mark.parametrize("name", [*KERNEL])
def test_improvements_of_functions_are_what_loops_say(name: str, rounds: int) -> None:
    confidence = confidence_of(name, rounds)
    own, lam = confidence.game, confidence.data.design.regularization
    features = own.reward.dense(own.d)
    scale = np.broadcast_to(confidence.data.design.whitening, (own.k,))[:, None, None]
    maps = own.observation.dense(own.d) * scale
    for row, covariance in enumerate(confidence.data.covariances):
        gaps, information = slow_improvement(
            confidence.means[row],
            # Points in the same place are the same action.
            features,
            maps,
            covariance.matrix / lam,
            confidence.noise_std,
            int(confidence.round[row]),
            [(np.flatnonzero(confidence.data.design.rivals[0]).tolist(), 1.0)],
            power=1.5,
        )
        chosen = confidence.data.design.rivals[0]
        near(confidence.improvement.gaps[row, chosen], gaps[chosen])
        near(confidence.improvement.information[row], information)


@st.composite
def posteriors(draw: st.DrawFn) -> tuple[pm.Game, Any, Any]:
    """Small games with ties, copies, blind actions, several rows and few directions; and data."""
    k, d, m = draw(st.integers(1, 6)), draw(st.integers(1, 4)), draw(st.integers(0, 3))
    numbers = draw(st.sampled_from([st.integers(-1, 1).map(float), st.floats(-2, 2, width=16)]))

    def array(*shape: int) -> Any:
        size = int(np.prod(shape))
        return np.array(draw(st.lists(numbers, min_size=size, max_size=size))).reshape(shape)

    features, maps = array(k, d), array(k, m, d)
    if draw(st.booleans()):  # only a line is observed
        maps = maps * (np.arange(d) == 0)
    parameters = draw(st.sampled_from([pm.AllParameters(d), pm.Ball(np.zeros(d), 1.0)]))
    own = pm.Game(features, maps, parameters, draw(st.sampled_from([0.1, 1.0])))
    actions = draw(st.lists(st.integers(0, k - 1), max_size=8))
    return own, actions, array(len(actions), m)


def learned(own: Any, actions: Any, seen: Any, prior: Prior) -> Any:
    state: Any = initial_state(own, 1, prior)
    for a, y in zip(actions, seen, strict=True):
        state = state.after(np.array([a]), np.asarray(y, dtype=float)[None])
    return state


@settings(max_examples=150, deadline=None)
@given(posteriors())
def test_improvements_on_random_and_degenerate_games(drawn: Any) -> None:
    own, actions, seen = drawn
    confidence = learned(own, actions, seen, Prior()).confidence(PAPER)
    gaps, information = slow(confidence)
    near(confidence.improvement.gaps, gaps, 1e-6)
    near(confidence.improvement.information, information, 1e-5)
    assert (confidence.improvement.gaps >= 0).all()
    assert (confidence.improvement.information >= 0).all()


# -- what must not matter --------------------------------------------------------------------------


def test_copies_of_a_rival_count_once() -> None:
    phi = np.random.default_rng(0).standard_normal((5, 3))
    once = pm.games.linear_bandit(phi)
    twice = pm.games.linear_bandit(np.concatenate([phi, phi[[3, 1, 1]], -0.0 + phi[[0]]]))
    rounds: Any = ([0, 2], [[0.3], [-0.2]])
    one, two = (learned(own, *rounds, Prior()).confidence(PAPER) for own in (once, twice))
    near(two.improvement.gaps[:, :5], one.improvement.gaps, 1e-12)
    near(two.improvement.information[:, :5], one.improvement.information, 1e-12)


def test_replicates_do_not_see_each_other() -> None:
    own = pm.games.linear_bandit(np.random.default_rng(1).standard_normal((20, 4)))
    rng, n = np.random.default_rng(2), 5
    state: Any = initial_state(own, n, Prior())
    alone: Any = initial_state(own, 1, Prior())
    for _ in range(30):
        action, seen = rng.integers(0, 20, n), rng.standard_normal((n, 1))
        state, alone = state.after(action, seen), alone.after(action[3:4], seen[3:4])
    both, one = state.confidence(PAPER).improvement, alone.confidence(PAPER).improvement
    np.testing.assert_array_equal(both.gaps[3], one.gaps[0])
    np.testing.assert_array_equal(both.information[3], one.information[0])


def test_a_linear_kernel_is_a_linear_game() -> None:
    """The information and each improvement are the same; only how improvements add up differs."""
    phi = np.random.default_rng(3).standard_normal((2, 3))
    linear = pm.Game(phi, phi[:, None], pm.AllParameters(3), 0.5)
    gram = phi @ phi.T
    shown, both = gram[:, None, :, None], gram[:, :, None]
    function = pm.KernelGame(gram, shown, both, noise_std=0.5)
    rounds: Any = ([0, 1, 1], [[0.4], [0.3], [-0.5]])
    one = learned(linear, *rounds, Prior(2.0)).confidence(PAPER).improvement
    state: Any = initial_state(function, 1, Prior(2.0), functions=True)
    for a, y in zip(*rounds, strict=True):
        state = state.after(np.array([a]), np.array([y]))
    two = state.confidence(PAPER).improvement
    near(two.gaps, one.gaps, 1e-9)  # a single rival
    near(two.information, one.information, 1e-9)


@pytest.mark.parametrize("name", [name for name in DUELS if name != "kernel duels"])
def test_duels_by_items_are_those_of_listed_pairs(name: str) -> None:
    confidence = confidence_of(name, 7)
    data, design = confidence.data, confidence.data.design
    (gaps, information), greedy, psi = confidence.improvement_of_duels()
    for row, g in enumerate(greedy):
        phi = design.observed_features
        expected = slow_improvement(
            data.means[row],
            phi,
            (phi - phi[g])[:, None],
            data.inverse[row],
            design.noise_std,
            int(data.round[row]),
            [(list(range(len(phi))), 1.0)],
        )
        near(gaps[row], expected[0])
        near(information[row], expected[1])
        near(psi[row], confidence.distances(row, int(g)), 1e-9)


def test_duels_of_functions_are_those_of_listed_pairs() -> None:
    confidence = confidence_of("kernel duels", 7)
    (gaps, information), greedy, _ = confidence.improvement_of_duels()
    lam, eye = confidence.data.design.regularization, np.eye(confidence.k)
    for row, g in enumerate(greedy):
        expected = slow_improvement(
            confidence.means[row],
            eye,
            (eye - eye[g])[:, None],
            confidence.data.covariances[row].matrix / lam,
            confidence.noise_std,
            int(confidence.round[row]),
            [(list(range(len(eye))), 1.0)],
            power=1.5,
        )
        near(gaps[row], expected[0])
        near(information[row], expected[1])


@pytest.mark.parametrize("name", ["duels, ball", "kernel duels"])
def test_available_duels_are_seen_like_listed_ones(name: str) -> None:
    own = game(name)
    rule: Any = gaussian_rule(own)
    by_items, listed = rule.init(own, 1), IMPROVING.init(own, 1)
    listed = initial_state(own, 1, rule.prior, functions=True)
    rng = np.random.default_rng(0)
    for a in rng.integers(0, own.k, 6):
        seen = rng.standard_normal((1, 1))
        by_items = rule.update(by_items, np.array([a]), seen)
        listed = listed.after(np.array([a]), seen)
    chosen = np.flatnonzero(rng.random(own.k) < 0.5)
    pairs = by_items.through_pairs(chosen, PAPER).improvement
    whole = listed.confidence(PAPER).restricted(chosen).improvement
    near(pairs.gaps, whole.gaps)
    near(pairs.information, whole.information)
    mask = np.zeros(own.k, dtype=bool)
    mask[chosen] = True
    assert mask[rule.decide(by_items, np.array([0.5]), mask).action].all()


# -- contexts --------------------------------------------------------------------------------------


def test_in_one_context_alone_it_is_the_game_of_the_context() -> None:
    own = pm.games.contextual_linear_bandit()
    state: Any = IMPROVING.init(own, 1)
    plain: Any = initial_state(own.at(1), 1, Prior())
    for a, y in [(0, 0.2), (2, -0.4), (1, 0.3)]:
        state = state.after(np.array([a]), np.array([[y]]), np.array([1]))
        plain = plain.after(np.array([a]), np.array([[y]]))
    (view,) = state.views(PAPER, None, np.array([1]))
    expected = plain.confidence(PAPER).improvement
    near(view.confidence.improvement.gaps, expected.gaps, 1e-9)
    near(view.confidence.improvement.information, expected.information, 1e-9)


def test_information_for_all_contexts_counts_with_their_chances() -> None:
    own = pm.games.contextual_linear_bandit()
    policy = pm.ContextualIDS(gap=pm.gaps.improvement, information=pm.information.improvement)
    state: Any = policy.init(own, 2)
    for z, a, y in [(0, 0, 0.2), (1, 2, -0.4), (2, 1, 0.3)]:
        state = policy.update(state, np.array([a, a]), np.array([[y], [-y]]), np.array([z, z]))
    chances = np.array([[0.5, 0.2, 0.3], [0.0, 0.9, 0.1]])
    whole = replace(state.everywhere(PAPER), chances=chances)
    gaps, information = slow(whole, chances)
    near(whole.improvement.gaps, gaps)
    near(whole.improvement.information, information)


def test_what_is_not_available_is_no_rival() -> None:
    own = pm.games.contextual_linear_bandit()
    rule: Any = gaussian_rule(own)
    state = rule.init(own, 1)
    mask, z = np.array([True, False, True]), np.array([0])
    seen = rule.decide(state, np.array([0.5]), mask, z)
    whole = rule.decide(state, np.array([0.5]), None, z)
    assert mask[seen.action[0]]
    assert (seen.gaps[0, mask] < whole.gaps[0, mask]).all()  # fewer rivals, less to lose


def test_exploring_for_another_context_pays() -> None:
    """Nobody would try a product on those who answer, were it not for the others."""
    own = pm.games.survey(answer_rate=0.5, voucher=True)
    conditional = pm.IDS(
        gap=pm.gaps.improvement,
        information=pm.information.improvement,
        regularization=prior_weight(own),
    )
    result = pm.simulate(
        own,
        {"joint": gaussian_rule(own), "alone": conditional},
        [0.2, 0.8, 1.0],
        horizon=400,
        seeds=10,
    )
    assert 2 * result.mean("joint")[-1] < result.mean("alone")[-1]


# -- the tail, the prior, the registry -------------------------------------------------------------


def test_the_tail_has_all_its_digits() -> None:
    z = np.concatenate([np.linspace(0, 38, 200), [1e-9, 4.999999, 5.0]])
    found = np.array([compiled.expected_gain(-own, 1.0) for own in z])
    np.testing.assert_allclose(found, expected_gain(-z, np.ones(len(z))), rtol=1e-11)
    assert (found > 0).all()
    assert compiled.expected_gain(3.0, 1.0) == pytest.approx(3.0 + compiled.tail(3.0))
    assert [compiled.expected_gain(x, 0.0) for x in (-1.0, 0.0, 2.0)] == [0.0, 0.0, 2.0]


def test_the_prior_is_as_wide_as_theta() -> None:
    phi = np.eye(4)
    assert prior_weight(pm.games.linear_bandit(phi, pm.Ball(np.zeros(4), 2.0))) == pytest.approx(1)
    assert prior_weight(pm.games.linear_bandit(phi, pm.AllParameters(4))) == pytest.approx(4)
    assert prior_weight(pm.games.kernelized_bandit()) is None
    tiny = pm.Game(phi, phi[:, None], pm.AllParameters(4), 1e-9)
    pm.Learner(tiny, pm.Calibrated(), seed=0).ask()  # not refused for its leverage


def test_the_parts_have_names() -> None:
    policy = pm.policies.make("ids", gap="improvement", information="improvement")
    assert policy == IMPROVING
    assert pm.policies.policy_to_dict(policy)["gap"] == "improvement"
