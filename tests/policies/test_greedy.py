"""Greedy, epsilon-greedy and inverse-gap weighting, with and without contexts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput

POLICIES: list[Any] = [
    pm.Greedy(),
    pm.EpsilonGreedy(epsilon=0.3),
    pm.EpsilonGreedy(epsilon=0.2, decay=True),
    pm.SquareCB(),
]
BANDIT = pm.games.linear_bandit()


class Unlisted(pm.Game):
    """A game that says its actions cannot be listed, and is not one over a box."""

    @property
    def traits(self) -> Any:
        return replace(super().traits, listed=False)


@pytest.mark.parametrize("policy", POLICIES, ids=["greedy", "epsilon", "decay", "squarecb"])
@pytest.mark.parametrize("restricted", [False, True])
def test_the_distribution_is_its_definition(policy: Any, restricted: bool) -> None:
    rng = np.random.default_rng(0)
    state = policy.init(BANDIT, 3)
    mask = np.array([True, False, True, True]) if restricted else np.ones(4, dtype=bool)
    for t in range(1, 30):
        choice = policy.decide(state, rng.random(3), mask if restricted else None)
        for i in range(3):
            means = BANDIT.features @ choice.estimate[i]
            k = mask.sum()
            best = max(np.flatnonzero(mask), key=lambda a: (means[a], -a))
            expected = np.zeros(4)
            if isinstance(policy, pm.SquareCB):
                for a in np.flatnonzero(mask):
                    if a != best:
                        expected[a] = 1 / (k + np.sqrt(k * t) * (means[best] - means[a]))
                expected[best] = 1 - expected.sum()
            else:
                share = getattr(policy, "epsilon", 0.0)
                if getattr(policy, "decay", False):
                    share = min(1.0, share * k * t ** (-1 / 3))
                expected[mask] = share / k
                expected[best] += 1 - share
            np.testing.assert_allclose(choice.distribution[i], expected, atol=1e-9)
        state = policy.update(state, choice.action, rng.normal(size=(3, 1)))


@pytest.mark.parametrize("policy", POLICIES, ids=["greedy", "epsilon", "decay", "squarecb"])
def test_one_context_is_the_plain_game(policy: Any) -> None:
    one = pm.simulate(BANDIT, {"it": policy}, [0.5, 0.2, 0], horizon=100, seeds=3)
    two = pm.simulate(
        pm.ContextualGame([BANDIT]), {"it": policy}, [0.5, 0.2, 0], horizon=100, seeds=3
    )
    np.testing.assert_array_equal(two.plays["it"], one.plays["it"])


def test_greedy_learns_where_contexts_explore_and_not_where_nothing_is_shown() -> None:
    """Example 12, and apple tasting, in which selling shows nothing."""
    diverse = pm.simulate(
        pm.games.greedy_exploration(), "greedy", [0.6, 0.3], horizon=600, seeds=10
    )
    assert diverse.exponent("greedy").value < 0.5
    apples = pm.games.apple_tasting(bad_sale=0.5)  # so that selling looks best at first
    blind = pm.simulate(apples, "greedy", [0.2, 0.8], horizon=500, seeds=4)
    assert blind.mean("greedy")[-1] == pytest.approx(0.2 * 500)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: pm.EpsilonGreedy(epsilon=1.5), "epsilon must lie between 0 and 1; got 1.5"),
        (lambda: pm.SquareCB(exploration=0), "exploration must be positive; got 0"),
        (lambda: pm.Greedy().init(pm.games.dueling(), 1), "Greedy cannot play duels"),
    ],
)
def test_bad_input_is_refused(make: Any, message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        make()
    assert message in str(caught.value)


@pytest.mark.parametrize("policy", POLICIES, ids=["greedy", "epsilon", "decay", "squarecb"])
def test_actions_that_are_not_available_are_not_called_ruled_out(policy: Any) -> None:
    decision = pm.Learner(BANDIT, policy, seed=0).ask(available=["0", "2"])
    text = decision.explain()
    assert "ruled out" not in text
    assert "it has the largest index" in text
    (sheet,) = decision.sheets()
    assert {row[0].text.removesuffix(" <") for row in sheet.rows} == {"0", "2"}


def test_listed_actions_are_asked_for_whatever_the_kind_of_game() -> None:
    with pytest.raises(InvalidInput, match="Greedy plays games whose actions can be listed; got"):
        pm.Greedy().init(Unlisted(BANDIT.features, BANDIT.observation_maps, BANDIT.parameters), 1)
