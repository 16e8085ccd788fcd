"""Worlds that are not one parameter: outcomes, opponents, parameters that move."""

import math
from itertools import cycle, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput
from partial_monitoring.simulation.changing import lead_over_fixed
from partial_monitoring.simulation.play import play, play_batched
from partial_monitoring.simulation.truths import read_truth
from tests.oracles.two_ways import same

APPLES = pm.games.apple_tasting()
PRICES = pm.games.dynamic_pricing()


def by_hand(game: Any, actions: list[int], outcomes: list[int], t: int) -> float:
    """Regret against the best fixed action of the first t outcomes, as it is defined."""
    earned = sum(game.rewards[a, x] for a, x in zip(actions[:t], outcomes[:t], strict=True))
    return max(sum(own[x] for x in outcomes[:t]) for own in game.rewards) - earned


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_the_lead_over_fixed_actions_is_that_of_all_of_them(data: st.DataObject) -> None:
    k, d, n = (data.draw(st.integers(1, 4)) for _ in range(3))
    rounds = data.draw(st.integers(1, 12))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    rewards, rows = rng.normal(size=(d, k)), rng.integers(0, d, (n, rounds))
    marks = np.unique(rng.integers(1, rounds + 1, 3))
    found = lead_over_fixed(rewards, rows, marks)
    for i, (j, t) in product(range(n), enumerate(marks)):
        gained = [rewards[x] for x in rows[i, :t]]
        slow = sum(own.max() for own in gained) - max(np.sum(gained, axis=0))
        assert found[i, j] == pytest.approx(slow, abs=1e-12)


class Recorder:
    """A policy that plays a fixed list of actions."""

    def __init__(self, actions: list[int]) -> None:
        self.actions = actions

    def init(self, game: Any, n: int) -> int:
        return 0

    def decide(self, state: int, uniforms: Any, available: Any = None) -> pm.Choices:
        action = np.full(len(uniforms), self.actions[state])
        return pm.Choices(action, np.eye(APPLES.k)[action])

    def update(self, state: int, action: Any, observation: Any) -> int:
        return state + 1


@pytest.mark.parametrize("number", range(16))
def test_regret_in_hindsight_by_enumeration(number: int) -> None:
    actions = [number >> i & 1 for i in range(4)]
    for outcomes in product(range(2), repeat=4):
        result = pm.simulate(
            APPLES, {"fixed": Recorder(actions)}, pm.truths.outcomes(outcomes),
            horizon=4, seeds=2, checkpoints=[1, 2, 3, 4],
        )  # fmt: skip
        slow = [by_hand(APPLES, actions, list(outcomes), t) for t in range(1, 5)]
        assert result.regret["fixed"].tolist() == [slow, slow]
        assert result.against == "the best fixed action in hindsight"
        shares = np.bincount(outcomes, minlength=2) / 4
        assert (result.theta == shares).all()


@pytest.mark.parametrize("policy", ["cbp", "randcbp", "ids", "calibrated", "greedy"])
@pytest.mark.parametrize("seeded", [False, True])
def test_compiled_rounds_are_the_batched_ones(policy: str, seeded: bool) -> None:
    def drawn(t: int, seed: int) -> int:
        return (t * t + seed * t) // 7 % 3

    rng = np.random.default_rng(0)
    source = drawn if seeded else rng.integers(0, 3, 600)
    truth = pm.truths.outcomes(source).prepared(PRICES, 600)
    marks, seeds = np.array([1, 513, 600]), np.arange(3)
    own = pm.policies.make(policy)
    quick = play(PRICES, own, truth.environment(PRICES, seeds, 600), marks, threads=2)
    environment = truth.environment(PRICES, seeds, 600)
    slow = play_batched(PRICES, own, environment, marks)
    slow.regret -= environment.lead(marks)
    assert quick.backend == "compiled"
    assert same(quick, slow)


@pytest.mark.parametrize("game", ["apple_tasting", "linear_bandit", "survey"])
def test_moving_parameters_are_compiled_and_batched_alike(game: str) -> None:
    if game == "linear_bandit":
        known = pm.games.linear_bandit([[1.0, 0.0], [0.0, 1.0]], pm.Ball(np.zeros(2), 1.0))
        path = [[0.5, 0.1], [0.0, 0.8], [-0.3, 0.1]]
    else:
        known, path = getattr(pm.games, game)(), [[0.9, 0.1], [0.2, 0.8], [0.5, 0.5]]
    marks, seeds = np.array([50, 300]), np.arange(3)
    for truth in (pm.truths.switching(path, at=[70, 200]), pm.truths.drifting(path, steps=40)):
        ready = truth.prepared(known, 300)
        environment = ready.environment(known, seeds, 300)
        quick = play(known, pm.IDS(), environment, marks, threads=1)
        slow = play_batched(known, pm.IDS(), ready.environment(known, seeds, 300), marks)
        assert quick.backend == "compiled"
        assert same(quick, slow)
        assert environment.lead(marks) is None


