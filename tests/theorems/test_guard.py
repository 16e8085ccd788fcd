"""The guard of the default policy: its regret is at most 1 + lambda times the bound of IDS."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput
from partial_monitoring.policies.calibrated.guard import Guarded

GAMES: dict[str, tuple[pm.Game, Any]] = {
    "easy": (pm.games.apple_tasting(), [0.6, 0.4]),
    "hard": (pm.games.dynamic_pricing(), [0.2, 0.5, 0.3]),
    "duels": (pm.games.dueling(), [0.5, -0.3, 0.1]),
    "bandit": (pm.games.linear_bandit([[1, 0], [0, 1], [0.6, 0.6]]), [0.5, -0.3]),
}


def played(game: pm.Game, theta: Any, guard: float, rounds: int = 120, seeds: int = 4) -> Any:
    """Play a guarded policy; return the states before each round, the choices and the gaps."""
    policy = pm.Calibrated(guard=guard)
    state, rng = policy.init(game, seeds), np.random.default_rng(0)
    instance = pm.Instance(game, theta)
    rewards = game.features @ np.asarray(theta, dtype=float)
    log = []
    for _ in range(rounds):
        choice = policy.decide(state, rng.random((seeds, 1)))
        shown = np.zeros((seeds, game.m))
        for i, action in enumerate(choice.action):
            observed = instance.observe(int(action), rng)
            encoded = game.feedback().encode(game, int(action), observed, game.m)
            shown[i] = encoded
        log.append((state, choice, rewards.max() - rewards[choice.action]))
        state = policy.update(state, choice.action, shown)
    return log


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("guard", [1e-4, 0.003, 4.0])
def test_what_the_rule_may_have_lost_stays_within_the_budget(name: str, guard: float) -> None:
    game, theta = GAMES[name]
    log = played(game, theta, guard)
    bound = pm.bounds(game, np.arange(1, len(log) + 1)).regret
    for (state, _, _), own in zip(log, bound, strict=True):
        assert (state.known.spent <= guard * own * (1 + 1e-9)).all()
    regret = np.sum([lost for _, _, lost in log], axis=0)
    assert (regret <= (1 + guard) * bound[-1]).all()


@pytest.mark.parametrize("name", GAMES)
def test_what_was_lost_in_charged_rounds_is_at_most_what_was_charged(name: str) -> None:
    game, theta = GAMES[name]
    log = played(game, theta, 0.003)
    for (before, _, lost), (after, _, _) in pairwise(log):
        charged = after.known.spent - before.known.spent
        assert (lost[charged > 0] <= charged[charged > 0] + 1e-9).all()


@pytest.mark.parametrize("name", GAMES)
def test_beyond_the_budget_the_choice_is_that_of_ids_from_all_data(name: str) -> None:
    game, theta = GAMES[name]
    log = played(game, theta, 1e-9, rounds=60)
    for t, (state, choice, _) in enumerate(log):
        alone = pm.IDS().decide(state.known.certified, np.full(len(choice.action), 0.5))
        if t > 0:
            assert np.array_equal(choice.distribution, alone.distribution)


@pytest.mark.parametrize("name", GAMES)
def test_the_rounds_of_ids_obey_hoelders_inequality(name: str) -> None:
    game, theta = GAMES[name]
    log = played(game, theta, 0.001)
    rule = log[0][0].rule
    lost, gained, ratios = [], [], []
    for state, _, _ in log:
        alone = rule.ids.decide(state.known.certified, np.full(len(state.known.spent), 0.5))
        lost.append((alone.distribution * alone.gaps).sum(axis=1))
        gained.append((alone.distribution * alone.information).sum(axis=1))
        ratios.append(alone.ratio)
    total, most = np.sum(lost, axis=0), np.max(ratios, axis=0)
    assert (total <= np.sqrt(len(log) * most * np.sum(gained, axis=0)) * (1 + 1e-9)).all()
    grown = log[-1][0].known.certified.estimate.log_det / 2
    assert (grown <= pm.bounds(game, len(log)).total_information[0] * (1 + 1e-9)).all()


def test_a_generous_guard_changes_nothing() -> None:
    game, theta = GAMES["easy"]
    runs = pm.simulate(
        game, {"free": pm.Calibrated(), "guarded": pm.Calibrated(4.0)}, theta, horizon=500, seeds=5
    )
    assert np.array_equal(runs.regret["free"], runs.regret["guarded"])


@pytest.mark.parametrize("name", ["label_efficient", "dueling", "linear_bandit"])
def test_a_decision_is_explained_by_whom_it_was_made(name: str) -> None:
    free = pm.Learner(name, pm.Calibrated(), seed=0).ask()
    within = pm.Learner(name, pm.Calibrated(1e6), seed=0).ask()
    beyond = pm.Learner(name, pm.Calibrated(1e-9), seed=0).ask()
    alone = pm.Learner(name, pm.IDS(), seed=0).ask()
    assert within.action == free.action
    assert "the practical rule chose it, and what it may lose is within" in within.explain()
    assert beyond.explain().splitlines()[:-1] == alone.explain().splitlines()[:-1]
    for guarded in (within, beyond):
        assert guarded.gaps is not None
        assert alone.gaps is not None
        assert np.array_equal(guarded.gaps, alone.gaps)  # what may be lost is certified
        assert "certified: its expected regret" in guarded.explain()


def test_the_status_of_a_guarded_learner_is_certified() -> None:
    learner = pm.Learner("dueling", pm.Calibrated(1e6), seed=0)
    for _ in range(5):
        learner.tell(learner.ask(), [0.1])
    assert np.isfinite(learner.status().exploring)
    assert "The next decision loses at most" in str(learner.status())


@pytest.mark.parametrize("guard", [0, -1, float("nan"), "4", True])
def test_a_guard_must_be_a_positive_number(guard: Any) -> None:
    with pytest.raises(InvalidInput, match="guard must"):
        pm.Calibrated(guard)


def test_games_without_a_bound_have_no_guard() -> None:
    with pytest.raises(InvalidInput, match="takes no contexts"):
        pm.Calibrated(1.0).init(pm.games.survey(), 1)
    blind = pm.FiniteGame([[1, 0], [0, 1]], ["aa", "aa"])
    with pytest.raises(InvalidInput, match="guard must be left out where no bound holds"):
        pm.Calibrated(1.0).init(blind, 1)
    with pytest.raises(InvalidInput, match="a policy with a guard plays games whose actions"):
        pm.Calibrated(1.0).init(pm.KernelBoxGame(pm.kernels.Matern(2.5, 0.3), [0], [1]), 1)
    assert Guarded(pm.IDS(), 1.0).guard == 1.0
