from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import partial_monitoring as pm
from tests.oracles.learners import fingerprint, played


def play(theta: list[float], rounds: int, noise: float, *, turn: bool = False) -> pm.Learner:
    game = pm.games.linear_bandit()
    learner = pm.Learner(game, pm.IDS(), seed=0)
    rng = np.random.default_rng(0)
    for t in range(rounds):
        decision = learner.ask()
        sign = -1.0 if turn and t >= rounds // 2 else 1.0
        mean = sign * game.features[decision.action] @ theta
        learner.tell(decision, [mean + noise * rng.standard_normal()])
    return learner


def test_before_anything_is_known_everything_is_plausible() -> None:
    learner = pm.Learner(pm.games.dynamic_pricing(), pm.IDS())
    status = learner.status()
    assert status.plausible == ["$1", "$2", "$3"]
    assert status.at_risk > 0
    assert "May still be best: '$1', '$2', '$3'" in status.explain()
    assert not status.warnings


def test_when_all_is_clear_one_action_is_left() -> None:
    learner = pm.Learner(pm.games.apple_tasting(), pm.IDS())
    learner.tell_past(["taste"] * 400, ["good"] * 380 + ["rotten"] * 20)
    status = learner.status()
    assert status.plausible == ["sell"]
    assert status.at_risk == 0
    assert "No other action can be best any more" in str(status)


def test_honest_data_raise_no_warning() -> None:
    assert not play([0.3, 0.2, 0.1], 300, 1.0).status().warnings


def test_louder_noise_than_claimed_is_noticed() -> None:
    (warning,) = play([0.3, 0.2, 0.1], 200, 3.0).status().warnings
    assert "times as much as noise_std says" in warning


def test_a_changing_truth_is_noticed() -> None:
    warnings = play([0.9, 0.0, 0.0], 400, 0.1, turn=True).status().warnings
    assert any("the truth may be drifting" in warning for warning in warnings)


def test_a_truth_outside_the_set_is_noticed() -> None:
    warnings = play([5.0, 5.0, 5.0], 100, 1.0).status().warnings
    assert any("pull the estimate out of the parameter set" in warning for warning in warnings)


def test_asking_for_the_status_changes_nothing() -> None:
    one, two = play([0.3, 0.2, 0.1], 20, 1.0), play([0.3, 0.2, 0.1], 20, 1.0)
    one.status()
    assert [one.ask().action for _ in range(5)] == [two.ask().action for _ in range(5)]


def test_what_may_beat_the_best_need_not_be_plausible() -> None:
    """The middle arm may beat either of the others, but never both at once."""
    features = [[1.0, 0.0], [0.0, 1.0], [0.499, 0.499]]
    game = pm.Game(features, np.eye(2)[[0, 1, 0]][:, None], pm.Box([0.1, 0.1], [1, 1]))
    status = pm.Learner(game, pm.IDS()).status()
    assert status.plausible == ["0", "1"]
    assert status.decided


def test_with_very_many_actions_it_is_said_that_not_all_was_checked() -> None:
    phi = np.random.default_rng(0).standard_normal((300, 2))
    status = pm.Learner(pm.Game(phi, phi[:, None], pm.Ball([0, 0], 1.0)), pm.IDS()).status()
    assert len(status.plausible) > 200
    assert not status.decided
    assert "(not each of them was checked against all others)" in status.explain()


def duel(theta: list[float], rounds: int, noise: float, *, turn: bool = False) -> pm.Learner:
    game = pm.games.dueling(np.eye(3), parameters=pm.Ball(np.zeros(3), 2.0))
    learner, rng = pm.Learner(game, pm.DuelingIDS(), seed=0), np.random.default_rng(0)
    for t in range(rounds):
        decision = learner.ask()
        sign = -1.0 if turn and t >= rounds // 2 else 1.0
        mean = sign * game.rows(decision.action) @ theta
        learner.tell(decision, mean + noise * rng.standard_normal(1))
    return learner


