"""What every state promises: it is never changed, replicates are alone, views cover them all."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput
from partial_monitoring.estimation.state import initial_duels, initial_state
from partial_monitoring.policies.policy import Choices, gathered, point_mass
from tests.oracles.every_game import (
    KINDS,
    NAMES,
    PRIOR,
    STARTS,
    actions_of,
    environment_of,
    game_of,
    learned,
    start_of,
    state_cases,
)

SEEDS = np.array([3, 5, 8])
PAPER = pm.confidence.paper()
ROUNDS = 4

every_state = pytest.mark.parametrize(("name", "kind"), state_cases())
every_kind = pytest.mark.parametrize(("name", "kind"), state_cases(kinds_only=True))


def in_context(game: Any, z: int, n: int = len(SEEDS)) -> dict[str, Any]:
    """Return the argument that puts all replicates into one context, if the game has any."""
    return {"context": np.full(n, z)} if game.traits.contexts else {}


def shown_by(confidence: Any) -> dict[str, bytes]:
    """Return every bit of what rules ask of a confidence set."""
    numbers = {
        "beta": confidence.beta,
        "log_det": confidence.log_det,
        "round": confidence.round,
        "means": confidence.means,
        "lengths": confidence.lengths,
        "signals": confidence.signals,
        "estimate": confidence.estimate,
        "greedy gaps": confidence.greedy_gaps(),
    }
    if confidence.means.shape[1] <= 60:
        numbers["exact gaps"] = confidence.exact_gaps()
    return {name: np.ascontiguousarray(value).tobytes() for name, value in numbers.items()}


def known(state: Any, **context: Any) -> list[dict[str, bytes]]:
    return [shown_by(view.confidence) for view in state.views(PAPER, **context)]


def after_some_rounds(name: str, kind: str, seeds: Any = SEEDS, rounds: int = ROUNDS) -> Any:
    start = start_of(name, kind)(len(seeds))
    return learned(start, environment_of(game_of(name), seeds), rounds)


# -- there is a state ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_every_game_has_a_state(name: str) -> None:
    game = game_of(name)
    state = initial_state(game, 2, PRIOR)
    for view in state.views(PAPER, **in_context(game, 0, 2)):
        assert (view.confidence.round == 1).all()
        assert (view.confidence.log_det == 0).all()
    assert state.design.regularization == 1.0
    assert state.design.norm_bound > 0
    if game.traits.listed:
        assert state.normals > 0
    else:
        with pytest.raises(InvalidInput, match="cannot be drawn"):
            state.normals  # noqa: B018


@pytest.mark.parametrize("name", NAMES)
def test_duels_and_only_duels_have_a_state_that_sees_the_items(name: str) -> None:
    game = game_of(name)
    if STARTS["duels"][0](game):
        (view,) = initial_duels(game, 2, PRIOR).views(PAPER)
        assert view.confidence.means.shape == (2, len(game.items))
    else:
        with pytest.raises(InvalidInput, match="game must be a game of duels"):
            initial_duels(game, 2, PRIOR)


def test_what_is_no_game_has_no_state() -> None:
    with pytest.raises(InvalidInput, match="game must be a game; got 'pricing'"):
        initial_state("pricing", 1, PRIOR)


# -- it is never changed ---------------------------------------------------------------------------


@every_state
def test_learning_changes_nothing_in_the_old_state(name: str, kind: str) -> None:
    """Also not by what another future of the same state learns."""
    game, environment = game_of(name), environment_of(game_of(name), SEEDS)
    state = after_some_rounds(name, kind)
    context = in_context(game, 0)
    before = known(state, **context)
    action = actions_of(game, SEEDS, ROUNDS, context.get("context"))
    shown = np.zeros((len(SEEDS), game.m))
    one = state.after(action, shown, **context)
    first = known(one, **context)
    state.after(action[::-1].copy(), shown + 1.0, **context)
    learned(state, environment, 2, first=ROUNDS + 1)
    assert known(one, **context) == first
    assert known(state, **context) == before
    assert not shown.any()


@every_kind
def test_views_change_nothing(name: str, kind: str) -> None:
    game, state = game_of(name), after_some_rounds(name, kind)
    context = in_context(game, 0)
    for view in state.views(PAPER, **context):
        view.confidence.estimate[:] += 1.0  # a decision keeps it
    first, second = known(state, **context), known(state, **context)
    assert first == second
    assert first == known(after_some_rounds(name, kind), **context)


# -- replicates are alone --------------------------------------------------------------------------


@every_state
def test_views_cover_every_replicate_exactly_once(name: str, kind: str) -> None:
    game, state = game_of(name), after_some_rounds(name, kind)
    context = {}
    if game.traits.contexts:
        context["context"] = np.arange(len(SEEDS)) % len(game.games)
    covered = np.zeros(len(SEEDS), dtype=int)
    for view in state.views(PAPER, **context):
        covered[view.rows] += 1
        assert len(view.confidence.beta) == len(covered[view.rows])
        assert view.confidence.means.shape[1] == (
            view.width if view.actions is None else len(view.actions)
        )
    assert (covered == 1).all()


@every_state
def test_a_replicate_learns_as_if_it_were_alone(name: str, kind: str) -> None:
    """Bit for bit, whatever the others play and in whatever contexts they are."""
    game, together = game_of(name), after_some_rounds(name, kind)
    for i, seed in enumerate(SEEDS):
        alone = after_some_rounds(name, kind, np.array([seed]))
        context = in_context(game, 0)
        views = [(v, own(v.rows, i)) for v in together.views(PAPER, **context)]
        (view, place), *more = [(v, rows) for v, rows in views if rows is not None]
        assert not more
        (single,) = alone.views(PAPER, **in_context(game, 0, 1))
        for name_, bits in shown_by(single.confidence).items():
            whole = shown_by(view.confidence)[name_]
            n = len(view.confidence.beta)
            part = len(whole) // n
            assert whole[place * part : (place + 1) * part] == bits, name_


def own(rows: Any, replicate: int) -> int | None:
    """Return the place of a replicate among those of a view, if it is there."""
    found = np.flatnonzero(np.arange(len(SEEDS))[rows] == replicate)
    return int(found[0]) if len(found) else None


# -- what is available -----------------------------------------------------------------------------


def uniform(view: Any) -> Choices:
    """Play any action of a view, and the last one."""
    n, k = view.confidence.means.shape
    gaps = view.confidence.greedy_gaps()
    return Choices(np.full(n, k - 1), np.full((n, k), 1.0 / k), gaps, np.ones((n, k)))


@every_state
def test_a_restricted_view_offers_only_what_is_available(name: str, kind: str) -> None:
    game, state = game_of(name), after_some_rounds(name, kind)
    context = in_context(game, 0)
    if not game.traits.listed:
        with pytest.raises(InvalidInput, match="available cannot be given for a box"):
            list(state.views(PAPER, available=np.ones(3, dtype=bool)))
        return
    (whole,) = state.views(PAPER, **context)
    offered = np.arange(whole.width) if whole.actions is None else whole.actions
    for kept in (offered[:1], offered[1::2], offered):
        if len(kept) == 0:
            continue
        mask = np.isin(np.arange(whole.width), kept)
        (view,) = state.views(PAPER, available=mask, **context)
        np.testing.assert_array_equal(view.actions, kept)
        choice = gathered([(view, uniform(view))])
        assert (choice.action == kept[-1]).all()
        assert choice.distribution.shape == (len(SEEDS), whole.width)
        assert not choice.distribution[:, ~mask].any()
        np.testing.assert_allclose(choice.distribution.sum(axis=1), 1.0)
        assert np.isposinf(choice.gaps[:, ~mask]).all()
        assert not choice.information[:, ~mask].any()
        columns = np.flatnonzero(np.isin(offered, kept))
        for part in ("means", "lengths", "signals"):
            expected = getattr(whole.confidence, part)[:, columns]
            np.testing.assert_array_equal(getattr(view.confidence, part), expected)
        np.testing.assert_array_equal(view.confidence.estimate, whole.confidence.estimate)


@pytest.mark.parametrize("name", [n for n in NAMES if game_of(n).traits.contexts])
def test_a_context_without_an_available_action_is_refused(name: str) -> None:
    game = game_of(name)
    state = initial_state(game, 3, PRIOR)
    with pytest.raises(InvalidInput, match="available must hold an action of the context"):
        state.views(PAPER, available=np.zeros(game.k, dtype=bool), **in_context(game, 0))
    with pytest.raises(InvalidInput, match="context must be given, the game has contexts"):
        state.views(PAPER)


@every_kind
def test_the_answers_of_all_views_are_gathered(name: str, kind: str) -> None:
    game, state = game_of(name), after_some_rounds(name, kind)
    context = {"context": np.arange(3) % len(game.games)} if game.traits.contexts else {}
    views = list(state.views(PAPER, **context))
    parts = []
    for view in views:
        n, k = view.confidence.means.shape
        action = np.full(n, k - 1)
        parts.append((view, Choices(action, point_mass(action, k))))
    choice = gathered(parts)
    assert choice.action.shape == (3,)
    chance = choice.distribution[np.arange(3), choice.positions]
    assert (chance == 1.0).all()
    for view in views:
        last = view.confidence.means.shape[1] - 1
        assert (
            choice.action[view.rows] == (last if view.actions is None else view.actions[-1])
        ).all()


# -- the confidence set ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "kind"), [case for case in state_cases() if game_of(case[0]).traits.listed]
)
def test_the_confidence_set_is_that_of_the_single_view(name: str, kind: str) -> None:
    game, state = game_of(name), after_some_rounds(name, kind)
    for z in range(len(game.games) if game.traits.contexts else 1):
        (view,) = state.views(PAPER, **in_context(game, z))
        assert shown_by(state.confidence(PAPER, **in_context(game, z))) == shown_by(view.confidence)


def test_the_confidence_set_of_a_box_has_the_numbers_of_its_view() -> None:
    state = after_some_rounds("box", "any")
    first, *_ = state.views(PAPER)
    confidence = state.confidence(PAPER)
    np.testing.assert_array_equal(confidence.beta, first.confidence.beta)
    labels = [game_of("box").action_label(int(a)) for a in first.actions]
    shared = set(labels) & set(confidence.game.actions)
    assert shared
    for label in shared:
        ours, theirs = labels.index(label), confidence.game.actions.index(label)
        for part in ("means", "lengths"):
            seen = getattr(first.confidence, part)[0, ours]
            assert getattr(confidence, part)[0, theirs] == pytest.approx(seen, abs=1e-7)


# -- contexts that are not listed ------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["any", "counted contexts"])
@pytest.mark.parametrize("name", [n for n in NAMES if game_of(n).traits.contexts])
def test_an_unlisted_context_is_one_that_was_not_listed(name: str, kind: str) -> None:
    """Seen, learned from and restricted as if the game listed it."""
    game, n = game_of(name), len(SEEDS)
    state = after_some_rounds(name, kind)
    for z, given in enumerate(game.games):
        listed, positions = in_context(game, z), game.positions(z)
        assert known(state, context=given) == known(state, **listed)
        (view,) = state.views(PAPER, context=given)
        assert (view.unlisted, view.actions, view.width) == (True, None, given.k)
        shown = np.linspace(0.0, 1.0, n * game.m).reshape(n, game.m)
        local = np.arange(n) % given.k
        one = state.after(local, shown[:, : given.m], given)
        two = state.after(positions[local], shown, **listed)
        assert known(one, **listed) == known(two, **listed)
        mask = np.arange(given.k) == given.k - 1
        (only,) = state.views(PAPER, available=mask, context=given)
        wide = np.isin(np.arange(game.k), positions[mask])
        (same,) = state.views(PAPER, available=wide, **listed)
        assert shown_by(only.confidence) == shown_by(same.confidence)
        with pytest.raises(InvalidInput, match="action must be one that the context offers"):
            state.after(np.full(n, given.k), shown[:, : given.m], given)


@pytest.mark.parametrize("name", [n for n in KINDS if game_of(n).traits.contexts])
def test_a_context_over_other_parameters_is_refused(name: str) -> None:
    game = game_of(name)
    other = pm.Game(np.eye(game.d), np.eye(game.d)[:, None], pm.Ball(np.zeros(game.d), 0.37))
    with pytest.raises(InvalidInput, match="context must be a game over the parameters"):
        initial_state(game, 1, PRIOR).views(PAPER, context=other)