def test_regret_of_moving_parameters_is_against_the_best_of_each_round() -> None:
    theta = [[0.9, 0.1], [0.2, 0.8]]
    result = pm.simulate(
        APPLES, {"fixed": Recorder([0] * 10)}, pm.truths.switching(theta, at=[4]),
        horizon=10, seeds=1, checkpoints=range(1, 11),
    )  # fmt: skip
    gaps = [(APPLES.rewards @ own).max() - APPLES.rewards[0] @ own for own in theta]
    slow = np.cumsum([gaps[0]] * 4 + [gaps[1]] * 6)
    np.testing.assert_allclose(result.regret["fixed"][0], slow)
    np.testing.assert_allclose(result.theta[0], [0.48, 0.52])
    assert result.against == "the best action of each round"


def test_outcomes_from_everywhere_are_the_same(tmp_path: Path) -> None:
    labels = list(APPLES.outcomes)
    numbers = [0, 1, 1, 0, 1]
    texts = [labels[x] for x in numbers]
    (tmp_path / "a.txt").write_text("\n".join(texts) + "\n\n")
    (tmp_path / "a.csv").write_text("outcome\n" + "\n".join(texts))
    (tmp_path / "b.csv").write_text("\n".join(map(str, numbers)))
    (tmp_path / "a.json").write_text(str(numbers))
    sources = [numbers, texts, np.array(numbers), iter(numbers), (x for x in texts)]
    sources += [str(tmp_path / "a.txt"), tmp_path / "a.csv", tmp_path / "b.csv"]
    sources += [tmp_path / "a.json", lambda t, seed: numbers[t], [*numbers, 0, 0]]
    found = []
    for source in sources:
        truth = pm.truths.outcomes(source).prepared(APPLES, 5)
        found.append(truth.rows(APPLES, np.arange(2), 5).tolist()[0])
    assert found == [numbers] * len(sources)


def test_iterators_are_read_once_and_lists_repeat() -> None:
    endless = pm.truths.outcomes(cycle([0, 1, 1]))
    for rounds in (4, 2, 9):
        rows = endless.prepared(APPLES, rounds).rows(APPLES, np.arange(1), rounds)
        assert rows.tolist() == [[0, 1, 1, 0, 1, 1, 0, 1, 1][:rounds]]
    again = pm.truths.outcomes([0, 1, 1], repeat=True).prepared(APPLES, 7)
    assert again.rows(APPLES, np.arange(1), 7).tolist() == [[0, 1, 1, 0, 1, 1, 0]]


def test_an_adaptive_opponent_sees_the_past_and_nothing_else() -> None:
    seen: list[Any] = []

    def contrary(t: int, seed: int, actions: Any) -> str:
        seen.append((t, seed, actions.tolist()))
        with pytest.raises(ValueError, match="read-only"):
            actions[...] = 0
        return APPLES.outcomes[0 if t == 0 else int(actions[-1])]

    actions = [0, 1, 1, 0, 1]
    truth = pm.truths.adaptive(contrary)
    result = pm.simulate(
        APPLES, {"one": Recorder(actions), "two": Recorder([1] * 5)}, truth,
        horizon=5, seeds=[3, 8], checkpoints=range(1, 6),
    )  # fmt: skip
    assert seen[:10] == [(t, seed, actions[:t]) for t in range(5) for seed in (3, 8)]
    slow = [by_hand(APPLES, actions, [0, *actions[:-1]], t) for t in range(1, 6)]
    assert result.regret["one"].tolist() == [slow, slow]
    slow = [by_hand(APPLES, [1] * 5, [0, 1, 1, 1, 1], t) for t in range(1, 6)]
    assert result.regret["two"].tolist() == [slow, slow]
    assert np.isnan(result.theta).all()


