"""Advice against brute force: every subset of the candidates, analysed as a game."""

from itertools import combinations
from typing import Any

import numpy as np
import pytest

import partial_monitoring as pm
from partial_monitoring.analysis import advice as module
from partial_monitoring.analysis.advice import LADDER, with_measurements
from partial_monitoring.errors import InvalidInput
from tests.oracles.known_games import KNOWN, load


def cheapest_by_brute_force(
    game: pm.Game, candidates: list[pm.Measurement], target: str
) -> float | None:
    costs = []
    for size in range(len(candidates) + 1):
        for chosen in combinations(candidates, size):
            category = pm.analyze(with_measurements(game, chosen)).category
            if LADDER.index(category) >= LADDER.index(target):
                costs.append(sum(measurement.cost for measurement in chosen))
    return min(costs, default=None)


def random_case(seed: int) -> tuple[pm.Game, list[pm.Measurement]]:
    rng = np.random.default_rng(seed)
    d, k = int(rng.integers(2, 4)), int(rng.integers(2, 5))
    game = pm.FiniteGame(rng.integers(0, 4, (k, d)), rng.integers(0, 2, (k, d)))
    candidates = [
        pm.Measurement(
            int(rng.integers(k)), rng.integers(-1, 2, (1, d)), cost=int(rng.integers(1, 4))
        )
        for _ in range(5)
    ]
    return game, candidates


@pytest.mark.parametrize("target", ["easy", "hard"])
@pytest.mark.parametrize("seed", range(8))
def test_the_cheapest_set_is_found(seed: int, target: str) -> None:
    game, candidates = random_case(seed)
    advice = pm.advise(game, candidates, target)
    cheapest = cheapest_by_brute_force(game, candidates, target)
    assert advice.optimal
    assert advice.achieved == (cheapest is not None)
    if cheapest is not None:
        assert advice.cost == cheapest


@pytest.mark.parametrize("seed", range(8))
def test_with_too_many_candidates_the_answer_is_honest(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    game, candidates = random_case(seed)
    cheapest = cheapest_by_brute_force(game, candidates, "easy")
    monkeypatch.setattr(module, "MOST_SETS", 0)
    advice = pm.advise(game, candidates)
    assert advice.achieved == (cheapest is not None)
    if cheapest is not None:
        assert advice.cost >= cheapest
        assert not advice.optimal or advice.cost == cheapest
        if not advice.optimal:
            for left_out in combinations(advice.measurements, len(advice.measurements) - 1):
                category = pm.analyze(with_measurements(game, left_out)).category
                assert LADDER.index(category) < LADDER.index("easy")


@pytest.mark.parametrize("name", KNOWN)
def test_every_known_game_can_be_made_easy(name: str) -> None:
    advice = pm.advise(load(name))
    assert advice.achieved
    assert advice.after.verify()
    assert (len(advice.measurements) == 0) == (KNOWN[name]["category"] in ("easy", "trivial"))


def test_words() -> None:
    text = pm.advise(pm.games.label_efficient()).explain()
    assert "playing 'predict 0' would also show its own reward" in text
    assert "Verified in exact arithmetic" in text
    assert "no further measurement is needed" in pm.advise(pm.games.apple_tasting()).explain()
    useless = [pm.Measurement("heads", [[1, 1]])]
    none = pm.advise(pm.games.matching_pennies("none"), useless)
    assert not none.achieved
    assert "not even all candidate measurements together make it easy" in none.explain()
    assert str(none) == none.explain()


def test_a_hopeless_game_can_be_made_learnable_without_being_easy() -> None:
    game = pm.games.graph_dueling([(0, 1), (2, 3)])
    duel = pm.Measurement("0 | 1", [[1, 0, -1, 0]], "comparing 0 and 1 would also show 0 against 2")
    advice = pm.advise(game, [duel], target="hard")
    assert advice.before.category == "hopeless"
    assert advice.after.category == "hard"


GAME = pm.games.apple_tasting()
BAD: list[tuple[Any, str]] = [
    (lambda: pm.advise(GAME, target="trivial"), "target must be one of 'easy', 'hard'; got 'trivi"),
    (lambda: pm.advise(GAME, [3]), "candidates must be Measurement objects; got 3 at 0."),
    (lambda: pm.advise(GAME, [pm.Measurement("eat", [1, 0])]), "no action named 'eat'"),
    (lambda: pm.advise(GAME, [pm.Measurement(0, [1])]), "candidates[0].rows must have 2 columns"),
    (lambda: pm.Measurement(0, [1, 0], cost=0), "cost must be positive; got 0."),
    (lambda: pm.Measurement(0, [np.nan]), "rows must be finite; got nan at index 0."),
]


@pytest.mark.parametrize(("call", "message"), BAD, ids=[message for _, message in BAD])
def test_bad_input_gets_one_sentence(call: Any, message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        call()
    assert str(caught.value).startswith(message)
