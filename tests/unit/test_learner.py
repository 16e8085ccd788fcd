"""The live learner: ask, tell, save, load, refuse."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput
from partial_monitoring.storage.memory import Memory

GAMES: dict[str, Callable[[], pm.Game]] = {
    "pricing": pm.games.dynamic_pricing,
    "bandit": pm.games.linear_bandit,
    "own noise": pm.games.heteroscedastic_linear_bandit,
    "duels on a graph": pm.games.graph_dueling,
    "bernoulli": pm.games.bernoulli_bandit_linear,
    "combinatorial": pm.games.combinatorial_bandit,
    "box": lambda: pm.Game(
        np.eye(3), [[[1.0, 0, 0]], [[1.0, 1, 0], [0, 1, 1]], []], pm.Box([0, 0, 0], [1, 1, 1])
    ),
    "slice": lambda: pm.Game(
        [[1.0, 0, 0], [0, 1, 0], [0, 0, 1]],
        np.eye(3)[:, None],
        pm.Polytope(-np.eye(3), [0.0, 0, 0], [[1.0, 1, 1]], [1.0]),
    ),
}


def answer(game: pm.Game, decision: pm.Decision, rng: np.random.Generator) -> Any:
    theta = game.parameters.relative_interior_point()
    return pm.Instance(game, theta).observe(decision.action, rng)


def played(name: str, rounds: int, seed: int = 3, **options: Any) -> pm.Learner:
    game = GAMES[name]()
    learner = pm.Learner(game, pm.IDS(**options), seed)
    rng = np.random.default_rng(seed)
    for _ in range(rounds):
        decision = learner.ask()
        learner.tell(decision, answer(game, decision, rng))
    return learner


def fingerprint(learner: pm.Learner) -> tuple[Any, ...]:
    """Everything that a further decision depends on."""
    copy = pm.Learner.__new__(pm.Learner)
    copy.__dict__.update(learner.__dict__)
    copy._storage = Memory()
    decision = copy.ask()
    return (
        decision.id,
        decision.round,
        decision.action,
        decision.distribution.tolist(),
        decision.gaps.tolist(),
        decision.information.tolist(),
        decision.beta,
        decision.estimate.tolist(),
        sorted(learner._session.open),
        learner.history,
    )


def refused(call: Callable[[], object], learner: pm.Learner, *words: str) -> None:
    """The call raises one sentence, and the learner is as it was."""
    before = fingerprint(learner)
    with pytest.raises(InvalidInput) as caught:
        call()
    text = str(caught.value)
    assert text.endswith(".")
    assert "\n" not in text
    for word in words:
        assert word in text
    assert fingerprint(learner) == before


# -- decisions -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", GAMES)
def test_a_decision_says_what_and_why(name: str) -> None:
    learner = played(name, 5)
    game = learner.game
    decision = learner.ask()
    assert decision.id == 5
    assert decision.round == learner.round == 6
    assert decision.label == game.actions[decision.action]
    assert decision.distribution.shape == decision.gaps.shape == (game.k,)
    assert decision.information.shape == (game.k,)
    assert decision.distribution.sum() == pytest.approx(1.0, abs=1e-12)
    assert decision.probability == decision.distribution[decision.action] > 0
    assert decision.estimate.shape == (game.d,)
    assert game.parameters.contains(decision.estimate)
    mu = pm.sampling.exact(decision.gaps, decision.information)
    assert decision.distribution == pytest.approx(mu, abs=1e-12)
    gap, gain = mu @ decision.gaps, mu @ decision.information
    assert decision.ratio == pytest.approx(gap**2 / gain if gap > 0 else 0.0, rel=1e-9)
    text = decision.explain()
    assert decision.label in text
    assert str(decision) == text
    assert "<table" in decision._repr_html_()


def test_the_same_seed_and_answers_give_the_same_decisions() -> None:
    one, two = played("pricing", 30), played("pricing", 30)
    assert one.history == two.history
    other = played("pricing", 30, seed=4)
    assert other.history != one.history


def test_actions_follow_their_distribution() -> None:
    """The state does not change without answers: 400 draws from one distribution."""
    learner = pm.Learner(pm.games.label_efficient(), seed=0)
    learner.tell_past(["ask"] * 160, ["0"] * 96 + ["1"] * 64)
    first = learner.ask()
    share = first.distribution[first.distribution > 0]
    assert 0.05 < share.min() < 0.95
    actions = [learner.ask().action for _ in range(400)]
    found = np.bincount(actions, minlength=3) / 400
    # Four standard deviations: a false alarm has probability below 1e-3, and the seed is fixed.
    assert found == pytest.approx(first.distribution, abs=4 * np.sqrt(0.25 / 400))


def test_without_a_policy_it_is_ids() -> None:
    assert pm.Learner(pm.games.dynamic_pricing()).policy == pm.IDS()


# -- tell ------------------------------------------------------------------------------------


def test_tell_by_decision_or_by_id() -> None:
    one, two = (pm.Learner(pm.games.dynamic_pricing(), seed=1) for _ in range(2))
    for _ in range(5):
        first, second = one.ask(), two.ask()
        one.tell(first, "yes")
        two.tell(second.id, "yes")
    assert fingerprint(one) == fingerprint(two)


@pytest.mark.parametrize("name", GAMES)
def test_answers_may_come_late_and_in_any_order(name: str) -> None:
    game = GAMES[name]()
    learner = pm.Learner(game, seed=1)
    decisions = [learner.ask() for _ in range(6)]
    assert [d.round for d in decisions] == [1] * 6
    assert [d.id for d in decisions] == list(range(6))
    rng = np.random.default_rng(0)
    answers = [answer(game, d, rng) for d in decisions]
    for i in (4, 0, 5, 2):
        learner.tell(decisions[i], answers[i])
    assert learner.round == 5  # the number of observations told plus one
    other = pm.Learner(game, seed=1)
    again = [other.ask() for _ in range(6)]
    other.tell([again[i] for i in (0, 2, 4, 5)], [answers[i] for i in (0, 2, 4, 5)])
    late, sorted_ = learner.ask(), other.ask()
    assert late.estimate == pytest.approx(sorted_.estimate, abs=1e-9)
    assert late.beta == pytest.approx(sorted_.beta, rel=1e-12)


def test_several_at_once_are_one_after_the_other() -> None:
    one, two = (pm.Learner(pm.games.dynamic_pricing(), seed=2) for _ in range(2))
    first, second = [one.ask() for _ in range(3)], [two.ask() for _ in range(3)]
    one.tell([first[2], first[0].id, first[1]], ["yes", "yes", "yes"])
    for i in (2, 0, 1):
        two.tell(second[i], "yes")
    assert fingerprint(one) == fingerprint(two)


def test_several_at_once_are_all_or_nothing() -> None:
    learner = pm.Learner(pm.games.dynamic_pricing(), seed=2)
    decisions = [learner.ask() for _ in range(3)]
    refused(lambda: learner.tell(decisions, ["yes", "maybe", "yes"]), learner, "maybe")
    refused(lambda: learner.tell(decisions, ["yes", "yes"]), learner, "3", "2")
    refused(lambda: learner.tell([decisions[0], decisions[0]], ["yes", "yes"]), learner, "twice")
    refused(lambda: learner.tell([decisions[0], 99], ["yes", "yes"]), learner, "99")
    learner.tell(decisions, ["yes"] * 3)


def test_nothing_at_all_is_fine() -> None:
    learner = pm.Learner(pm.games.dynamic_pricing())
    learner.tell([], [])
    learner.tell_past([], [])
    assert learner.round == 1


UNKNOWN: dict[str, Any] = {
    "not asked": 99,
    "negative": -1,
    "none": None,
    "a word": "first",
    "a fraction": 0.5,
    "a float": 0.0,
    "a boolean": False,
    "a list inside": [[0]],
    "a dict": {},
    "an array": np.array([0]),
}


@pytest.mark.parametrize("decision", UNKNOWN.values(), ids=UNKNOWN.keys())
def test_an_unknown_decision_is_refused(decision: Any) -> None:
    learner = pm.Learner(pm.games.linear_bandit(), seed=1)
    learner.ask()
    refused(lambda: learner.tell(decision, [0.1]), learner)


def test_ids_may_be_numpy_integers() -> None:
    learner = pm.Learner(pm.games.dynamic_pricing(), seed=1)
    decision = learner.ask()
    learner.tell(np.int64(decision.id), "yes")
    refused(lambda: learner.tell(np.int64(0), "yes"), learner, "already")


def test_a_second_tell_is_refused() -> None:
    learner = pm.Learner(pm.games.dynamic_pricing(), seed=1)
    decision = learner.ask()
    learner.tell(decision, "yes")
    refused(lambda: learner.tell(decision, "yes"), learner, "already", "0")
    refused(lambda: learner.tell(decision.id, "yes"), learner, "already")


BAD_VECTORS: dict[str, Any] = {
    "too long": [0.1, 0.2],
    "too short": [],
    "two axes": [[0.1]],
    "nan": [np.nan],
    "nan number": np.nan,
    "infinite": [np.inf],
    "a word": "yes",
    "none": None,
    "complex": [1j],
    "a dict": {"y": 1},
    "a word in a list": ["yes"],
}


@pytest.mark.parametrize("observation", BAD_VECTORS.values(), ids=BAD_VECTORS.keys())
def test_a_bad_observation_is_refused(observation: Any) -> None:
    learner = pm.Learner(pm.games.linear_bandit(), seed=1)
    decision = learner.ask()
    refused(lambda: learner.tell(decision, observation), learner, "observation")
    learner.tell(decision, [0.1])


@pytest.mark.parametrize("signal", ["maybe", None, 1, np.nan, ["yes"], {"a": 1}, ("yes",), "YES"])
def test_an_unknown_signal_is_refused(signal: Any) -> None:
    learner = pm.Learner(pm.games.dynamic_pricing(), seed=1)
    decision = learner.ask()
    refused(lambda: learner.tell(decision, signal), learner)


def test_a_signal_of_another_action_is_refused() -> None:
    learner = pm.Learner(pm.games.apple_tasting(), seed=0)
    decision = learner.ask(available=["sell"])
    refused(lambda: learner.tell(decision, "rotten"), learner, "sell", "rotten")


@pytest.mark.parametrize("decisions", [5, 3.0, None])
def test_a_list_of_decisions_needs_a_list_of_observations(decisions: Any) -> None:
    learner = pm.Learner(pm.games.linear_bandit(), seed=1)
    pair = [learner.ask(), learner.ask()]
    refused(lambda: learner.tell(pair, decisions), learner, "observation")


@pytest.mark.parametrize("told", [0.5, [0.5], (0.5,), np.array([0.5]), np.float32(0.5), 1, "1/2"])
def test_one_number_in_many_guises(told: Any) -> None:
    learner = pm.Learner(pm.games.linear_bandit(), seed=1)
    value = Fraction(told) if told == "1/2" else told
    decision = learner.ask()
    learner.tell(decision, value)
    assert learner.round == 2


def test_padding_is_ignored() -> None:
    game = GAMES["box"]()
    assert game.row_counts == (1, 2, 0)
    one, two = (pm.Learner(game, seed=1) for _ in range(2))
    for label, short, padded in (("0", [0.3], [0.3, np.nan]), ("2", None, [np.nan, 7.0])):
        first, second = one.ask(available=[label]), two.ask(available=[label])
        one.tell(first, short)
        two.tell(second, padded)
    nothing = one.ask(available=["2"])
    one.tell(nothing, [])
    two.tell(two.ask(available=["2"]), [1.0, 2.0])
    assert one.ask().estimate.tolist() == two.ask().estimate.tolist()
    assert one.round == two.round == 4


# -- available -------------------------------------------------------------------------------


def test_only_available_actions_are_played() -> None:
    learner = pm.Learner(pm.games.dynamic_pricing(), seed=0)
    for _ in range(10):
        decision = learner.ask(available=["$1", 2])
        assert decision.action in (0, 2)
        assert decision.distribution[1] == 0.0
        learner.tell(decision, learner.game.signal(decision.action, 0))
    assert learner.ask(available=["$2"]).probability == 1.0
    assert learner.ask(available=range(3)).action in (0, 1, 2)


@pytest.mark.parametrize("available", [[], ["$9"], [3], [-1], [0.5], 5, "$1x", [None]])
def test_bad_available_is_refused(available: Any) -> None:
    learner = pm.Learner(pm.games.dynamic_pricing(), seed=0)
    refused(lambda: learner.ask(available=available), learner)


def test_available_all_is_the_same_as_none() -> None:
    one, two = (played("pricing", 10) for _ in range(2))
    assert one.ask().to_dict() == two.ask(available=["$1", "$2", "$3"]).to_dict()


@pytest.mark.parametrize("gap", [pm.gaps.exact, pm.gaps.relaxed, pm.gaps.mean])
def test_what_is_not_available_is_not_a_competitor(gap: pm.gaps.GapEstimate) -> None:
    """With A(z) in place of A (section 6): nothing is lost against what cannot be played.

    Action 2 is far better but not available. Between the others action 0 is surely better, so
    there is nothing to explore: it is played with probability 1, as in the game without action 2.
    """
    features = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    game = pm.games.linear_bandit(features, pm.Box([0.0] * 3, [1.0] * 3), noise_std=0.1)
    learner = pm.Learner(game, pm.IDS(gap=gap), seed=0)
    learner.tell_past([0] * 300 + [1] * 30 + [2] * 300, [0.5] * 300 + [0.1] * 30 + [0.9] * 300)
    decision = learner.ask(available=[0, 1])
    assert decision.distribution.tolist() == [1.0, 0.0, 0.0]


# -- save and load ---------------------------------------------------------------------------

POLICIES: dict[str, pm.IDS] = {
    "default": pm.IDS(),
    "relaxed": pm.IDS(gap=pm.gaps.relaxed, sampling=pm.sampling.approximate),
    "mean": pm.IDS(gap=pm.gaps.mean, information=pm.information.directed),
    "generalized": pm.IDS(sampling=pm.sampling.generalized(3.0), regularization=0.3),
    "e2d": pm.IDS(sampling=pm.sampling.e2d(0.5), confidence=pm.confidence.fixed(0.1)),
    "anytime": pm.IDS(sampling=pm.sampling.e2d("anytime"), norm_bound=2.0),
    "deterministic": pm.IDS(sampling=pm.sampling.deterministic),
}


def assert_same_future(one: pm.Learner, two: pm.Learner, rounds: int = 20) -> None:
    rng, twin = np.random.default_rng(9), np.random.default_rng(9)
    for _ in range(rounds):
        first, second = one.ask(), two.ask()
        for field in ("id", "round", "action", "label", "probability", "ratio", "beta"):
            assert getattr(first, field) == getattr(second, field)
        for field in ("distribution", "gaps", "information", "estimate"):
            assert np.array_equal(getattr(first, field), getattr(second, field))
        one.tell(first, answer(one.game, first, rng))
        two.tell(second, answer(two.game, second, twin))
    assert one.history == two.history


@pytest.mark.parametrize("name", GAMES)
def test_after_loading_the_same_twenty_decisions_follow(name: str, tmp_path: Path) -> None:
    learner = played(name, 25)
    learner.save(tmp_path / "learner.json")
    again = pm.Learner.load(tmp_path / "learner.json")
    assert again.history == learner.history
    assert again.round == learner.round
    for field in ("seed", "regularization", "norm_bound", "noise_std"):
        assert getattr(again, field) == getattr(learner, field)
    assert np.array_equal(again.prior_mean, learner.prior_mean)
    assert_same_future(learner, again)


@pytest.mark.parametrize("name", POLICIES)
def test_policies_are_saved_with_their_options(name: str, tmp_path: Path) -> None:
    learner = pm.Learner(pm.games.dynamic_pricing(), POLICIES[name], seed=5)
    for _ in range(5):
        decision = learner.ask()
        learner.tell(decision, learner.game.signal(decision.action, 2))
    learner.save(tmp_path / "learner.json")
    again = pm.Learner.load(tmp_path / "learner.json")
    assert again.policy == POLICIES[name]
    assert_same_future(learner, again)


@pytest.mark.parametrize("prior", [[0.2, 0.3, 0.5], (0.2, 0.3, 0.5), np.array([0.2, 0.3, 0.5])])
def test_a_prior_mean_is_saved(prior: Any, tmp_path: Path) -> None:
    learner = pm.Learner(pm.games.dynamic_pricing(), pm.IDS(prior_mean=prior), seed=5)
    learner.save(tmp_path / "learner.json")
    assert_same_future(learner, pm.Learner.load(tmp_path / "learner.json"), 5)


def test_numpy_numbers_as_options_are_saved(tmp_path: Path) -> None:
    policy = pm.IDS(regularization=np.float32(0.5), norm_bound=np.int64(2))  # type: ignore[arg-type]
    learner = pm.Learner(pm.games.dynamic_pricing(), policy, seed=5)
    learner.save(tmp_path / "learner.json")
    assert_same_future(learner, pm.Learner.load(tmp_path / "learner.json"), 5)


def test_open_decisions_are_saved(tmp_path: Path) -> None:
    learner = played("pricing", 5)
    first, second = learner.ask(), learner.ask()
    learner.save(tmp_path / "learner.json")
    again = pm.Learner.load(tmp_path / "learner.json")
    for other in (learner, again):
        other.tell(second.id, learner.game.signal(second.action, 0))
        other.tell(first.id, learner.game.signal(first.action, 1))
    assert_same_future(learner, again)
    refused(lambda: again.tell(first.id, "yes"), again, "already")


def test_a_decision_made_before_saving_can_be_told_after_loading(tmp_path: Path) -> None:
    learner = played("pricing", 3)
    decision = learner.ask()
    learner.save(tmp_path / "learner.json")
    again = pm.Learner.load(tmp_path / "learner.json")
    again.tell(decision, learner.game.signal(decision.action, 0))
    assert again.round == 5


def test_saving_twice_gives_the_same_file(tmp_path: Path) -> None:
    learner = played("slice", 12)
    learner.save(tmp_path / "one.json")
    pm.Learner.load(tmp_path / "one.json").save(tmp_path / "two.json")
    assert (tmp_path / "one.json").read_text() == (tmp_path / "two.json").read_text()


def test_the_file_is_plain_and_versioned(tmp_path: Path) -> None:
    played("pricing", 3).save(tmp_path / "learner.json")
    data = json.loads((tmp_path / "learner.json").read_text())
    assert data["format"] == 2


GUISES: dict[str, Any] = {
    "float32": np.float32(0.25),
    "integer": np.int64(1),
    "fraction": Fraction(1, 4),
    "array": np.array([0.25]),
    "list of numpy": [np.float32(0.25)],
    "tuple": (0.25,),
}


@pytest.mark.parametrize("told", GUISES.values(), ids=GUISES.keys())
def test_whatever_was_told_can_be_saved(told: Any, tmp_path: Path) -> None:
    learner = pm.Learner(pm.games.linear_bandit(), seed=1)
    learner.tell(learner.ask(), told)
    learner.save(tmp_path / "learner.json")
    again = pm.Learner.load(tmp_path / "learner.json")
    assert_same_future(learner, again, 3)


def test_numpy_signals_can_be_saved(tmp_path: Path) -> None:
    learner = pm.Learner(pm.games.matching_pennies(), seed=1)
    decision = learner.ask()
    learner.tell(decision, np.int64(learner.game.signal(decision.action, 0)))
    learner.save(tmp_path / "learner.json")
    assert_same_future(learner, pm.Learner.load(tmp_path / "learner.json"), 3)


def test_a_learner_of_a_hopeless_game_is_saved(tmp_path: Path) -> None:
    learner = pm.Learner(pm.games.matching_pennies("none"), seed=1, allow_hopeless=True)
    learner.tell(learner.ask(), "-")
    learner.save(tmp_path / "learner.json")
    again = pm.Learner.load(tmp_path / "learner.json")
    assert again.allow_hopeless
    assert_same_future(learner, again, 3)


def test_a_policy_of_your_own_is_not_saved(tmp_path: Path) -> None:
    learner = pm.Learner(
        pm.games.dynamic_pricing(), pm.IDS(gap=lambda game, e: pm.gaps.mean(game, e))
    )
    with pytest.raises(InvalidInput, match="gap"):
        learner.save(tmp_path / "learner.json")
    assert not (tmp_path / "learner.json").exists()


BROKEN = {
    "empty": "",
    "not json": "{",
    "a list": "[1, 2]",
    "a number": "3",
    "no format": "{}",
    "only a format": '{"format": 1}',
    "another format": '{"format": 99}',
    "a broken game": '{"format": 1, "game": {}, "policy": {"policy": "ids"}, "seed": 0}',
}


@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN.keys())
def test_a_file_that_is_no_learner_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "learner.json").write_text(text)
    with pytest.raises(InvalidInput) as caught:
        pm.Learner.load(tmp_path / "learner.json")
    assert str(caught.value).endswith(".")


def test_paths_that_do_not_exist_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="nowhere"):
        pm.Learner.load(tmp_path / "nowhere.json")
    with pytest.raises(InvalidInput, match="nowhere"):
        played("pricing", 1).save(tmp_path / "nowhere" / "learner.json")


# -- history and logged data -----------------------------------------------------------------


def test_history_has_a_row_per_decision() -> None:
    learner = pm.Learner(pm.games.dynamic_pricing(), seed=0)
    first, second = learner.ask(), learner.ask()
    learner.tell(second, "yes")
    rows = learner.history
    assert [row["id"] for row in rows] == [0, 1]
    assert [row["observation"] for row in rows] == [None, "yes"]
    assert rows[0]["action"] == first.action
    assert rows[1]["label"] == second.label
    assert rows[1]["probability"] == second.probability
    assert rows[1]["round"] == 1
    rows[0]["observation"] = "changed"
    assert learner.history[0]["observation"] is None


def test_logged_data_count_as_observations() -> None:
    """tell_past is the same as having asked and told."""
    live = played("pricing", 20)
    logged = pm.Learner(live.game, seed=3)
    rows = live.history
    logged.tell_past([row["label"] for row in rows], [row["observation"] for row in rows])
    assert logged.round == live.round == 21
    one, two = logged.ask(), live.ask()
    assert np.array_equal(one.estimate, two.estimate)
    assert one.beta == two.beta
    assert np.array_equal(one.gaps, two.gaps)
    assert one.id == 0


def test_logged_data_by_index_and_as_generators() -> None:
    one, two = (pm.Learner(pm.games.linear_bandit(), seed=3) for _ in range(2))
    one.tell_past([0, 1, 0], [[0.5], [0.2], 0.1])
    two.tell_past(iter(["0", "1", "0"]), (y for y in (0.5, [0.2], [0.1])))
    assert np.array_equal(one.ask().estimate, two.ask().estimate)


BAD_LOGS: dict[str, tuple[Any, Any]] = {
    "lengths": (["$1", "$2"], ["yes"]),
    "unknown action": (["$9"], ["yes"]),
    "unknown signal": (["$1", "$1"], ["yes", "maybe"]),
    "no list": (5, ["yes"]),
    "no list of observations": (["$1"], 5),
    "a word": ("$1", ["yes"]),
}


@pytest.mark.parametrize("log", BAD_LOGS.values(), ids=BAD_LOGS.keys())
def test_bad_logs_are_refused_as_a_whole(log: tuple[Any, Any]) -> None:
    learner = pm.Learner(pm.games.dynamic_pricing(), seed=0)
    refused(lambda: learner.tell_past(*log), learner)


# -- hopeless games and other refusals -------------------------------------------------------


def test_hopeless_games_are_refused_with_the_reason() -> None:
    with pytest.raises(InvalidInput) as caught:
        pm.Learner(pm.games.matching_pennies("none"))
    text = str(caught.value)
    for word in ("heads", "tails", "hopeless", "allow_hopeless=True"):
        assert word in text
    pm.Learner(pm.games.matching_pennies("none"), allow_hopeless=True).ask()


HOPELESS: dict[str, pm.Game] = {
    "ball": pm.games.finite_versus_linear("silent ball"),
    "duels": pm.games.graph_dueling([(0, 1), (2, 3)]),
    "half seen": pm.Game(np.eye(2), [[[1.0, 0.0]]] * 2, pm.AllParameters(2)),
}


@pytest.mark.parametrize("name", HOPELESS)
def test_every_hopeless_game_is_refused(name: str) -> None:
    assert pm.analyze(HOPELESS[name]).category == "hopeless"
    with pytest.raises(InvalidInput, match="hopeless"):
        pm.Learner(HOPELESS[name])


LEARNABLE: dict[str, pm.Game] = {
    "trivial": pm.games.finite_versus_linear("simplex"),
    "hard": pm.games.label_efficient(),
    "unseen but irrelevant": pm.Game(
        [[1.0, 0.0], [-1.0, 0.0]], [[[1.0, 0.0]]] * 2, pm.AllParameters(2)
    ),
    "only a dominated action is unseen": pm.Game(
        [[1.0, 0.0], [-1.0, 0.0], [-9.0, 0.1]], [[[1.0, 0.0]]] * 3, pm.Box([0.5, 0.0], [1.0, 1.0])
    ),
}


@pytest.mark.parametrize("name", LEARNABLE)
def test_games_that_can_be_learned_are_not_refused(name: str) -> None:
    assert pm.analyze(LEARNABLE[name]).category != "hopeless"
    pm.Learner(LEARNABLE[name]).ask()


BAD_ARGUMENTS: dict[str, tuple[tuple[Any, ...], str]] = {
    "no game": ((None,), "game"),
    "a name": (("dynamic_pricing",), "game"),
    "a policy by class": ((pm.games.dynamic_pricing(), pm.IDS), "policy"),
    "a word as policy": ((pm.games.dynamic_pricing(), "best"), "policy"),
    "a number as policy": ((pm.games.dynamic_pricing(), 3), "policy"),
    "a negative seed": ((pm.games.dynamic_pricing(), pm.IDS(), -1), "seed"),
    "a fractional seed": ((pm.games.dynamic_pricing(), pm.IDS(), 0.5), "seed"),
    "no seed": ((pm.games.dynamic_pricing(), pm.IDS(), None), "seed"),
}


@pytest.mark.parametrize("case", BAD_ARGUMENTS.values(), ids=BAD_ARGUMENTS.keys())
def test_bad_arguments_are_refused(case: tuple[tuple[Any, ...], str]) -> None:
    arguments, name = case
    with pytest.raises(InvalidInput, match=name) as caught:
        pm.Learner(*arguments)
    assert str(caught.value).endswith(".")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("power", [31, 32, 62, 63, 64, 70])
def test_large_seeds_are_used_or_refused(power: int) -> None:
    try:
        learner = pm.Learner(pm.games.label_efficient(), seed=2**power)
    except InvalidInput as error:
        assert "seed" in str(error)  # noqa: PT017
        assert power > 62
    else:
        assert learner.ask().probability > 0


# -- status ----------------------------------------------------------------------------------


def test_status_names_what_may_still_be_best() -> None:
    learner = pm.Learner(pm.games.apple_tasting())
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
    quiet, loud = pm.Learner(game), pm.Learner(game)
    noise = rng.normal(size=200)
    actions = [0, 1] * 100
    quiet.tell_past(actions, list(0.5 + 0.1 * noise))
    loud.tell_past(actions, list(0.5 + noise))
    assert quiet.status().warnings == []
    assert any("noise_std" in warning for warning in loud.status().warnings)


def test_status_warns_when_the_truth_drifts() -> None:
    rng = np.random.default_rng(0)
    learner = pm.Learner(pm.games.bernoulli_bandit_linear(2))
    drift = [*(rng.random(200) < 0.2).astype(float), *(rng.random(200) < 0.9).astype(float)]
    learner.tell_past([0] * 400, drift)
    assert any("drift" in warning for warning in learner.status().warnings)


def test_status_warns_when_the_estimate_is_pressed_against_theta() -> None:
    learner = pm.Learner(pm.games.linear_bandit([[1.0, 0.0], [0.0, 1.0]]))
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


# -- duels -----------------------------------------------------------------------------------


def test_duels_are_saved_and_go_on(tmp_path: Path) -> None:
    game = pm.games.dueling(items=["tea", "coffee", "milk"])
    learner = pm.Learner(game, pm.DuelingIDS(), seed=0)
    for y in (0.3, -0.1, 0.2):
        learner.tell(learner.ask(), [y])
    left = learner.ask()
    learner.save(tmp_path / "learner.json")
    again = pm.Learner.load(tmp_path / "learner.json")
    for other in (learner, again):
        other.tell(left.id, 0.5)
    for _ in range(20):
        one, two = learner.ask(), again.ask()
        assert one.label == two.label
        assert np.array_equal(one.distribution, two.distribution)
        learner.tell(one, [0.1])
        again.tell(two, [0.1])


def test_duels_explain_themselves() -> None:
    learner = pm.Learner(pm.games.dueling(items=["tea", "coffee", "milk"]), pm.DuelingIDS(), seed=0)
    decision = learner.ask()
    assert decision.label in decision.explain()
    assert decision.probability == decision.distribution[decision.place]
