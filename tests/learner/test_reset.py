"""Forgetting by live learners: a half-life, and a reset that starts the estimate anew."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput
from partial_monitoring.learner.states import alike, saved
from partial_monitoring.simulation.environment import Environment

LEARNERS: dict[str, tuple[Any, Any]] = {
    "signals": (pm.games.dynamic_pricing(), pm.Calibrated()),
    "signals, half-life": (pm.games.dynamic_pricing(), pm.Calibrated(half_life=9)),
    "linear": (pm.games.linear_bandit(), pm.IDS()),
    "linear, half-life": (pm.games.linear_bandit(), pm.LinTS(half_life=9)),
    "contexts": (pm.games.survey(), pm.ContextualIDS(half_life=9)),
    "counts": (pm.games.apple_tasting(), pm.CBP()),
    "function": (pm.games.kernelized_bandit(), pm.IDS()),
    "probes": (pm.games.linear_bandit(), pm.Probing(pm.IDS(half_life=9), 0.3)),
}


def go_on(learner: pm.Learner, rounds: int, seed: int = 0) -> list[Any]:
    """Answer decisions as a random world would; return what was decided."""
    game: Any = learner.game
    rng, made = np.random.default_rng(seed), []
    for t in range(rounds):
        context = {"context": t % len(game.games)} if game.traits.contexts else {}
        decision = learner.ask(**context)
        own = game.at(t % len(game.games)) if game.traits.contexts else game
        if own.traits.finite:
            shown: Any = own.signals[decision.action][rng.integers(own.d)]
        else:
            shown = rng.integers(0, 2, own.row_count(decision.action)).astype(float)
        learner.tell(decision, shown)
        made.append((decision.action, decision.probability))
    return made


def known(learner: pm.Learner) -> Any:
    """Return what a learner knows, as plain data; None if it is made of its observations."""
    return saved(learner._session.state, learner._spec.start.state)


@pytest.mark.parametrize("name", LEARNERS)
def test_a_reset_starts_the_estimate_anew(name: str) -> None:
    learner, fresh = pm.Learner(*LEARNERS[name]), pm.Learner(*LEARNERS[name])
    go_on(learner, 25, seed=1)
    learner.reset()
    assert known(learner) == known(fresh)
    assert learner.events[-1] == {"seq": 51, "kind": "reset"}
    assert learner.round == 26
    if not learner.game.traits.contexts:
        for own in (learner, fresh):
            shown = own.game.signals[0][0] if own.game.traits.finite else [0.3]
            own.tell_past([0] * 5, [shown] * 5)
        assert known(learner) == known(fresh)
        two = learner.confidence_set(), fresh.confidence_set()
        np.testing.assert_array_equal(two[0].estimate, two[1].estimate)


@pytest.mark.parametrize("name", LEARNERS)
def test_a_saved_or_replayed_learner_knows_what_was_forgotten(name: str, tmp_path: Path) -> None:
    learner = pm.Learner(*LEARNERS[name], seed=3)
    go_on(learner, 20, seed=1)
    context = {"context": 0} if learner.game.traits.contexts else {}
    waiting = learner.ask(**context)
    learner.reset()
    go_on(learner, 6, seed=2)
    learner.save(tmp_path / "learner")
    loaded = pm.Learner.load(tmp_path / "learner")
    again = pm.Learner.replay(*LEARNERS[name], seed=3, events=learner.events, check=True)
    for other in (loaded, again):
        assert other.round == learner.round == 27
        assert alike(known(other), known(learner))
    assert learner.open[0].id == loaded.open[0].id == waiting.id
    assert go_on(loaded, 10, seed=4) == go_on(learner, 10, seed=4)


def test_long_logs_are_not_folded_again_and_load_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from partial_monitoring.learner import files

    monkeypatch.setattr(files, "REFOLDED", 10)
    for name in ("signals, half-life", "linear, half-life", "signals"):
        learner = pm.Learner(*LEARNERS[name])
        go_on(learner, 15)
        if name == "signals":
            learner.reset()
            go_on(learner, 5)
        learner.save(tmp_path / "learner")
        assert known(pm.Learner.load(tmp_path / "learner")) == known(learner)


def test_open_decisions_and_the_log_stay() -> None:
    learner = pm.Learner("dynamic_pricing", seed=1)
    first = learner.ask()
    learner.tell(first, "yes")
    waiting = learner.ask()
    learner.reset()
    assert [own.id for own in learner.open] == [waiting.id]
    assert len(learner.history) == 2
    learner.tell(waiting, "no")
    once = pm.Learner("dynamic_pricing", seed=1)
    once.tell_past([waiting.action], ["no"])
    assert known(learner) == known(once)
    assert learner.status().round == 3


def test_the_drift_warning_names_both_and_a_reset_ends_it() -> None:
    learner = pm.Learner("linear_bandit", pm.IDS())
    learner.tell_past([0] * 400, [[0.5]] * 200 + [[-0.5]] * 200)
    (warning,) = (own for own in learner.status().warnings if "drifting" in own)
    assert "half_life=" in warning
    assert "learner.reset()" in warning
    learner.reset()
    assert not learner.status().warnings


@pytest.mark.parametrize("name", ["signals, half-life", "linear, half-life"])
def test_a_live_learner_forgets_as_a_simulated_one(name: str) -> None:
    (game, policy), rounds = LEARNERS[name], 60
    truth = np.array(game.parameters.relative_interior_point()) + 0.0
    marks = range(1, rounds + 1)
    result = pm.simulate(game, {"it": policy}, truth, horizon=rounds, seeds=[7], checkpoints=marks)
    simulated = np.diff(result.plays["it"][0], axis=0, prepend=0).argmax(axis=1)
    learner, world = pm.Learner(game, policy, seed=7), Environment(game, truth[None], np.array([7]))
    for t in range(rounds):
        decision = learner.ask()
        assert decision.action == simulated[t], t
        shown = world.observe(np.array([decision.action]), t)[0]
        learner.tell(decision, game.feedback().decode(game, decision.action, shown))


REFUSED = {
    "functions": (
        lambda: pm.Learner("kernelized_bandit", pm.IDS(half_life=5)),
        "half_life must be None with estimates of functions; got 5.",
    ),
    "the default on functions": (
        lambda: pm.Learner("kernelized_bandit", pm.Calibrated(half_life=5)),
        "half_life must be None with estimates of functions; got 5.",
    ),
    "likely sets": (
        lambda: pm.Learner(
            "apple_tasting", pm.IDS(half_life=5, confidence=pm.confidence.likelihood_ratio(0.1))
        ),
        "half_life must be None with sets of likely distributions; got 5.",
    ),
    "a guard": (lambda: pm.Calibrated(1.0, half_life=5), "half_life must be None with a guard"),
    "nothing": (lambda: pm.IDS(half_life=0), "half_life must be positive; got 0."),
    "text": (lambda: pm.Calibrated(half_life="week"), "half_life must be real numbers"),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_in_one_sentence(name: str) -> None:
    call, sentence = REFUSED[name]
    with pytest.raises(InvalidInput) as caught:
        call()
    assert sentence in str(caught.value)


def test_infinity_forgets_nothing() -> None:
    assert pm.IDS(half_life=np.inf) == pm.IDS()
    assert pm.Calibrated(half_life=float("inf")) == pm.Calibrated()
    assert pm.IDS(half_life=2000).promise().mode == "practical"