def test_an_opponent_may_choose_for_all_seeds_at_once() -> None:
    def together(t: int, seeds: Any, actions: Any) -> Any:
        return (seeds + actions.sum(axis=1) + t) % 2

    def alone(t: int, seed: int, actions: Any) -> int:
        return int((seed + actions.sum() + t) % 2)

    one, other = (
        pm.simulate("apple_tasting", ["cbp", "ids"], truth, horizon=60, seeds=4)
        for truth in (pm.truths.adaptive(alone), pm.truths.adaptive(together, batched=True))
    )
    for name in one.policies:
        assert one.backend[name] == "batched: the opponent answers what was played before"
        assert (one.regret[name] == other.regret[name]).all()


def test_a_hostile_opponent_costs_predictable_policies_a_share_of_all_rounds() -> None:
    result = pm.simulate(
        "apple_tasting", ["greedy", "cbp"], "hostile", horizon=2000, seeds=2, checkpoints=[1000]
    )
    for name in result.policies:
        assert result.mean(name)[-1] > 0.5 * 2000
        assert result.mean(name)[-1] > 1.7 * result.mean(name)[0]


def test_hostile_outcomes_are_worst_for_what_was_played() -> None:
    truth: Any = pm.truths.hostile(math.inf)
    choose = truth.begin(PRICES, np.arange(1))
    gaps = PRICES.rewards.max(axis=0) - PRICES.rewards
    actions = np.array([[2, 0, 1, 1, 2, 0, 0, 0]])
    for t in range(9):
        counts = np.bincount(actions[0, :t], minlength=PRICES.k)
        assert choose(t, actions[:, :t])[0] == (counts @ gaps).argmax()


def test_seeds_do_not_depend_on_each_other() -> None:
    for truth in ("hostile", pm.truths.outcomes(lambda t, seed: (t + seed) % 2), "lower_bound"):
        both = pm.simulate("apple_tasting", "cbp", truth, horizon=80, seeds=[4, 9])
        alone = pm.simulate("apple_tasting", "cbp", truth, horizon=80, seeds=[9])
        assert (both.only([9]).regret["cbp"] == alone.regret["cbp"]).all()


def test_results_with_negative_regret(tmp_path: Path) -> None:
    theta = pm.truths.outcomes([0] * 50 + [1] * 50)
    clever = {"clever": Recorder([1] * 50 + [0] * 50), "fixed": Recorder([0] * 100)}
    swap = APPLES.rewards[1, 0] < APPLES.rewards[0, 0]
    if swap:
        clever["clever"] = Recorder([0] * 50 + [1] * 50)
    result = pm.simulate(APPLES, clever, theta, horizon=100, seeds=3)
    assert result.mean("clever")[-1] < 0
    assert math.isnan(result.exponent("clever").value)
    text = str(result)
    assert "Regret against the best fixed action in hindsight." in text
    assert "-" in text
    low = result.plot().axes[0].get_ylim()[0]
    assert low <= result.mean("clever")[-1]
    result.save(tmp_path / "kept.parquet")
    again = pm.Result.load(tmp_path / "kept.parquet")
    assert again.against == result.against
    assert str(again) == text
    other = pm.simulate(APPLES, {"ids": pm.IDS()}, [0.5, 0.5], horizon=100, seeds=3)
    with pytest.raises(InvalidInput, match="against the same"):
        result.merged(other)


def test_policies_of_an_adaptive_opponent_can_be_merged() -> None:
    one, two = (
        pm.simulate("apple_tasting", name, "hostile", horizon=9, seeds=2) for name in ("cbp", "ids")
    )
    assert one.merged(two).policies == ["cbp", "ids"]


