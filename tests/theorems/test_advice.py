"""Advice against brute force: every subset of the candidates, analysed as a game."""

from itertools import combinations
from typing import Any

import numpy as np
import pytest

import partial_monitoring as pm
from partial_monitoring.analysis import advice as module
from partial_monitoring.analysis.advice import LADDER, with_measurements
from partial_monitoring.analysis.measurements import default_candidates
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


def test_advice_is_in_words_of_signals() -> None:
    """What to buy is which outcomes to tell apart after which signal, not a reward difference."""
    advice = pm.advise(
        "dynamic_pricing",
        [
            own
            for own in default_candidates(PRICING, pm.analyze(PRICING))
            if "reward" not in own.label
        ],
    )
    assert advice.achieved
    assert repr(advice) == "Advice(hard to easy, 1 measurement, cost 1)"
    labels = [own.label for own in default_candidates(PRICING, pm.analyze(PRICING))]
    assert "when you see 'yes' after '$2', you can tell '$2' from '$3'" in labels
    assert any(label.startswith("after '$1', which always shows the same, you") for label in labels)
    assert not any("better" in label for label in labels)
    assert "<li>after &#x27;$1&#x27;" in advice._repr_html_()


@pytest.mark.parametrize("name", KNOWN)
def test_splits_of_signals_show_the_difference(name: str) -> None:
    """After playing a, its signals and their splits show how much better it is than a rival."""
    game = load(name)
    if not game.traits.finite:
        return
    for own in default_candidates(game, pm.analyze(game)):
        if "you can tell" in own.label:
            shown = game.signals[game.action_index(own.action)]
            for row in own.rows:
                assert len({shown[x] for x in np.flatnonzero(row)}) == 1, "splits one signal"
    for a, b in pm.analyze(game).neighbors:
        splits = [
            m.rows
            for m in default_candidates(game, pm.analyze(game))
            if m.action == a and "you can tell" in m.label
        ]
        rows = np.concatenate([game.rows(a), *splits])
        rest = np.linalg.lstsq(rows.T, game.rewards[a] - game.rewards[b], rcond=None)
        assert np.allclose(rows.T @ rest[0], game.rewards[a] - game.rewards[b])


def test_a_hopeless_game_can_be_made_learnable_without_being_easy() -> None:
    game = pm.games.graph_dueling([(0, 1), (2, 3)])
    duel = pm.Measurement("0 | 1", [[1, 0, -1, 0]], "comparing 0 and 1 would also show 0 against 2")
    advice = pm.advise(game, [duel], target="hard")
    assert advice.before.category == "hopeless"
    assert advice.after.category == "hard"


GAME = pm.games.apple_tasting()
PRICING = pm.games.dynamic_pricing()
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
