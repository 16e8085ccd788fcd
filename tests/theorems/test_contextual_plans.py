"""Contextual IDS beyond its kernel: all contexts at once, Frank-Wolfe, gaps of whole plans."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput
from partial_monitoring.policies.ids.context_kernel import joint_ratio
from partial_monitoring.policies.policy import Choices
from tests.oracles.contextual_games import DOMINATED, SETS, random_game

Array = NDArray[np.float64]


@pytest.mark.parametrize("kind", SETS)
@pytest.mark.parametrize("gap", [pm.gaps.exact, pm.gaps.relaxed, pm.gaps.mean])
@pytest.mark.parametrize("information", [pm.information.log_det, pm.information.directed_relaxed])
def test_all_contexts_at_once_are_each_by_itself(kind: str, gap: Any, information: Any) -> None:
    game = random_game(1, kind)
    policy = pm.ContextualIDS(gap=gap, information=information)
    state: Any = policy.init(game, 2)
    rng = np.random.default_rng(0)
    for _ in range(4):
        known = policy._everywhere(state)
        for z in range(3):
            confidence = policy.confidence_set(state, np.full(2, z))
            own, places = game.at(z), game.positions(z)
            dominant = state.parts[z].always_best
            lost = np.where(dominant, 0.0, gap(own, confidence))
            np.testing.assert_allclose(known.gaps[:, z, places], lost, atol=1e-7)
            told = information(own, confidence)
            np.testing.assert_allclose(known.information[:, z, places], told, atol=1e-7)
            np.testing.assert_allclose(known.beta, confidence.beta)
            np.testing.assert_allclose(known.center, confidence.center, atol=1e-9)
        z = int(rng.integers(3))
        action = rng.choice(game.positions(z), 2)
        state = policy.update(state, action, rng.normal(size=(2, game.m)), np.full(2, z))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (lambda size: -np.ones(size), "must not be negative; got -1"),
        (lambda size: np.full(size, np.nan), "must be finite; got nan"),
        (lambda size: np.full(size, np.inf), "must be finite; got inf"),
        (lambda size: 1.0, "returns must have shape (1, 2)"),
        (lambda size: np.ones((1, 1)), "returns must have shape (1, 2)"),
    ],
)
@pytest.mark.parametrize("part", ["gap", "information"])
def test_functions_of_your_own_are_checked(values: Any, message: str, part: str) -> None:
    policy: Any = pm.ContextualIDS(**{part: lambda game, own: values(own.means.shape)})  # type: ignore[arg-type]
    game = pm.games.survey()
    with pytest.raises(InvalidInput) as caught:
        policy.decide(policy.init(game, 1), np.array([0.5]), context=np.array([0]))
    assert message in str(caught.value)


def test_loud_contexts_are_refreshed_in_every_round() -> None:
    """As in the game without contexts: listed, or only known when it comes."""
    rng = np.random.default_rng(0)
    ball = pm.Ball(np.zeros(3), 1.0)
    maps = (np.ones((4, 3)) + 0.1 * rng.standard_normal((4, 3)))[:, None] * 1e4
    features = rng.standard_normal((4, 3))
    loud, quiet = pm.Game(features, maps, ball), pm.Game(features, maps / 1e4, ball)
    policy, plain = pm.IDS(gap=pm.gaps.mean), pm.IDS(gap=pm.gaps.mean)
    listed: Any = policy.init(pm.ContextualGame([quiet, loud]), 1)
    unlisted: Any = policy.init(pm.ContextualGame([quiet]), 1)
    alone: Any = plain.init(loud, 1)
    assert listed.estimate.design.leverage == alone.estimate.design.leverage > 1e6
    for _ in range(150):
        action = rng.integers(4, size=1)
        shown = rng.normal(size=(1, 1))
        listed = policy.update(listed, action, shown, np.array([1]))
        unlisted = policy.update(unlisted, action, shown, loud)
        alone = plain.update(alone, action, shown)
    assert unlisted.estimate.design.leverage == alone.estimate.design.leverage
    one = policy.decide(listed, np.array([0.5]), context=np.array([1]))
    two = policy.decide(unlisted, np.array([0.5]), context=loud)
    three = plain.decide(alone, np.array([0.5]))
    for own in (one, two):
        np.testing.assert_allclose(own.estimate, three.estimate, atol=1e-6)
        np.testing.assert_allclose(own.information, three.information, rtol=1e-6)


class Stubborn:
    """A policy that plays the last action, whether or not the context offers it."""

    def init(self, game: Any, replicates: int) -> Array:
        self.k = game.k
        return np.zeros(replicates)

    def decide(
        self, state: Array, uniforms: Array, available: Any = None, context: Any = None
    ) -> Choices:
        n = len(state)
        mu = np.zeros((n, self.k))
        mu[:, -1] = 1.0
        table = np.zeros((n, self.k))
        return Choices(
            np.full(n, self.k - 1), mu, table, table, state, state, np.zeros((n, 3))
        )  # fmt: skip

    def update(self, state: Array, action: Any, observation: Any, context: Any = None) -> Array:
        return state


def test_actions_that_a_context_lacks_are_refused() -> None:
    game = pm.games.survey(voucher=True)  # no voucher for silent clients
    message = "action must be one that the context offers"
    stubborn: Any = Stubborn()
    with pytest.raises(InvalidInput, match=f"{message}; got 'voucher' in context 'silent'"):
        pm.simulate(game, {"it": stubborn}, [0.2, 0.8, 1.0], horizon=20, seeds=2)
    with pytest.raises(InvalidInput, match=message):
        pm.Learner(game, stubborn).ask(context="silent")
    for policy in (pm.IDS(), pm.ContextualIDS(), pm.Greedy()):
        state = policy.init(game, 1)
        for action in (2, 3, -1):
            with pytest.raises(InvalidInput, match=message):
                policy.update(state, np.array([action]), np.zeros((1, 1)), np.array([1]))
        fresh = pm.Game([[1.0, 0, 0]], [[]], game.parameters, 0.5)
        with pytest.raises(InvalidInput, match=f"{message}; got 1"):
            policy.update(state, np.array([1]), np.zeros((1, 0)), fresh)


def test_truths_that_contexts_cannot_show_are_refused() -> None:
    box = pm.Box([0, 0], [2, 2])
    one = pm.Game(np.eye(2), np.eye(2)[:, None], box, 0.5, noise="bernoulli")
    game = pm.ContextualGame([one, pm.Game(np.eye(2), [[], []], box, 0.5, noise="bernoulli")])
    truths = np.array([[0.5, 0.5], [0.5, 1.5]])
    with pytest.raises(InvalidInput, match="bernoulli observations need means between 0 and 1"):
        pm.simulate(game, "ids", truths, horizon=2, seeds=2)
    with pytest.raises(InvalidInput, match="theta"):
        pm.simulate(game, "ids", np.array([[0.5, 0.5], [0.5, 3]]), horizon=2, seeds=2)
    with pytest.raises(InvalidInput, match="noise"):
        pm.simulate(game, "ids", truths[:1], horizon=2, seeds=[0], noise="loud")
    pm.simulate(game, "ids", truths, horizon=2, seeds=2, noise="gaussian")


# -- Frank-Wolfe -------------------------------------------------------------------------------


@pytest.mark.parametrize("step", ["line", "classic"])
def test_the_algorithm_of_the_paper_can_be_run(step: str) -> None:
    """In round t information is smoothed by 1/t, and there are at most t^2 steps, or a cap."""
    game = random_game(3, "everything")
    policy = pm.ContextualIDS(solver="frank_wolfe", step=step, smoothed=True, steps=30)
    state: Any = policy.init(game, 1)
    rng = np.random.default_rng(0)
    for t in range(1, 8):
        known = policy._everywhere(state)
        chi = game.context_distribution
        kernel = pm.sampling.frank_wolfe(
            known.gaps[0],
            known.information[0],
            chi,
            available=game.available,
            steps=min(30, t * t),
            step=step,
            smoothing=1 / t,
        )
        for z in range(3):
            choice = policy.decide(state, np.array([0.4]), context=np.array([z]))
            np.testing.assert_allclose(choice.distribution[0], kernel[z], atol=1e-12)
            own = joint_ratio(kernel, known.gaps[0], known.information[0], chi)
            assert choice.ratio[0] == pytest.approx(own)
        z = int(rng.integers(3))
        action = np.array([rng.choice(game.positions(z))])
        state = policy.update(state, action, rng.normal(size=(1, game.m)), np.array([z]))
    result = pm.simulate(game, policy, "random", horizon=10, seeds=2)
    assert np.isfinite(result.regret["contextual_ids"]).all()


def test_options_of_frank_wolfe_are_checked() -> None:
    with pytest.raises(InvalidInput, match="step must be one of"):
        pm.ContextualIDS(solver="frank_wolfe", step="giant")
    with pytest.raises(InvalidInput, match="smoothed must be true or false"):
        pm.ContextualIDS(solver="frank_wolfe", smoothed=0.1)  # type: ignore[arg-type]


# -- gaps of whole plans -----------------------------------------------------------------------


@pytest.mark.parametrize("kind", SETS)
def test_integrated_gaps_are_at_most_the_average_of_the_gaps(kind: str) -> None:
    for seed in range(3):
        game = random_game(seed, kind)
        policy = pm.ContextualIDS(integrated=True)
        state: Any = policy.init(game, 1)
        rng = np.random.default_rng(seed)
        for _ in range(6):
            gaps = policy._everywhere(state).gaps
            tight = state.plans.gaps(state.estimate, policy.gap, policy.confidence)
            loose = state.plans.averaged(gaps)
            assert (tight <= loose + 1e-7 * (1 + loose)).all()
            # One plan after the other, from the definition.
            confidence = policy.confidence_set(state, np.array([0]))
            features = state.plans.design.game.features
            a = int(rng.integers(len(features)))
            assert tight[0, a] == pytest.approx(
                max(confidence.support(features - features[a])[0].max(), 0.0), abs=1e-7
            )
            z = int(rng.integers(3))
            action = np.array([rng.choice(game.positions(z))])
            state = policy.update(state, action, rng.normal(size=(1, game.m)), np.array([z]))


def test_integrated_gaps_play_the_rows_of_the_best_plans() -> None:
    game = random_game(1, "ball")
    policy = pm.ContextualIDS(integrated=True)
    state: Any = policy.init(game, 3)
    choice = policy.decide(state, np.array([0.1, 0.5, 0.9]), context=np.array([0, 1, 2]))
    information = policy._everywhere(state).information
    plans = state.plans
    mu = pm.sampling.exact(
        plans.gaps(state.estimate, policy.gap, policy.confidence), plans.averaged(information)
    )
    for i in range(3):
        expected = np.zeros(game.k)
        np.add.at(expected, plans.actions[:, i], mu[i])
        np.testing.assert_allclose(choice.distribution[i], expected, atol=1e-12)


def test_integrated_gaps_of_one_context_are_plain_ids() -> None:
    game = pm.games.dynamic_pricing()
    theta = [0.2, 0.5, 0.3]
    one = pm.simulate(game, {"it": pm.IDS()}, theta, horizon=100, seeds=3)
    policy = pm.ContextualIDS(integrated=True)
    two = pm.simulate(pm.ContextualGame([game]), {"it": policy}, theta, horizon=100, seeds=3)
    np.testing.assert_array_equal(two.plays["it"], one.plays["it"])


def test_dominant_plans_lose_nothing() -> None:
    game = pm.ContextualGame([DOMINATED])
    policy = pm.ContextualIDS(gap=pm.gaps.mean, integrated=True)
    result = pm.simulate(game, {"it": policy}, [0.3, 0.6], horizon=30, seeds=3)
    assert (result.regret["it"] == 0).all()
    # Where one of two contexts is dominated, no plan loses more than its actions do on average.
    free = pm.Game(np.eye(2), np.eye(2)[:, None], DOMINATED.parameters, 0.5)
    both = pm.ContextualGame([DOMINATED, free], [0.9, 0.1])
    choice = policy.decide(policy.init(both, 1), np.array([0.5]), context=np.array([1]))
    loose = pm.ContextualIDS(gap=pm.gaps.mean)
    other = loose.decide(loose.init(both, 1), np.array([0.5]), context=np.array([1]))
    assert choice.ratio[0] <= other.ratio[0] * (1 + 1e-9)


def test_a_decision_says_whether_plans_decided() -> None:
    learner = pm.Learner(pm.games.survey(), pm.ContextualIDS(integrated=True))
    whole = learner.ask(context="answers")
    part = learner.ask(context="answers", available=[0])
    assert (whole.decided_by, part.decided_by) == ("plans", "contexts")
    assert "plans for all contexts decided" in whole.explain()
    assert "plans" not in part.explain()
    assert pm.Learner(pm.games.survey(), pm.IDS()).ask(context=0).decided_by is None


def test_too_many_plans_are_said() -> None:
    policy = pm.ContextualIDS(integrated=True)
    with pytest.raises(InvalidInput, match=r"integrated gaps need at most 4096 plans.* has 8192"):
        policy.init(pm.games.greedy_exploration(13), 1)
    with pytest.raises(InvalidInput, match="integrated gaps need known chances"):
        pm.ContextualIDS(integrated=True, chances="estimated")
    with pytest.raises(InvalidInput, match="integrated gaps need the exact solver; got 'frank_"):
        pm.ContextualIDS(integrated=True, solver="frank_wolfe")
