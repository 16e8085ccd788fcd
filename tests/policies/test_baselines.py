"""The competing algorithms behind the one interface: simulate, learner, files, explanations."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput
from partial_monitoring.numerics.compiled.normal import normals
from partial_monitoring.policies import make, policy_from_dict, policy_to_dict
from partial_monitoring.policies.policy import uniform_stream
from partial_monitoring.simulation.environment import Environment

PRICING = pm.games.dynamic_pricing([1, 2, 3, 4])
BANDIT = pm.games.linear_bandit()
COINS = pm.games.bernoulli_bandit(3)

CASES: dict[str, tuple[Any, pm.Game]] = {
    "cbp": (pm.CBP(), PRICING),
    "cbp on labels": (pm.CBP(norm="euclidean", alpha=2.0), pm.games.label_efficient()),
    "randcbp": (pm.RandCBP(), PRICING),
    "randcbp coupled": (pm.RandCBP(coupled=True, levels=5), pm.games.apple_tasting()),
    "linucb": (pm.LinUCB(), BANDIT),
    "linucb relative": (pm.LinUCB(relative=True), COINS),
    "lints": (pm.LinTS(), BANDIT),
    "lints wide": (pm.LinTS(width="confidence", factor=0.5), COINS),
    "lints with unseen directions": (pm.LinTS(allow_partial=True), pm.games.label_efficient()),
}
every_case = pytest.mark.parametrize(("policy", "game"), CASES.values(), ids=CASES.keys())


def actions_of(policy: Any, game: pm.Game, seeds: list[int], rounds: int) -> list[list[int]]:
    """Play seeds side by side by hand and return the actions of each."""
    numbers = np.array(seeds)
    theta = np.stack([game.parameters.relative_interior_point()] * len(seeds))
    world = Environment(game, theta, numbers)
    state = policy.init(game, len(seeds))
    uniforms = uniform_stream(policy, state, numbers)
    played = []
    for t in range(rounds):
        action = policy.decide(state, uniforms(t)).action
        state = policy.update(state, action, world.observe(action, t))
        played.append(action)
    return np.array(played).T.tolist()


def told_learner(policy: Any, game: pm.Game, seed: int, rounds: int) -> pm.Learner:
    """Play a learner against the world that ``simulate`` would give its seed."""
    learner = pm.Learner(game, policy, seed)
    world = Environment(game, game.parameters.relative_interior_point()[None], np.array([seed]))
    for t in range(rounds):
        decision = learner.ask()
        learner.tell(decision, shown(game, decision.action, world, t))
    return learner


def shown(game: pm.Game, action: int, world: Environment, t: int) -> Any:
    seen = world.observe(np.array([action]), t)[0]
    if isinstance(game, pm.FiniteGame):
        return game.symbols[action][int(seen.argmax())]
    return seen


# -- replicates and files --------------------------------------------------------------------


@every_case
def test_replicates_do_not_depend_on_each_other(policy: Any, game: pm.Game) -> None:
    together = pm.simulate(game, {"p": policy}, "random", horizon=60, seeds=[3, 4, 5, 6])
    alone = pm.simulate(game, {"p": policy}, "random", horizon=60, seeds=[5])
    for table in ("regret", "plays", "information", "ratio"):
        many, one = getattr(together, table)["p"], getattr(alone, table)["p"]
        assert np.array_equal(many[2:3], one, equal_nan=many.dtype.kind == "f")


@every_case
def test_a_learner_does_what_the_simulation_does(policy: Any, game: pm.Game) -> None:
    learner = told_learner(policy, game, 9, 60)
    assert [row["action"] for row in learner.history] == actions_of(policy, game, [8, 9], 60)[1]


@every_case
def test_decisions_go_on_after_loading(policy: Any, game: pm.Game, tmp_path: Path) -> None:
    learner = told_learner(policy, game, 2, 40)
    learner.save(tmp_path / "learner.json")
    again = pm.Learner.load(tmp_path / "learner.json")
    assert again.policy == policy
    world = Environment(game, game.parameters.relative_interior_point()[None], np.array([2]))
    for t in range(40, 60):
        one, two = learner.ask(), again.ask()
        assert one.action == two.action
        assert one.index is not None
        assert two.index is not None
        assert np.array_equal(one.index, two.index)
        seen = shown(game, one.action, world, t)
        learner.tell(one, seen)
        again.tell(two, seen)


@every_case
def test_policies_are_plain_data(policy: Any, game: pm.Game) -> None:
    assert policy_from_dict(json.loads(json.dumps(policy_to_dict(policy)))) == policy


def test_policies_by_name() -> None:
    assert make("cbp", alpha=2.0, norm="euclidean") == pm.CBP(2.0, "euclidean")
    assert make("randcbp", levels=10, coupled=True) == pm.RandCBP(levels=10, coupled=True)
    assert make("linucb", confidence=["fixed", 0.1]) == pm.LinUCB(pm.confidence.fixed(0.1))
    assert make("lints", width="confidence") == pm.LinTS(width="confidence")


# -- distributions, explanations, status -----------------------------------------------------


@every_case
def test_decisions_are_well_formed(policy: Any, game: pm.Game) -> None:
    """The action has all the probability and the largest index; nothing is negative (T2)."""
    state = policy.init(game, 3)
    uniforms = uniform_stream(policy, state, np.arange(3))
    for t in range(20):
        choice = policy.decide(state, uniforms(t))
        assert choice.distribution.shape == choice.index.shape == (3, game.k)
        assert choice.gaps is None or choice.gaps.shape == (3, game.k)
        assert choice.information is None or choice.information.shape == (3, game.k)
        assert choice.estimate is None or choice.estimate.shape == (3, game.d)
        assert (choice.distribution.sum(axis=1) == 1).all()
        assert (choice.distribution[np.arange(3), choice.action] == 1).all()
        best = choice.index.max(axis=1)
        assert choice.index[np.arange(3), choice.action] == pytest.approx(best, rel=1e-7)
        state = policy.update(state, choice.action, np.eye(max(game.m, 1))[[0] * 3, : game.m])


@every_case
def test_explanations_and_status_can_be_read(policy: Any, game: pm.Game) -> None:
    learner = told_learner(policy, game, 0, 30)
    decision = learner.ask()
    text = decision.explain()
    assert decision.label in text
    assert "nan" not in text
    assert "index" in text
    assert "<table" in decision._repr_html_()
    status = learner.status()
    assert status.round == learner.round == 31
    assert "nan" not in status.explain()
    assert learner.regularization == 1.0


def test_reasons() -> None:
    learner = pm.Learner(pm.games.apple_tasting(), pm.CBP())
    assert "it was never played, and what it shows is needed" in learner.ask().explain()
    learner.tell_past(["taste"] * 200 + ["sell"], ["good"] * 180 + ["rotten"] * 20 + ["-"])
    assert "every other action is ruled out" in learner.ask().explain()
    text = pm.Learner(BANDIT, pm.LinUCB()).ask().explain()
    assert "it has the largest index" in text
    assert "may lose" in text
    assert "ruled out" not in text


def test_a_policy_without_gaps_and_index_gives_no_reason() -> None:
    decision = pm.Learner(BANDIT, pm.LinUCB()).ask()
    blank = replace(decision, index=None, gaps=np.full_like(decision.gaps, np.nan))
    assert "chose it with probability 100% and does not say why" in blank.explain()


def test_the_status_of_counts_is_that_of_the_estimate() -> None:
    """From plays and sums alone the same confidence set as from the rounds one by one."""
    actions = ["$1", "$3", "$2", "$3", "$4", "$1"] * 4
    seen = ["yes", "no", "yes", "yes", "no", "yes"] * 4
    counts, rounds = pm.Learner(PRICING, pm.CBP()), pm.Learner(PRICING, pm.IDS())
    counts.tell_past(actions, seen)
    rounds.tell_past(actions, seen)
    one, two = counts.status(), rounds.status()
    assert (one.round, one.best, one.plausible) == (two.round, two.best, two.plausible)
    assert one.at_risk == pytest.approx(two.at_risk, rel=1e-9)


@pytest.mark.parametrize("policy", [pm.LinUCB(), pm.LinUCB(relative=True), pm.LinTS()])
def test_only_what_is_available_is_played(policy: Any) -> None:
    learner = told_learner(policy, BANDIT, 0, 20)
    for _ in range(10):
        decision = learner.ask(available=[1, 3])
        assert decision.action in (1, 3)
        assert np.isposinf(decision.gaps[[0, 2]]).all()
        assert "not ruled out" not in decision.explain()


# -- refusals --------------------------------------------------------------------------------


def refusal(call: Any) -> str:
    with pytest.raises(InvalidInput) as caught:
        call()
    text = str(caught.value)
    assert text.endswith(".")
    assert "\n" not in text
    return text


@pytest.mark.parametrize("policy", [pm.CBP(), pm.RandCBP()])
def test_what_cbp_refuses(policy: Any) -> None:
    assert "finite games" in refusal(lambda: policy.init(BANDIT, 1))
    hopeless = pm.games.matching_pennies("none")
    assert "told apart" in refusal(lambda: policy.init(hopeless, 1))
    learner = pm.Learner(PRICING, policy)
    assert "available" in refusal(lambda: learner.ask(available=["$1"]))


@pytest.mark.parametrize("policy", [pm.LinUCB(), pm.LinTS()])
def test_what_linear_policies_refuse(policy: Any) -> None:
    for game in (pm.games.apple_tasting(), PRICING, pm.games.matching_pennies("none")):
        assert "allow_partial=True" in refusal(lambda g=game: policy.init(g, 1))
        type(policy)(allow_partial=True).init(game, 1)
    duels = pm.games.dueling(np.eye(3))
    assert "DuelingIDS" in refusal(lambda: policy.init(duels, 1))


BAD: dict[str, tuple[str, dict[str, Any]]] = {
    "alpha": ("cbp", {"alpha": 0.0}),
    "norm": ("cbp", {"norm": "l1"}),
    "spread": ("randcbp", {"spread": -1.0}),
    "levels": ("randcbp", {"levels": 1}),
    "top": ("randcbp", {"top": 1.0}),
    "coupled": ("randcbp", {"coupled": "yes"}),
    "confidence": ("linucb", {"confidence": 3}),
    "relative": ("linucb", {"relative": 1}),
    "allow_partial": ("linucb", {"allow_partial": None}),
    "width": ("lints", {"width": "narrow"}),
    "factor": ("lints", {"factor": 0.0}),
}


@pytest.mark.parametrize(("option", "case"), BAD.items(), ids=BAD.keys())
def test_bad_options_are_named(option: str, case: tuple[str, dict[str, Any]]) -> None:
    name, options = case
    assert option in refusal(lambda: make(name, **options))


# -- numbers for a policy --------------------------------------------------------------------


def test_a_policy_gets_as_many_numbers_as_it_says() -> None:
    seeds = np.array([1, 2])
    one = uniform_stream(pm.IDS(), pm.IDS().init(BANDIT, 2), seeds)
    assert one(700).shape == (2,)
    policy = pm.LinTS()
    many = uniform_stream(policy, policy.init(BANDIT, 2), seeds)
    assert many(700).shape == (2, 3)
    alone = uniform_stream(policy, policy.init(BANDIT, 1), seeds[1:])
    assert np.array_equal(alone(700), many(700)[1:])


def test_normal_numbers_are_finite_and_symmetric() -> None:
    ends = np.array([0.0, 2.0**-53, 0.5, 1 - 2.0**-53])
    found = normals(ends[None])[0]
    assert np.isfinite(found).all()
    assert found[2] == pytest.approx(0.0, abs=1e-15)
    assert found[0] == pytest.approx(-found[3], rel=0.05)


@pytest.mark.parametrize("policy", [pm.LinUCB(), pm.GPUCB()])
def test_of_equal_indices_the_first_is_played_whatever_rounding_says(policy: Any) -> None:
    """Before anything is seen, all points of a function with a stationary kernel look alike."""
    game = pm.games.kernelized_bandit()
    choice = policy.decide(policy.init(game, 2), np.zeros(2))
    index = choice.index() if callable(choice.index) else choice.index
    assert np.ptp(index) < 1e-12
    assert (choice.action == 0).all()
    result = pm.simulate(game, policy, "random", horizon=1, seeds=3)
    assert (next(iter(result.plays.values()))[:, -1, 0] == 1).all()


@given(
    st.lists(st.integers(-3, 3), min_size=1, max_size=6),
    st.floats(1e-3, 1e3),
    st.integers(0, 2**32 - 1),
)
def test_the_compiled_choice_among_indices_is_the_batched_one(
    values: list[int], scale: float, seed: int
) -> None:
    from partial_monitoring.numerics.compiled.play_bandits import first_tied

    noise = np.random.default_rng(seed).uniform(-1e-14, 1e-14, len(values))
    index = scale * np.array(values) * (1 + noise)
    first = values.index(max(values))
    assert first_tied(index) == pm.LinUCB().best(None, index[None])[0] == first