BAD = {
    "a label": (lambda: pm.truths.outcomes(["rotten", "x"]), r"outcome 2: no outcome named 'x'"),
    "a number": (lambda: pm.truths.outcomes([0, 2]), "outcome 2: outcome must be a label or an"),
    "nan": (lambda: pm.truths.outcomes([0, math.nan]), "outcome 2 must be a label"),
    "a fraction": (lambda: pm.truths.outcomes([0.5]), "outcome 1 must be a label"),
    "a boolean": (lambda: pm.truths.outcomes([0, True]), "outcome 2 must be a label"),
    "none": (lambda: pm.truths.outcomes([]), "at least one outcome; got none"),
    "too short": (lambda: pm.truths.outcomes([0, 1]), r"last for 9 rounds; got 2 \(repeat=True"),
    "a table": (lambda: pm.truths.outcomes(np.zeros((9, 2), int)), "outcome 1 must be a label"),
    "a number alone": (lambda: pm.truths.outcomes(3), "must be a list, a file, an iterator or"),
    "a set": (lambda: pm.truths.outcomes({0, 1}), "must be a list, a file, an iterator or"),
    "no file": (lambda: pm.truths.outcomes("nowhere.csv"), "nowhere.csv: no such file"),
    "a kind of file": (lambda: pm.truths.outcomes("a.xls"), "named .csv, .json or .txt"),
    "repeat": (lambda: pm.truths.outcomes(lambda t, s: 0, repeat=True), "repeat is for outcomes"),
    "truth of repeat": (lambda: pm.truths.outcomes([0], repeat=1), "repeat must be"),
    "of a function": (lambda: pm.truths.outcomes(lambda t, s: t), "outcome 3: outcome must be"),
    "no opponent": (lambda: pm.truths.adaptive(3), "must be a function"),
    "an answer": (
        lambda: pm.truths.adaptive(lambda t, s, a: "x"),
        "in round 1: no outcome",
    ),
    "answers": (
        lambda: pm.truths.adaptive(lambda t, s, a: [0], batched=True),
        "one outcome for each of 2 seeds",
    ),
    "memory": (lambda: pm.truths.hostile(0.5), "memory must be at least one round"),
    "no memory": (lambda: pm.truths.hostile(math.nan), "memory must be"),
    "too late": (lambda: pm.truths.switching([[1, 0], [0, 1]], at=[9]), "rounds before 9"),
    "how many": (lambda: pm.truths.switching([[1, 0], [0, 1]], at=[2, 3]), "at must be 1 incr"),
    "outside": (lambda: pm.truths.switching([[1, 0], [1, 1]]), "theta"),
    "one point": (lambda: pm.truths.drifting([[1, 0]]), "at least 2 parameters"),
    "steps": (lambda: pm.truths.drifting([[1, 0], [0, 1]], steps=1), "steps must be"),
    "size": (lambda: pm.truths.lower_bound(size=0), "size must be"),
    "no pair": (lambda: pm.truths.lower_bound(pair=(0, 0)), "pair must be two neighbours"),
    "a triple": (lambda: pm.truths.lower_bound(pair=(0, 1, 1)), "pair must be two actions"),
    "no horizon": (lambda: pm.truths.lower_bound(APPLES), "horizon must be given"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused_in_one_sentence(case: str) -> None:
    build, message = BAD[case]
    with pytest.raises(InvalidInput, match=message) as refusal:
        pm.simulate(APPLES, "cbp", build(), horizon=9, seeds=2)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("truth", ["hostile", "lower_bound", pm.truths.outcomes([0] * 9)])
def test_other_games_are_refused(truth: Any) -> None:
    for game in ("linear_bandit", "survey"):
        options: Any = ([[1.0, 0.0], [0.0, 1.0]],) if game == "linear_bandit" else ()
        known = getattr(pm.games, game)(*options)
        with pytest.raises(InvalidInput, match="finite games without contexts"):
            pm.simulate(known, pm.IDS(), truth, horizon=9, seeds=2)


def test_too_many_rounds_and_noise_are_refused() -> None:
    with pytest.raises(InvalidInput, match="at most 200,000,000"):
        pm.simulate(APPLES, "cbp", "hostile", horizon=10**9, seeds=2)
    with pytest.raises(InvalidInput, match="noise must be left out"):
        pm.simulate(APPLES, "cbp", "hostile", horizon=9, seeds=2, noise="gaussian")


def test_words_and_tables_name_the_same_truths(tmp_path: Path) -> None:
    (tmp_path / "kept.txt").write_text("0\n1\n")
    known: list[tuple[Any, str]] = [
        ("hostile", "hostile"), ({"hostile": 50}, "hostile"), ("lower_bound", "lower_bound"),
        ({"lower_bound": 0.5, "pair": [0, 1]}, "lower_bound"), ("kept.txt", "kept"),
        ({"outcomes": [0, 1], "repeat": True}, "outcomes"), ({"outcomes": "kept.txt"}, "kept"),
        ({"switching": [[1, 0], [0, 1]], "at": [3]}, "switching"),
        ({"drifting": [[1, 0], [0, 1]], "steps": 9}, "drifting"),
    ]  # fmt: skip
    for value, name in known:
        assert read_truth(value, APPLES, folder=tmp_path).name == name
    with pytest.raises(InvalidInput, match="no key of a table of outcomes named 'repeats'"):
        read_truth({"outcomes": [0], "repeats": True}, APPLES)
