"""Probes: the probabilities of the mixture, reproducible and recorded, for any policy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput
from partial_monitoring.policies import POLICIES, policy_from_dict, policy_to_dict
from partial_monitoring.policies.policy import Choices
from partial_monitoring.policies.probing import mixed
from partial_monitoring.simulation.environment import Environment
from tests.oracles.players import PAIRS, played_game
from tests.oracles.two_ways import compare

shares = st.floats(1e-6, 1.0)
weights = st.lists(st.floats(0.0, 1.0), min_size=1, max_size=8).filter(lambda w: sum(w) > 0.01)


# -- the mixture -----------------------------------------------------------------------------------


@given(weights, shares, st.floats(0.0, 1.0, exclude_max=True), st.data())
def test_the_mixture_is_a_distribution_with_a_floor(
    given_weights: list[float], probe: float, uniform: float, data: st.DataObject
) -> None:
    mu = np.array([given_weights]) / sum(given_weights)
    k = mu.shape[1]
    mask = data.draw(st.lists(st.booleans(), min_size=k, max_size=k))
    offered = np.array([mask]) | (mu > 0)
    choice = Choices(mu.argmax(axis=1), mu)
    found = mixed(choice, offered, probe, np.array([uniform]))
    count = offered.sum()
    assert found.probed is not None
    assert found.floor is not None
    assert found.distribution.sum() == pytest.approx(1.0)
    assert (found.distribution[offered] >= probe / count * (1 - 1e-12)).all()
    assert (found.distribution[~offered] == 0).all()
    assert found.probed[0] == (uniform < probe)
    assert offered[0, found.action[0]]
    if not found.probed[0]:
        assert found.action[0] == choice.action[0]


def test_every_offered_action_is_probed_as_often_as_any_other() -> None:
    offered = np.array([[True, False, True, True]])
    choice = Choices(np.array([0]), np.array([[1.0, 0.0, 0.0, 0.0]]))
    grid = (np.arange(3000) + 0.5) / 3000
    found = [mixed(choice, offered, 0.3, np.array([u])) for u in grid]
    often = np.bincount([int(one.action[0]) for one in found], minlength=4) / 3000
    np.testing.assert_allclose(often, [0.8, 0.0, 0.1, 0.1], atol=1e-3)
    np.testing.assert_allclose(found[0].distribution, [[0.8, 0.0, 0.1, 0.1]])


def test_among_candidates_the_floor_is_theirs() -> None:
    choice = Choices(
        np.array([7, 5]),
        np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]),
        candidates=np.array([[3, 7, 9], [5, 6, -1]]),
    )
    found = mixed(choice, choice.candidates >= 0, 0.6, np.array([0.59, 0.59]))  # type: ignore[operator]
    assert found.action.tolist() == [9, 6]
    np.testing.assert_allclose(found.distribution, [[0.2, 0.6, 0.2], [0.7, 0.3, 0.0]])


# -- every policy on every kind of game ------------------------------------------------------------

SOME = [(name, kind) for name, kind in PAIRS if name != "probing" and kind != "box"]
FEW = SOME[::4]


@pytest.mark.parametrize(("name", "kind"), FEW)
def test_any_policy_can_probe(name: str, kind: str) -> None:
    pm.testing.check_policy(pm.Probing(POLICIES[name](), 0.4), played_game(kind), rounds=3)


@pytest.mark.nightly
@pytest.mark.parametrize(("name", "kind"), [pair for pair in SOME if pair not in FEW])
def test_any_other_policy_can_probe(name: str, kind: str) -> None:
    pm.testing.check_policy(pm.Probing(POLICIES[name](), 0.4), played_game(kind), rounds=3)


def test_a_box_is_probed_among_its_candidates() -> None:
    game = pm.KernelBoxGame(pm.kernels.Matern(2.5, 0.3), [0, 0], [1, 2], noise_std=0.1)
    pm.testing.check_policy(pm.Probing(pm.IDS(gap=pm.gaps.mean), 0.5), game, rounds=2)
    decision = pm.Learner(game, pm.IDS(gap=pm.gaps.mean), probe=0.5).ask()
    assert decision.considered is not None
    assert decision.floor == pytest.approx(0.5 / len(decision.considered))
    assert decision.distribution.sum() == pytest.approx(1.0)


def test_duels_of_items_are_probed_among_those_that_were_considered() -> None:
    game = pm.games.dueling(np.eye(4))
    learner = pm.Learner(game, pm.DuelingIDS(), probe=1.0, seed=3)
    seen = set()
    for _ in range(40):
        decision = learner.ask()
        assert decision.probed
        np.testing.assert_allclose(decision.distribution, 0.25)
        seen.add(decision.place)
    assert seen == {0, 1, 2, 3}


# -- simulations -----------------------------------------------------------------------------------


def test_simulations_and_learners_probe_alike() -> None:
    game, theta = pm.games.dynamic_pricing(), np.array([0.2, 0.5, 0.3])
    result = pm.simulate(game, ["ids", "cbp"], theta, horizon=60, seeds=[5, 6], probe=0.3)
    assert result.policies == ["ids", "cbp"]
    for name in result.policies:
        for row, seed in enumerate((5, 6)):
            environment = Environment(game, theta[None], np.array([seed]))
            learner = pm.Learner(game, name, seed, probe=0.3)
            plays = np.zeros(game.k, dtype=int)
            for t in range(60):
                decision = learner.ask()
                plays[decision.action] += 1
                shown = environment.observe(np.array([decision.action]), t)[0]
                learner.tell(decision, game.feedback().decode(game, decision.action, shown))
            assert plays.tolist() == result.plays[name][row, -1].tolist()


def test_no_probes_change_nothing() -> None:
    game = pm.games.label_efficient()
    plain, off = (
        pm.simulate(game, "ids", [0.9, 0.1], horizon=50, seeds=3, **options)
        for options in ({}, {"probe": 0.0})
    )
    assert (plain.regret["ids"] == off.regret["ids"]).all()
    assert type(pm.Learner(game, probe=0).policy) is pm.Calibrated


def test_experiments_probe_and_keep_runs_apart(tmp_path: Any) -> None:
    for probe in (0.0, 0.5):
        experiment = pm.Experiment(
            "apple_tasting", "ids", [0.9, 0.1], horizon=40, seeds=4, probe=probe
        )
        (comparison,) = experiment.compare(tmp_path)
        alone = pm.simulate("apple_tasting", "ids", [0.9, 0.1], horizon=40, seeds=4, probe=probe)
        assert (comparison.result.regret["ids"] == alone.regret["ids"]).all()


def test_an_experiment_file_may_probe(tmp_path: Any) -> None:
    path = tmp_path / "probes.toml"
    path.write_text('horizon = 5\nseeds = 2\nprobe = 0.25\ngames = ["apple_tasting"]\n')
    (policy,) = pm.load_experiment(path).policies.values()
    assert policy == pm.Probing(pm.Calibrated(), 0.25)
    assert policy_from_dict(policy_to_dict(policy)) == policy


@pytest.mark.parametrize("probe", [-0.1, 1.5, np.nan, "much", None, [0.1]])
def test_bad_shares_are_refused_in_one_sentence(probe: Any) -> None:
    for refused in (
        lambda: pm.Probing(pm.IDS(), probe),
        lambda: pm.Learner("apple_tasting", probe=probe),
        lambda: pm.simulate("apple_tasting", horizon=2, seeds=1, probe=probe),
        lambda: pm.Experiment("apple_tasting", horizon=2, seeds=1, probe=probe),
    ):
        with pytest.raises(InvalidInput, match=r"^probe must [^.]*\S\.$|^probe must .* got .*\.$"):
            refused()


def test_probes_are_not_nested_and_not_empty() -> None:
    with pytest.raises(InvalidInput, match="inner must be a policy without probes"):
        pm.Learner("apple_tasting", pm.Probing(), probe=0.1)
    with pytest.raises(InvalidInput, match="probe must be above 0"):
        pm.Probing(pm.IDS(), 0.0)


# -- what probes are for ---------------------------------------------------------------------------


def weighted_means(seeds: range, probe: float, rounds: int) -> tuple[Any, Any]:
    """Return the weighted estimates of the mean of arm 1, one per seed, and its truth.

    The policy hardly ever plays the arm by itself; each play counts one over its probability.
    """
    theta = np.array([0.8, 0.3])
    game = pm.games.bernoulli_bandit_linear(2)
    estimates = []
    for seed in seeds:
        environment = Environment(game, theta[None], np.array([seed]))
        learner, total = pm.Learner(game, pm.Greedy(), seed, probe=probe), 0.0
        for t in range(rounds):
            decision = learner.ask()
            shown = environment.observe(np.array([decision.action]), t)[0]
            total += float(shown[0]) / decision.probability if decision.action == 1 else 0.0
            learner.tell(decision, shown[:1])
        estimates.append(total / rounds)
    return np.array(estimates), theta[1]


def check_unbiased(estimates: Any, truth: float) -> None:
    error = estimates.std(ddof=1) / np.sqrt(len(estimates))
    assert abs(estimates.mean() - truth) <= 3.5 * error
    assert error < truth / 5


def test_weights_estimate_the_mean_of_an_action_without_bias() -> None:
    check_unbiased(*weighted_means(range(60), 0.2, 60))


@pytest.mark.nightly
def test_weights_estimate_the_mean_of_an_action_without_bias_on_many_seeds() -> None:
    check_unbiased(*weighted_means(range(1000, 1600), 0.1, 120))


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**31), shares, st.sampled_from(["dynamic_pricing", "linear_bandit"]))
def test_every_action_of_a_decision_has_its_share(seed: int, probe: float, game: str) -> None:
    decision = pm.Learner(game, seed=seed, probe=probe).ask()
    k = len(decision.distribution)
    assert decision.distribution.sum() == pytest.approx(1.0)
    assert decision.distribution.min() >= probe / k * (1 - 1e-12)
    assert decision.probability == decision.distribution[decision.action]


@pytest.mark.parametrize("probe", [5e-324, 1e-200, 1.0])
def test_any_share_of_probes_is_a_share(probe: float) -> None:
    found = pm.simulate("apple_tasting", "ids", [0.9, 0.1], horizon=5, seeds=2, probe=probe)
    assert np.isfinite(found.regret["ids"]).all()


# -- compiled rounds -------------------------------------------------------------------------------

COMPILED: dict[str, Any] = {
    "cbp": pm.CBP(),
    "randcbp": pm.RandCBP(),
    "coupled": pm.RandCBP(coupled=True),
    "default": pm.Calibrated(),
}


@pytest.mark.parametrize("probe", [0.02, 0.3, 1.0])
@pytest.mark.parametrize("policy", COMPILED.values(), ids=COMPILED)
def test_probes_of_compiled_rounds_are_those_of_batched_ones(policy: Any, probe: float) -> None:
    for name in ("apple_tasting", "dynamic_pricing", "label_efficient", "bernoulli_bandit"):
        compare(pm.games.make(name), pm.Probing(policy, probe), 300)


@pytest.mark.parametrize("probe", [0.02, 0.5])
def test_probes_of_the_default_in_contexts(probe: float) -> None:
    """They are drawn from the actions that the context offers."""
    rewards, signals = [[2, 0], [1, 1], [0, 3], [1, 0]], ["aa", "ab", "bb", "ab"]
    first = pm.FiniteGame(rewards, signals, actions=list("cadb"))
    second = pm.FiniteGame(rewards[:2], signals[:2], actions=list("dc"))
    some = pm.ContextualGame([first, second], [0.4, 0.6])
    for game in (some, pm.games.segment_pricing(), pm.games.survey()):
        compare(game, pm.Probing(pm.Calibrated(), probe), 300)


@pytest.mark.nightly
@pytest.mark.parametrize("policy", COMPILED.values(), ids=COMPILED)
@pytest.mark.parametrize("name", ["apple_tasting", "dynamic_pricing", "bernoulli_bandit"])
def test_long_runs_with_probes(name: str, policy: Any) -> None:
    compare(pm.games.make(name), pm.Probing(policy, 0.1), 2000, seeds=10)
