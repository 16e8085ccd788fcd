"""Open decisions of games with signals: what is expected of them, bit for bit as by the formula."""

from __future__ import annotations

from dataclasses import fields, replace
from threading import Thread
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import partial_monitoring as pm
from partial_monitoring.estimation.forgetting import Forgetting
from partial_monitoring.estimation.profile.model import signal_model
from partial_monitoring.estimation.profile.state import ProfileState
from partial_monitoring.estimation.state import Pending
from partial_monitoring.numerics import compiled
from tests.oracles.every_game import environment_of, learned
from tests.oracles.signal_games import DEGENERATE, SIGNALS
from tests.strategies import signal_games

GAMES = SIGNALS | DEGENERATE


def state_of(game: Any, half_life: float | None, seeds: int, rounds: int) -> ProfileState:
    """Return what is known after some rounds with each of several seeds."""
    model = signal_model(game, Forgetting(half_life))
    assert model is not None
    start = ProfileState.initial(model, seeds)
    return learned(start, environment_of(game, range(seeds)), rounds)


def offered(game: Any, z: int) -> list[int]:
    """Return the actions of a context."""
    return sorted(game.positions(z)) if game.traits.contexts else list(range(game.k))


def by_formula(state: ProfileState, pending: Pending, z: int) -> ProfileState:
    """Return a state that expects open decisions, one action after the other in plain NumPy."""
    signals, x = state.model.signals, state.coordinates
    along = np.concatenate([x, x @ signals.extra.T], axis=1)
    chances = signals.base + signals.sign * along[:, signals.direction]
    counts, plays, seen = state.counts.copy(), state.plays.copy(), state.seen.copy()
    for action, often in zip(pending.action, pending.often.T, strict=True):
        place = state.model.positions[z, action]
        shown = slice(*signals.first[place : place + 2])
        counts[:, shown] += often[:, None] * chances[:, shown]
        plays[:, place] += often * (shown.start < shown.stop)
    often = pending.often.sum(axis=1)
    seen[:, z] += often
    moved = replace(state, round=state.round + often, seen=seen, plays=plays, counts=counts)
    return replace(moved.refreshed(often > 0), coordinates=x, means=state.means)


def assert_expected(state: ProfileState, pending: Pending, z: int) -> None:
    before = {own.name: np.copy(getattr(state, own.name)) for own in fields(state)[1:]}
    context = np.full(len(state.round), z) if state.model.game.traits.contexts else None
    found, right = state.expecting(pending, context), by_formula(state, pending, z)
    for name, own in before.items():
        np.testing.assert_array_equal(getattr(found, name), getattr(right, name), name)
        np.testing.assert_array_equal(getattr(state, name), own, name)  # it is never changed


def pendings(game: Any, z: int, seeds: int) -> st.SearchStrategy[Pending]:
    """Return strategies for open decisions: none, some, and many of one action."""
    often = st.sampled_from([0, 1, 2, 7, 32, 10**6])

    def of(actions: set[int]) -> st.SearchStrategy[Pending]:
        row = st.lists(often, min_size=len(actions), max_size=len(actions))
        rows = st.lists(row, min_size=seeds, max_size=seeds)
        numbers = np.array(sorted(actions), dtype=np.int64)
        shape = seeds, len(actions)
        return rows.map(lambda own: Pending(numbers, np.array(own, np.int64).reshape(shape)))

    return st.sets(st.sampled_from(offered(game, z))).flatmap(of)


@given(data=st.data(), half_life=st.sampled_from([None, 20.0]), seeds=st.integers(1, 3))
def test_open_decisions_count_as_by_the_formula(
    data: Any, half_life: float | None, seeds: int
) -> None:
    game = data.draw(signal_games(hopeless=True))
    state = state_of(game, half_life, seeds, data.draw(st.integers(0, 30)))
    assert_expected(state, data.draw(pendings(game, 0, seeds)), 0)


@pytest.mark.parametrize("half_life", [None, 20.0])
@pytest.mark.parametrize("name", GAMES)
def test_in_every_context_and_in_degenerate_games(name: str, half_life: float | None) -> None:
    game, rng = GAMES[name], np.random.default_rng(3)
    state = state_of(game, half_life, 2, 25)
    for z in range(len(state.model.games)):
        actions = np.array(offered(game, z), dtype=np.int64)
        for most in (1, 2, 40):
            often = rng.integers(0, most, (2, len(actions)))
            assert_expected(state, Pending(actions, often), z)


def test_nothing_open_changes_nothing() -> None:
    state = state_of(GAMES["dynamic_pricing"], None, 1, 25)
    none = Pending(np.zeros(0, dtype=np.int64), np.zeros((1, 0), dtype=np.int64))
    found = state.expecting(none)
    for own in fields(state)[1:]:
        np.testing.assert_array_equal(getattr(found, own.name), getattr(state, own.name))


def test_the_interpreter_expects_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    state = state_of(GAMES["dynamic_pricing"], None, 2, 25)
    pending = Pending(np.array([0, 2]), np.array([[3, 1], [0, 8]]))
    right = state.expecting(pending)
    monkeypatch.setattr(compiled.patience.patience, "interpreting", True)
    own = compiled.live_index.expect_each.py_func
    monkeypatch.setattr(compiled.live_index, "expect_each", own)
    found = state.expecting(pending)
    for name in ("round", "seen", "plays", "counts", "coordinates", "means"):
        np.testing.assert_array_equal(getattr(found, name), getattr(right, name), name)
    np.testing.assert_allclose(found.worth, right.worth, rtol=1e-9)
    np.testing.assert_allclose(found.doubt, right.doubt, rtol=1e-9)


def test_threads_do_not_share_their_room() -> None:
    state = state_of(GAMES["pricing with five prices"], None, 1, 25)
    each = [Pending(np.array([a]), np.array([[1 + 3 * a]])) for a in range(5)]
    right, wrong = [state.expecting(own).worth for own in each], list[Any]()

    def expect(number: int) -> None:
        for _ in range(300):
            found = state.expecting(each[number]).worth
            if not np.array_equal(found, right[number]):
                wrong.append(number)

    threads = [Thread(target=expect, args=(number,)) for number in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_warm_cache_has_what_open_decisions_need() -> None:
    """The commands that compile everything expect open decisions, too."""
    from partial_monitoring.cli import warm

    called = list[Any]()
    expect = compiled.live_index.expect_each
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            compiled.live_index, "expect_each", lambda *own: called.append(own) or expect(*own)
        )
        warm.both_ways(pm.games.dynamic_pricing(), pm.Calibrated())
    assert called