def test_duels_are_compared_with_the_model_too() -> None:
    assert not duel([0.5, 0.2, 0.0], 200, 1.0).status().warnings
    (warning,) = duel([0.5, 0.2, 0.0], 200, 3.0).status().warnings
    assert "times as much as noise_std says" in warning
    learner = duel([0.5, 0.2, 0.0], 0, 1.0)
    learner.tell_past(["0 | 1"] * 400, [[1.0]] * 200 + [[-1.0]] * 200)
    warnings = learner.status().warnings
    (warning,) = warnings
    assert warning.startswith(
        "what '0 | 1' shows has changed over time; the truth may be drifting: "
    )


def test_duels_of_very_many_items_have_a_status() -> None:
    items = np.random.default_rng(0).standard_normal((5000, 3))
    learner = pm.Learner(pm.games.dueling(items), pm.DuelingIDS())
    learner.tell_past([1] * 40, [[0.1]] * 40)
    assert learner.status().round == 41


def test_a_policy_without_a_confidence_set_has_the_status_of_least_squares() -> None:
    own, ids = (pm.Learner(pm.games.apple_tasting(), p) for p in (First(), pm.IDS()))
    for learner in (own, ids):
        learner.tell_past(["taste"] * 50, ["good"] * 45 + ["rotten"] * 5)
    one, two = own.status(), ids.status()
    assert (one.round, one.best, one.plausible) == (two.round, two.best, two.plausible)
    assert one.at_risk == pytest.approx(two.at_risk)


@pytest.mark.parametrize("name", ["segment_pricing", "survey", "contextual_linear_bandit"])
def test_in_contexts_it_has_that_of_least_squares_over_all_of_them(name: str) -> None:
    game = pm.games.make(name)
    own, ids = (pm.Learner(game, policy, seed=1) for policy in ("random", pm.IDS()))
    theta = game.parameters.sample(np.array([0]))[0]
    instance, rng = pm.ContextualInstance(game, theta), np.random.default_rng(1)
    for t in range(40):
        where = game.contexts[t % len(game.contexts)]
        decision = own.ask(context=where)
        shown = instance.at(where).observe(decision.action, rng)
        own.tell(decision, shown)
        ids.tell_past([decision.label], [shown], contexts=[where])
    for where in game.contexts:
        one, two = own.status(context=where), ids.status(context=where)
        assert (one.round, one.best, one.plausible) == (two.round, two.best, two.plausible)
        for mine, other in zip(one.table, two.table, strict=True):
            found = mine.earns, mine.low, mine.high
            assert found == pytest.approx((other.earns, other.low, other.high), abs=1e-6)
            assert (mine.label, mine.plays) == (other.label, other.plays)


def test_without_a_confidence_set_there_is_no_status_for_what_is_not_listed() -> None:
    with pytest.raises(pm.errors.InvalidInput, match="has no confidence set, and so no status"):
        pm.Learner(pm.games.shortest_path(), "pege").status()


class First:
    """A policy with only what a policy must have: it plays the first action."""

    def init(self, game: pm.Game, replicates: int) -> int:
        return game.k

    def decide(self, state: int, uniforms: np.ndarray, available: object = None) -> object:
        from partial_monitoring.policies.policy import Choices

        n = len(uniforms)
        unknown = np.full((n, state), np.nan)
        mu = np.eye(state)[np.zeros(n, dtype=int)]
        blank = np.full(n, np.nan)
        return Choices(np.zeros(n, dtype=int), mu, unknown, unknown, blank, blank, unknown)

    def update(self, state: int, action: np.ndarray, observation: np.ndarray) -> int:
        return state


def test_a_policy_needs_no_estimate() -> None:
    learner = pm.Learner(pm.games.apple_tasting(), First())  # type: ignore[arg-type]
    learner.tell(learner.ask(), learner.game.signals[0][0])  # type: ignore[attr-defined]
    assert learner.round == 2
    assert learner.ask().round == 2
    for name in ("regularization", "prior_mean", "norm_bound", "noise_std"):
        with pytest.raises(pm.errors.InvalidInput, match="First has no model"):
            getattr(learner, name)


# -- status ----------------------------------------------------------------------------------


def test_status_names_what_may_still_be_best() -> None:
    learner = pm.Learner(pm.games.apple_tasting(), pm.IDS())
    start = learner.status()
    assert start.round == 1
    assert sorted(start.plausible) == ["sell", "taste"]
    assert start.at_risk > 0
    learner.tell_past(["taste"] * 400, ["good"] * 360 + ["rotten"] * 40)
    later = learner.status()
    assert later.plausible == ["sell"] == [later.best]
    assert later.at_risk == 0.0
    assert later.exploring == 0.0
    assert str(later) == later.explain()


