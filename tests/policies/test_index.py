"""The anticipating index: decisions by its formulas, and what they must not depend on."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput
from partial_monitoring.estimation.profile.state import ProfileState
from partial_monitoring.policies.calibrated.index import AnticipatingIndex
from partial_monitoring.policies.policy import Choices
from tests.oracles.every_game import environment_of, learned
from tests.oracles.profile import Oracle
from tests.strategies import signal_counts, signal_games

Array = np.ndarray
RULE = AnticipatingIndex()


def start(game: Any, n: int = 1) -> ProfileState:
    return RULE.init(game, n)


def known(game: Any, counts: Any, t: int = 1, seen: Any = None) -> ProfileState:
    """Return a state in round t that has seen signals that often, beside the prior."""
    first = start(game)
    came = first.seen if seen is None else np.asarray(seen)[None]
    moved = replace(
        first,
        counts=first.model.signals.prior + np.asarray(counts, dtype=float)[None],
        round=np.array([t]),
        seen=came,
    )
    return moved.refreshed(np.array([True]))


def choice(state: ProfileState, available: Any = None, context: Any = None) -> Choices:
    return RULE.decide(
        state,
        np.zeros(len(state.round)),
        None if available is None else np.asarray(available, dtype=bool),
        None if context is None else np.asarray(context),
    )


def index_of(state: ProfileState, **options: Any) -> Array:
    found = choice(state, **options).index
    assert found is not None
    return found[0]


def count_signals(game: Any) -> int:
    return len(start(game).model.signals.base)


def close(one: Array, two: Array, size: float = 1.0) -> bool:
    """Whether indices agree, relative to the largest one and to the size of the rewards."""
    rounding = 1e-4 * np.abs(two[np.isfinite(two)]).max(initial=0.0) + 1e-9 * size
    return one == pytest.approx(two, rel=1e-4, abs=rounding)


# -- the rule --------------------------------------------------------------------------------------


@given(game=signal_games(), data=st.data(), t=st.sampled_from([1, 20, 10**4]))
def test_the_index_is_that_of_the_formulas(game: Any, data: Any, t: int) -> None:
    counts = data.draw(signal_counts(count_signals(game)))
    oracle = Oracle(game)
    state = known(game, counts, t)
    (expected,) = oracle.index(oracle.prior + counts, t)
    assert close(index_of(state), expected)
    chosen = choice(state)
    played = int(chosen.action[0])
    assert expected[played] >= expected.max() * (1 - 1e-4) - 1e-9
    assert chosen.distribution[0, played] == 1.0
    assert chosen.gaps is not None
    assert chosen.gaps.min() >= 0.0


def test_savings_grow_with_the_rounds_and_costs_do_not() -> None:
    state = known(pm.games.label_efficient(), [40, 20])
    late = replace(state, round=np.array([9001]))
    now, then = choice(state), choice(late)
    assert now.gaps == pytest.approx(then.gaps)
    assert then.information == pytest.approx(np.asarray(now.information) * (10_501 / 1501) ** 1.75)


def test_a_label_is_bought_until_it_no_longer_pays() -> None:
    game = pm.games.label_efficient()
    assert choice(start(game)).action[0] == 0
    late = choice(known(game, [200, 2], 203))
    assert late.action[0] != 0
    assert late.index is not None
    assert np.isneginf(late.index[0, 0])


def test_what_looks_best_is_watched_as_long_as_it_shows_enough() -> None:
    """The second of two arms pays, but the first one shows enough without a price, for a while."""
    game = pm.games.bernoulli_bandit_linear(2)
    for counts, played in (([6, 2, 1, 1], 0), ([300, 100, 1, 1], 1)):
        chosen = choice(known(game, counts, 50))
        costs, saved = np.asarray(chosen.gaps)[0], np.asarray(chosen.information)[0]
        assert costs[0] == 0.0
        assert saved[1] - costs[1] > saved[0]
        assert chosen.action[0] == played


@settings(max_examples=25)
@given(game=signal_games(), seed=st.integers(0, 10**6))
def test_replicates_are_played_as_if_alone(game: Any, seed: int) -> None:
    environment = environment_of(game, [seed, seed + 1, seed])
    together = learned(start(game, 3), environment, 20)
    alone = learned(start(game), environment_of(game, [seed]), 20)
    both = choice(together)
    assert both.index is not None
    assert both.index[0].tobytes() == both.index[2].tobytes()
    assert both.index[0].tobytes() == index_of(alone).tobytes()


# -- what decisions must not depend on -------------------------------------------------------------


@given(game=signal_games(), data=st.data(), t=st.sampled_from([1, 50]))
def test_rewards_can_be_scaled_and_shifted(game: Any, data: Any, t: int) -> None:
    counts = data.draw(signal_counts(count_signals(game)))
    factor = data.draw(st.sampled_from([2.0**-100, 1e-30, 0.3, 7.0, 2.0**100, 1e30]))
    shift = np.array(data.draw(st.lists(st.integers(-3, 3), min_size=game.d, max_size=game.d)))
    moved = replace_rewards(game, factor * (game.features + shift))
    one, two = known(game, counts, t), known(moved, counts, t)
    assert close(index_of(two), index_of(one))
    if factor in (2.0**-100, 2.0**100):
        assert choice(two).action == choice(one).action


def replace_rewards(game: Any, rewards: Array) -> Any:
    if game.traits.finite:
        return pm.FiniteGame(rewards, game.signals)
    return pm.Game(rewards, game.observation_maps, game.parameters, 0.5, noise="bernoulli")


@given(data=st.data(), t=st.sampled_from([1, 50]))
def test_actions_outcomes_and_signals_can_be_relabelled(data: Any, t: int) -> None:
    game = data.draw(signal_games().filter(lambda own: own.traits.finite))
    k, d = game.features.shape
    actions = data.draw(st.permutations(range(k)))
    outcomes = data.draw(st.permutations(range(d)))
    names = dict(zip("abcd", data.draw(st.permutations([True, 3, "x", (1,)])), strict=True))
    other = pm.FiniteGame(
        game.features[np.ix_(actions, outcomes)],
        [[names[game.signals[a][x]] for x in outcomes] for a in actions],
    )
    counts = data.draw(signal_counts(count_signals(game)))
    first = np.concatenate([[0], np.cumsum([len(s) * (len(s) > 1) for s in game.symbols])])
    moved = []
    for place, a in enumerate(actions):
        if len(game.symbols[a]) > 1:
            mine = dict(zip(game.symbols[a], counts[first[a] : first[a + 1]], strict=True))
            back = {name: symbol for symbol, name in names.items()}
            moved.extend(mine[back[symbol]] for symbol in other.symbols[place])
    assert close(index_of(known(other, moved, t)), index_of(known(game, counts, t))[list(actions)])


@given(data=st.data())
def test_a_copy_that_shows_nothing_and_a_dominated_action_change_nothing(data: Any) -> None:
    """Rivals are not counted twice, and actions that are never best are no rivals."""
    game = data.draw(signal_games().filter(lambda own: own.traits.finite))
    copied = data.draw(st.integers(0, game.k - 1))
    worse = game.features.min(axis=0) - 1
    bigger = pm.FiniteGame(
        [*game.features, game.features[copied], worse], [*game.signals, "z" * game.d, "z" * game.d]
    )
    counts = data.draw(signal_counts(count_signals(game)))
    one, two = index_of(known(game, counts, 9)), index_of(known(bigger, counts, 9))
    assert close(two[: game.k], one)
    means = known(game, counts).means[0]
    chosen = choice(known(bigger, counts, 9))
    costs, saved = np.asarray(chosen.gaps)[0], np.asarray(chosen.information)[0]
    assert costs[game.k] == costs[copied]
    assert saved[game.k :] == pytest.approx([0, 0])
    assert chosen.action[0] != game.k + 1
    assert np.isfinite(means).all()


def test_two_actions_that_show_the_same_share_the_prior() -> None:
    """What is assumed does not grow when an action is there twice, so neither does the index."""
    once = pm.FiniteGame([[0, 0], [1, 0], [0, 1]], ["ab", "aa", "aa"])
    twice = pm.FiniteGame([[0, 0], [0, 0], [1, 0], [0, 1]], ["ab", "ab", "aa", "aa"])
    one = index_of(known(once, [7, 4], 12))
    two = index_of(known(twice, [7, 4, 0, 0], 12))
    assert two == pytest.approx(one[[0, 0, 1, 2]], rel=1e-6)


def test_finite_games_written_with_trials_are_the_same() -> None:
    """Two symbols are one trial: pricing by what is shown, and by its probability."""
    finite = pm.games.dynamic_pricing(range(1, 5))
    maps = [[] if len(finite.symbols[a]) == 1 else [finite.rows(a)[0]] for a in range(finite.k)]
    trials = pm.Game(finite.features, maps, finite.parameters, 0.5, noise="bernoulli")
    rng = np.random.default_rng(0)
    one, two = start(finite), start(trials)
    for _ in range(40):
        first, second = choice(one), choice(two)
        assert first.action == second.action
        assert second.index == pytest.approx(first.index, rel=1e-6)
        action = first.action
        shown = finite.observation_maps[action[0]][:, rng.integers(finite.d)][None]
        one = RULE.update(one, action, shown)
        two = RULE.update(two, action, shown[:, : max(trials.m, 1)])


# -- contexts --------------------------------------------------------------------------------------


def test_one_context_and_identical_contexts_are_the_plain_game() -> None:
    plain = pm.games.dynamic_pricing(range(1, 5))
    for copies in (1, 2):
        whole = pm.ContextualGame([plain] * copies)
        one, two = start(plain), start(whole)
        rng = np.random.default_rng(copies)
        for t in range(40):
            z = np.array([t % copies])
            first, second = choice(one), choice(two, context=z)
            assert second.action == first.action
            assert second.index == pytest.approx(first.index, rel=1e-4, abs=1e-9)
            shown = plain.observation_maps[first.action[0]][:, rng.integers(plain.d)][None]
            one = RULE.update(one, first.action, shown)
            two = RULE.update(two, first.action, shown, z)


@pytest.mark.parametrize("name", ["segment_pricing", "survey", "contextual_apple_tasting"])
def test_the_index_in_contexts_is_that_of_the_formulas(name: str) -> None:
    game = pm.games.GAMES[name]()
    environment = environment_of(game, [4])
    state, oracle, events = start(game), Oracle(game), []
    for t in range(25):
        z = environment.context(t)
        expected = oracle.index(oracle.counted(events), t + 1, state.seen[0])[int(z[0])]
        chosen = choice(state, context=z)
        assert chosen.index is not None
        offered = game.positions(int(z[0]))
        assert close(chosen.index[0, offered], expected)
        assert np.isneginf(np.delete(chosen.index[0], offered)).all()
        shown = environment.observe(chosen.action, t)
        local = list(offered).index(int(chosen.action[0]))
        events.append((int(z[0]), local, shown[0]))
        state = RULE.update(state, chosen.action, shown, z)


def test_contexts_that_share_nothing_are_played_each_by_itself() -> None:
    """Two coins, one in each context: what one shows says nothing about the other."""
    box = pm.Box([0, 0, 1], [1, 1, 1])
    games = []
    for own in np.eye(2):
        rewards, maps = [[*own, 0], [0, 0, 0.25]], [[[*own, 0]], []]
        games.append(pm.Game(rewards, maps, box, 0.5, ["toss", "keep"], noise="bernoulli"))
    whole = pm.ContextualGame(games, [0.5, 0.5])
    one = pm.Box([0, 1], [1, 1])
    coin = pm.Game([[1, 0], [0, 0.25]], [[[1, 0]], []], one, 0.5, noise="bernoulli")
    seen = np.array([[6.0, 9.0, 30.0, 2.0]])
    state = known(whole, seen[0], 48, [20, 27])
    for z, pair in enumerate(([6, 9], [30, 2])):
        alone = known(coin, pair, 48)
        chance = (state.seen[0, z] + 1) / 49
        expected = chance * np.asarray(choice(alone).information)[0]
        found = np.asarray(choice(state, context=[z]).information)[0]
        assert found == pytest.approx(expected, rel=1e-6)


def test_replicates_in_different_contexts_may_be_restricted() -> None:
    game = pm.games.segment_pricing()
    environment = environment_of(game, [1, 2])
    state = learned(start(game, 2), environment, 20)
    mask = np.ones(game.k, dtype=bool)
    mask[1] = False
    both = choice(state, mask, [0, 1])
    assert both.index is not None
    for z in (0, 1):
        same = choice(state, mask, [z, z])
        assert same.index is not None
        assert both.index[z] == pytest.approx(same.index[z])


def test_a_missing_context_and_foreign_actions_are_refused() -> None:
    game = pm.games.survey()
    state = start(game)
    with pytest.raises(InvalidInput, match="context must be given"):
        RULE.decide(state, np.zeros(1))
    apart = pm.ContextualGame(
        [pm.FiniteGame(np.eye(2), ["ab", "ab"], actions=list(names)) for names in ("ab", "ca")]
    )
    with pytest.raises(InvalidInput, match="one that the context offers"):
        RULE.update(start(apart), np.array([2]), np.array([[1.0, 0.0]]), np.array([0]))


# -- available actions -----------------------------------------------------------------------------


@given(game=signal_games(), data=st.data())
def test_available_actions_are_the_rivals_of_each_other(game: Any, data: Any) -> None:
    """As in the game with these actions only, but with the counts and the prior of all."""
    mask = data.draw(st.lists(st.booleans(), min_size=game.k, max_size=game.k).filter(any))
    counts = data.draw(signal_counts(count_signals(game)))
    chosen = np.flatnonzero(mask).tolist()
    oracle, state = Oracle(game), known(game, counts, 5)
    representatives = [chosen[a] for a in pm.analyze(game.restricted(chosen)).representatives]
    if pm.analyze(game.restricted(chosen)).category == "hopeless":
        return
    (expected,) = oracle.index(oracle.prior + counts, 5, rivals=[representatives])
    found = index_of(state, available=mask)
    assert close(found[chosen], expected[chosen])
    assert np.isneginf(np.delete(found, chosen)).all()
    assert mask[int(choice(state, mask).action[0])]


def test_all_available_is_the_same_as_no_restriction() -> None:
    game = pm.games.dynamic_pricing(range(1, 6))
    state = learned(start(game), environment_of(game, [8]), 40)
    assert index_of(state, available=[True] * 5) == pytest.approx(index_of(state), rel=1e-4)
    with pytest.raises(InvalidInput, match="available must hold an action"):
        choice(state, [False] * 5)
