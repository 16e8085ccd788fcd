import numpy as np

import partial_monitoring as pm


def play(theta: list[float], rounds: int, noise: float, *, turn: bool = False) -> pm.Learner:
    game = pm.games.linear_bandit()
    learner = pm.Learner(game, seed=0)
    rng = np.random.default_rng(0)
    for t in range(rounds):
        decision = learner.ask()
        sign = -1.0 if turn and t >= rounds // 2 else 1.0
        mean = sign * game.features[decision.action] @ theta
        learner.tell(decision, [mean + noise * rng.standard_normal()])
    return learner


def test_before_anything_is_known_everything_is_plausible() -> None:
    learner = pm.Learner(pm.games.dynamic_pricing())
    status = learner.status()
    assert status.plausible == ["$1", "$2", "$3"]
    assert status.at_risk > 0
    assert "May still be best: '$1', '$2', '$3'" in status.explain()
    assert not status.warnings


def test_when_all_is_clear_one_action_is_left() -> None:
    learner = pm.Learner(pm.games.apple_tasting())
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