def test_status_changes_nothing() -> None:
    learner = played("pricing", 10)
    before = fingerprint(learner)
    learner.status()
    assert fingerprint(learner) == before


def test_status_warns_when_noise_is_larger_than_it_should_be() -> None:
    rng = np.random.default_rng(0)
    game = pm.games.linear_bandit([[1.0, 0.0], [0.0, 1.0]], noise_std=0.1)
    quiet, loud = pm.Learner(game, pm.IDS()), pm.Learner(game, pm.IDS())
    noise = rng.normal(size=200)
    actions = [0, 1] * 100
    quiet.tell_past(actions, list(0.5 + 0.1 * noise))
    loud.tell_past(actions, list(0.5 + noise))
    assert quiet.status().warnings == []
    assert any("noise_std" in warning for warning in loud.status().warnings)


def test_status_warns_when_the_truth_drifts() -> None:
    rng = np.random.default_rng(0)
    learner = pm.Learner(pm.games.bernoulli_bandit_linear(2), pm.IDS())
    drift = [*(rng.random(200) < 0.2).astype(float), *(rng.random(200) < 0.9).astype(float)]
    learner.tell_past([0] * 400, drift)
    assert any("drift" in warning for warning in learner.status().warnings)


def test_status_warns_when_the_estimate_is_pressed_against_theta() -> None:
    learner = pm.Learner(pm.games.linear_bandit([[1.0, 0.0], [0.0, 1.0]]), pm.IDS())
    learner.tell_past([0] * 200, [9.0] * 200)
    assert any("parameter set" in warning for warning in learner.status().warnings)


def test_status_survives_saving(tmp_path: Path) -> None:
    learner = played("bernoulli", 60)
    learner.save(tmp_path / "learner.json")
    again = pm.Learner.load(tmp_path / "learner.json")
    assert again.status().explain() == learner.status().explain()


def test_duels_have_a_status_too() -> None:
    learner = pm.Learner(pm.games.dueling(), pm.DuelingIDS(), seed=0)
    learner.tell(learner.ask(), [0.2])
    status = learner.status()
    assert status.round == 2
    assert status.best in learner.game.actions or status.best in ("0", "1", "2")


class Unlisted(pm.Game):
    """A game that says its actions cannot be listed, and is not one over a box."""

    @property
    def traits(self) -> Any:
        return replace(super().traits, listed=False)


def test_unlisted_actions_need_not_be_points_of_a_box() -> None:
    game = Unlisted(np.eye(2), np.eye(2)[:, None], pm.AllParameters(2), noise_std=0.1)
    learner = pm.Learner(game, pm.IDS(), seed=0)
    learner.tell_past([0, 1] * 30, [0.9, 0.1] * 30)
    status = learner.status()
    assert (status.best, status.action) == ("0", 0)
    assert status.warnings == []


@pytest.mark.parametrize(
    "policy",
    [
        pm.IDS(half_life=50),
        pm.Calibrated(half_life=50),
        pm.LinUCB(half_life=50),
        pm.LinTS(half_life=50),
        pm.SquareCB(half_life=50),
        pm.Probing(pm.EpsilonGreedy(half_life=50), 0.1),
    ],
)
@pytest.mark.parametrize("game", ["linear_bandit", "bernoulli_bandit"])
def test_nothing_is_proven_for_policies_that_forget(game: str, policy: Any) -> None:
    learner = pm.Learner(game, policy, seed=0)
    for shown in (0, 1, 0):
        learner.tell(learner.ask(), [float(shown)] if game == "linear_bandit" else shown)
    status = learner.status()
    assert status.promise is not None
    assert status.promise.mode == "practical"
    said = status.explain()
    assert "not proven" in said
    assert "with probability at least" not in said
    assert "loses at most" not in said


def test_before_the_first_observation_nothing_is_forgotten() -> None:
    said = pm.Learner("linear_bandit", pm.IDS(half_life=50)).status().explain()
    assert "all that the model allows, since nothing was observed" in said
