"""Learners that move to another game, in which actions were added, removed or changed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput
from partial_monitoring.learner import moved as moving

PRICES = {"$1": "yyy", "$2": "nyy", "$3": "nny", "$1.5": "nyy"}
EARNS = {"$1": [1.0, 1, 1], "$2": [0, 2, 2], "$3": [0, 0, 3], "$1.5": [0, 1.5, 1.5]}
FEATURES = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.6], [0.3, -0.5]])


def shop(*prices: str, **changed: str) -> pm.FiniteGame:
    """A game of prices, some of which show something else than usual."""
    signals = PRICES | changed
    return pm.FiniteGame(
        [EARNS[name] for name in prices],
        [signals[name] for name in prices],
        actions=prices,
        outcomes=["low", "middle", "high"],
    )


def bandit(*numbers: int) -> pm.Game:
    return pm.Game(
        FEATURES[list(numbers)],
        FEATURES[list(numbers), None],
        pm.Ball([0.0, 0.0], 1.0),
        actions=[f"arm {a}" for a in numbers],
    )


def play(learner: pm.Learner, rounds: int, seed: int = 0, late: int = 0) -> list[pm.Decision]:
    """Play some rounds, and leave some decisions open."""
    rng, game = np.random.default_rng(seed), learner.game
    options = {"context": "a"} if game.traits.contexts else {}
    for _ in range(rounds):
        decision = learner.ask(**options)
        own: Any = game.context(options.get("context")).game
        if game.traits.signals:
            learner.tell(
                decision,
                own.symbols[decision.action][rng.integers(len(own.symbols[decision.action]))],
            )
        else:
            learner.tell(decision, rng.normal(size=own.row_count(decision.action)).tolist())
    return [learner.ask(**options) for _ in range(late)]


def segmented(*names: str) -> pm.AnyGame:
    return pm.segments({name: shop("$1", "$2", "$3") for name in names})


GAMES: dict[str, tuple[Any, Any]] = {
    "signals": (shop("$1", "$2", "$3"), None),
    "least squares": (shop("$1", "$2", "$3"), pm.IDS()),
    "cbp": (shop("$1", "$2", "$3"), "randcbp"),
    "weighting": (shop("$1", "$2", "$3"), "feedexp3"),
    "probes": (shop("$1", "$2", "$3"), pm.Probing(pm.IDS(), 0.2)),
    "linear": (bandit(0, 1, 2), None),
    "duels": (pm.games.dueling(FEATURES), None),
    "kernel": (pm.games.kernelized_bandit(), pm.IDS()),
    "segments": (segmented("a", "b"), None),
    "box": (pm.KernelBoxGame(pm.kernels.Matern(2.5, 0.3), [0.0], [1.0]), None),
    "kernel duels": (pm.games.kernelized_dueling(), pm.IDS()),
    "elsewhere": (pm.games.kernelized_transductive(), pm.IDS()),
}


def assert_decide_alike(one: pm.Learner, two: pm.Learner, tolerance: float = 0.0) -> None:
    options = {"context": "a"} if one.game.traits.contexts else {}
    for _ in range(3):
        mine, other = one.ask(**options), two.ask(**options)
        if tolerance == 0:
            assert mine.distribution.tolist() == other.distribution.tolist()
            assert mine.label == other.label
        else:
            np.testing.assert_allclose(mine.distribution, other.distribution, atol=tolerance)


@pytest.mark.parametrize("name", GAMES)
def test_in_the_same_game_it_decides_as_before(name: str, tmp_path: Any) -> None:
    game, policy = GAMES[name]
    learner = pm.Learner(game, policy, seed=5)
    learner.tell_past(*_logged(learner))
    waiting = play(learner, 8, late=3)
    moved = learner.moved_to(game)
    assert [own.id for own in moved.open] == [own.id for own in waiting]
    assert moved.open == learner.open
    moved.save(tmp_path / "moved.json")
    loaded = pm.Learner.load(tmp_path / "moved.json")
    again = pm.Learner.replay(game, policy, 5, moved.events, check=True)
    for own in (loaded, again):
        assert_decide_alike(own, learner.moved_to(game))
    assert_decide_alike(moved, learner)
    report = moved.moved
    assert report is not None
    assert report.kept == learner.round - 1
    assert not any((report.left_out, report.added, report.removed, report.cancelled))
    assert loaded.moved is None


def _logged(learner: pm.Learner) -> tuple[Any, ...]:
    game: Any = learner.game
    if game.traits.contexts:
        return ["$2", "$2"], ["n", "y"], ["a", "b"]
    shown = ["y", "y"] if game.traits.signals else [[0.5], [-0.25]]
    return [1 if game.row_count(1) else game.k - 1] * 2, shown


@pytest.mark.parametrize("policy", [None, pm.IDS(), "randcbp"])
def test_an_action_that_came_and_went_changes_nothing(policy: Any) -> None:
    learner = pm.Learner(shop("$1", "$2", "$3"), policy, seed=2)
    play(learner, 12, late=2)
    between = learner.moved_to(shop("$1", "$1.5", "$2", "$3"))
    assert between.moved is not None
    assert between.moved.added == ("$1.5",)
    back = between.moved_to(learner.game)
    assert back.moved is not None
    assert back.moved.removed == ("$1.5",)
    assert_decide_alike(back, learner)


@settings(max_examples=10, deadline=None)
@given(
    counts=st.lists(st.integers(0, 30), min_size=5, max_size=5),
    kept=st.sets(st.sampled_from(["$1", "$2", "$3", "$1.5"]), min_size=2),
)
def test_it_knows_what_was_observed_of_the_actions_that_stay(
    counts: list[int], kept: set[str]
) -> None:
    rows = [("$1", "y"), ("$2", "n"), ("$2", "y"), ("$3", "n"), ("$3", "y")]
    every = [row for row, n in zip(rows, counts, strict=True) for _ in range(n)]
    learner = pm.Learner(shop("$1", "$2", "$3"), seed=2, allow_hopeless=True)
    new = shop(*(name for name in PRICES if name in kept))
    told = pm.Learner(new, seed=2, allow_hopeless=True)
    learner.tell_past([a for a, _ in every], [y for _, y in every])
    stay = [row for row in every if row[0] in kept]
    told.tell_past([a for a, _ in stay], [y for _, y in stay])
    moved = learner.moved_to(new)
    assert moved.round == told.round
    assert_decide_alike(moved, told)
    assert moved.moved is not None
    assert sum(moved.moved.left_out.values()) == len(every) - len(stay)


@pytest.mark.parametrize("policy", [None, pm.IDS(), "linucb"])
def test_least_squares_keeps_what_removed_actions_showed(policy: Any, tmp_path: Any) -> None:
    learner = pm.Learner(bandit(0, 1, 2, 3), policy, seed=2)
    play(learner, 10)
    learner.tell_past(["arm 3", "arm 3"], [[0.2], [0.4]], counts=[5, 2], weights=[1.0, 0.5])
    moved = learner.moved_to(bandit(0, 1, 2))
    one, two = learner.confidence_set().data, moved.confidence_set().data
    np.testing.assert_allclose(one.gram, two.gram, rtol=1e-12)
    np.testing.assert_allclose(one.vector, two.vector, atol=1e-12)
    assert moved.round == learner.round
    assert "What arm 3 showed says something of the unknowns" in str(moved.moved)
    moved.save(tmp_path / "moved.json")
    assert_decide_alike(pm.Learner.load(tmp_path / "moved.json"), moved)
    whole = moved.moved_to(bandit(0, 1, 2, 3))
    np.testing.assert_allclose(whole.confidence_set().data.gram, one.gram, rtol=1e-12)
    assert [row["label"] for row in whole.history[-2:]] == ["arm 3", "arm 3"]


def test_what_nobody_shows_any_more_is_left_out() -> None:
    game = pm.Game([[1.0, 0.0], [0.0, 1.0]], [[[1.0, 0.0]], [[0.0, 1.0]]], pm.Ball([0.0, 0.0], 1.0))
    less = pm.Game([[1.0, 0.0], [0.5, 0.0]], [[[1.0, 0.0]], []], pm.Ball([0.0, 0.0], 1.0))
    learner = pm.Learner(game, pm.IDS(), seed=0)
    learner.tell_past([0, 1], [[0.5], [0.1]], counts=[3, 4])
    moved = learner.moved_to(less).moved
    assert moved is not None
    assert (moved.kept, moved.left_out, moved.changed) == (3, {"1": 4}, ("1",))


def test_signals_that_changed_are_not_read_as_the_old_ones() -> None:
    learner = pm.Learner(shop("$1", "$2", "$3"), seed=2)
    learner.tell_past(["$2", "$3"], ["y", "n"], counts=[5, 7])
    moved = learner.moved_to(shop("$1", "$2", "$3", **{"$3": "nyn"})).moved
    assert moved is not None
    assert (moved.kept, moved.left_out, moved.changed) == (5, {"$3": 7}, ("$3",))
    assert str(moved).splitlines() == [
        *("5 observations are kept: 5 of '$2'.", "7 are not: 7 of '$3'."),
        "$3 is different in what is shown.",
    ]


def test_a_new_price_brings_outcomes_of_its_own() -> None:
    learner = pm.Learner("dynamic_pricing", seed=1)
    learner.tell_past(["$1", "$2", "$3"], ["yes", "no", "no"], counts=[5, 30, 9])
    learner.ask()
    game = pm.games.dynamic_pricing([1, 2, 3, 4])
    told = pm.Learner(game, seed=1)
    told.cancel(told.ask())
    told.tell_past(["$1", "$2", "$3"], ["yes", "no", "no"], counts=[5, 30, 9])
    moved = learner.moved_to(game)
    moved.cancel(moved.open[0].id)
    assert_decide_alike(moved, told)
    assert "what was observed is read in the new game" in str(moved.moved)


def test_open_decisions_go_on_if_their_action_stays() -> None:
    learner = pm.Learner(shop("$1", "$2", "$3"), "randcbp", seed=2)
    batch = learner.ask(count=6)
    moved = learner.moved_to(shop("$2", "$3"))
    gone = {own.id: own.label for own in batch if own.label == "$1"}
    assert gone
    assert moved.moved is not None
    assert moved.moved.cancelled == gone
    assert f"Cancelled, because their actions are gone: {next(iter(gone))} ($1)" in str(moved.moved)
    for own in batch:
        if own.id in gone:
            with pytest.raises(InvalidInput, match="has been told already, or closed"):
                moved.tell(own, "y")
        else:
            moved.tell(own, "y", action=own.label)
    assert moved.round == 1 + len(batch) - len(gone)
    assert not moved.open
    assert len(learner.open) == 6  # which stays as it was
    assert len({own.id for own in (*batch, moved.ask(), learner.ask())}) == 8


def test_answers_that_wait_move_along() -> None:
    learner = pm.Learner(shop("$1", "$2", "$3"), seed=2, window=pm.Window(rounds=3))
    decision = learner.ask()
    learner.tell(decision, "y")
    moved = learner.moved_to(shop("$1", "$2", "$3", "$1.5"))
    for _ in range(4):
        moved.ask()
    assert moved.round == 2


def test_amendments_before_are_kept_and_after_are_refused() -> None:
    learner = pm.Learner(shop("$1", "$2", "$3"), seed=2)
    decision = learner.ask()
    learner.tell(decision, "y")
    learner.amend(decision, "n") if decision.label != "$1" else None
    moved = learner.moved_to(shop("$1", "$2", "$3"))
    assert [row["observation"] for row in moved.history] == ["n" if decision.label != "$1" else "y"]
    with pytest.raises(InvalidInput, match="was told before the learner was moved"):
        moved.amend(decision, "y")
    after = moved.ask()
    moved.tell(after, "y")
    moved.amend(after, None)
    assert moved.round == 2


@pytest.mark.parametrize("name", ["signals", "least squares", "linear", "segments"])
def test_without_a_log_sufficient_statistics_move(name: str) -> None:
    game, policy = GAMES[name]
    learner = pm.Learner(game, policy, seed=5)
    learner.tell_past(*_logged(learner))
    play(learner, 80)
    spec, session = learner._spec, learner._session
    following, _, report = moving.moved(spec, session, None, pm.Learner(game, policy, seed=5)._spec)
    exact = learner.moved_to(game)
    assert following.told == exact._session.told
    assert "There is no log" in str(report)
    other = pm.Learner(game, policy, seed=5)
    other._session = following
    assert_decide_alike(other, exact, 1e-3)


def test_segments_come_and_go_by_name() -> None:
    learner = pm.Learner(segmented("a", "b"), pm.IDS(), seed=2)
    learner.tell_past(["$2", "$2"], ["n", "y"], ["a", "b"], counts=[20, 30])
    moved, told = (
        learner.moved_to(segmented("c", "a")),
        pm.Learner(segmented("c", "a"), pm.IDS(), 2),
    )
    told.tell_past(["$2"], ["n"], ["a"], counts=[20])
    assert moved.moved is not None
    assert (moved.moved.kept, moved.moved.left_out) == (20, {"$2": 30})
    assert_decide_alike(moved, told)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (shop("$1", "$2", "$3"), "apple_tasting"),
        (shop("$1", "$2", "$3"), "linear_bandit"),
        (bandit(0, 1), pm.games.linear_bandit(np.eye(3))),
        (bandit(0, 1), "survey"),
        (segmented("a", "b"), segmented("c", "d")),
    ],
)
def test_other_unknowns_are_refused_in_one_sentence(old: Any, new: Any) -> None:
    learner = pm.Learner(old, seed=0)
    with pytest.raises(InvalidInput, match=r"^game must have the same unknowns .*\.$"):
        learner.moved_to(new)


def test_a_hopeless_game_is_refused() -> None:
    learner = pm.Learner(shop("$1", "$2", "$3"), seed=0)
    with pytest.raises(InvalidInput, match="hopeless"):
        learner.moved_to(shop("$1", "$2", **{"$2": "nnn"}))
    assert learner.round == 1
