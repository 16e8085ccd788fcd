"""What every kind of game promises, and that one environment plays them all."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput
from partial_monitoring.model.any_game import Traits
from partial_monitoring.model.feedback import NOISE
from partial_monitoring.model.files import game_from_dict, game_to_dict
from partial_monitoring.simulation.environment import Environment
from tests.golden.runs import GAMES

KINDS = list(GAMES)
SEEDS = np.array([3, 5])


def game_of(kind: str) -> Any:
    return GAMES[kind][0]()


def played(game: Any, t: int, environment: Environment) -> tuple[Any, Any]:
    """Return an action that both replicates may play in round t, and their contexts."""
    context = environment.context(t)
    if context is None:
        return np.array([0, game.k - 1]), None
    return np.array([game.positions(int(z))[-1] for z in context]), context


@pytest.mark.parametrize("kind", KINDS)
def test_actions_are_named_and_numbered_without_a_list(kind: str) -> None:
    game = game_of(kind)
    assert isinstance(game, pm.AnyGame)
    for action in (0, game.k // 2, game.k - 1):
        assert game.action_index(action) == action
        assert 0 <= game.row_count(action) <= game.m
        label = game.action_label(action)
        assert not game.traits.listed or game.action_index(label) == action
    assert game.parameters.d == game.d
    assert str(game)


@pytest.mark.parametrize("kind", KINDS)
def test_a_context_numbers_the_actions_of_its_game(kind: str) -> None:
    game = game_of(kind)
    given = 0 if game.traits.contexts else None
    context = game.context(given)
    assert [context.local(context.outer(a)) for a in (0, context.game.k - 1)] == [
        0,
        context.game.k - 1,
    ]
    with pytest.raises(InvalidInput, match="context must be"):
        game.context(None if game.traits.contexts else 0)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_drawn_can_be_observed_by_a_user(kind: str) -> None:
    """A vector of the environment, given to a user and taken back, is the same without padding."""
    game = game_of(kind)
    environment = Environment(game, game.draw_truths(SEEDS), SEEDS)
    for t in range(5):
        action, context = played(game, t, environment)
        shown = environment.observe(action, t)
        assert shown.shape == (2, game.m)
        for i in range(2):
            place = game.context(None if context is None else int(context[i]))
            own, local = place.game, place.local(int(action[i]))
            observed = own.feedback().decode(own, local, shown[i])
            again = own.feedback().encode(own, local, observed, game.m)
            rows = own.row_count(local)
            np.testing.assert_array_equal(again[:rows], shown[i, :rows])
            assert not again[rows:].any()


@pytest.mark.parametrize("kind", KINDS)
def test_a_replicate_is_answered_as_if_it_were_alone(kind: str) -> None:
    game = game_of(kind)
    theta = game.draw_truths(SEEDS)
    both = Environment(game, theta, SEEDS)
    for i in range(2):
        alone = Environment(game, theta[i : i + 1], SEEDS[i : i + 1])
        for t in (0, 7):
            action, _ = played(game, t, both)
            own = action[i : i + 1]
            np.testing.assert_array_equal(alone.observe(own, t)[0], both.observe(action, t)[i])
            np.testing.assert_allclose(alone.gap(own, t)[0], both.gap(action, t)[i], atol=1e-12)
            assert (both.gap(action, t) >= 0).all()


@pytest.mark.parametrize("kind", [k for k in KINDS if not game_of(k).traits.contexts])
def test_truths_agree_with_the_instance(kind: str) -> None:
    game = game_of(kind)
    if not game.traits.listed:
        with pytest.raises(InvalidInput, match="game must list its actions"):
            pm.Instance(game, np.zeros(game.d))
        return
    theta = game.draw_truths(SEEDS)[:1]
    instance, truths = pm.Instance(game, theta[0]), game.truths(theta)
    for action in range(game.k):
        own = np.array([action])
        assert truths.gap(own)[0] == pytest.approx(instance.gaps[action], abs=1e-12)
        rows = game.rows(action)
        np.testing.assert_allclose(truths.means(own)[0, : len(rows)], rows @ theta[0], atol=1e-12)
        assert truths.sizes(own)[0] == np.broadcast_to(game.noise_std, (game.k,))[action]


@pytest.mark.parametrize("kind", KINDS)
def test_the_file_of_a_game_gives_the_same_game(kind: str) -> None:
    written = game_to_dict(game_of(kind))
    again = game_from_dict(written)
    assert type(again) is type(game_of(kind))
    assert game_to_dict(again) == written


@pytest.mark.parametrize("kind", KINDS)
def test_true_parameters_come_from_coordinates(kind: str) -> None:
    game = game_of(kind)
    if not game.traits.listed:
        with pytest.raises(InvalidInput, match="too many to list"):
            game.coordinate_set  # noqa: B018
        return
    middle = game.coordinate_set.relative_interior_point()
    assert game.parameters.contains(game.from_coordinates(middle))


def test_traits_are_facts_about_the_kind() -> None:
    facts = {
        "finite": Traits(finite=True, signals=True),
        "linear": Traits(),
        "duels": Traits(duels=True),
        "kernel": Traits(function=True),
        "kernel duels": Traits(function=True, duels=True),
        "box": Traits(listed=False, function=True),
        "contexts": Traits(contexts=True),
        "finite contexts": Traits(finite=True, signals=True, contexts=True),
    }
    assert {kind: game_of(kind).traits for kind in facts} == facts


def test_which_games_show_their_own_reward() -> None:
    shows = {kind: game_of(kind).shows_own_reward for kind in ("linear", "kernel", "box")}
    assert all(shows.values())
    for kind in ("finite", "duels", "kernel duels", "transductive", "contexts"):
        assert not game_of(kind).shows_own_reward


def test_a_box_is_a_game_of_a_function_and_no_list() -> None:
    box = game_of("box")
    assert isinstance(box, pm.AnyGame)
    assert not isinstance(box, pm.Game)
    for ask in (lambda: box.linear, lambda: box.actions):
        with pytest.raises(InvalidInput, match="too many to list"):
            ask()
    assert not hasattr(box, "features")


@pytest.mark.parametrize("noise", [*NOISE, "own"])
def test_one_observation_is_a_simulation_of_one_replicate(noise: str) -> None:
    """Observations of an instance have the means and sizes of the truths, padded rows or not."""
    maps = [[[1.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]], []]
    game = pm.Game(np.eye(3, 2), maps, pm.Box([0, 0], [1, 1]), 0.25)

    def own(means: Any, std: float, rng: Any) -> Any:
        return means + std * rng.uniform(-1, 1, len(means))

    theta = np.array([0.2, 0.7])
    kind: Any = own if noise == "own" else noise
    instance, rng = pm.Instance(game, theta, kind), np.random.default_rng(0)
    environment = Environment(game, np.repeat(theta[None], 400, axis=0), np.arange(400), kind)
    for a, rows in enumerate(maps):
        live = np.array([instance.observe(a, rng) for _ in range(400)]).reshape(400, len(rows))
        shown = environment.observe(np.full(400, a), 0)
        expected = game.rows(a) @ theta
        for found in (live, shown[:, : len(rows)]):
            np.testing.assert_allclose(found.mean(axis=0), expected, atol=0.25)
