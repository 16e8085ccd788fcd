"""Unlisted contexts: found again by their content, copied exactly, and counted like others."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import partial_monitoring as pm
from partial_monitoring.learner.contexts import Unlisted, _unlisted
from partial_monitoring.learner.counts import MOST_UNLISTED, Counts, Tallies, Tally

EVERYWHERE = pm.AllParameters(2)


def games() -> list[Any]:
    rng = np.random.default_rng(0)
    phi = rng.normal(size=(5, 2))
    return [
        pm.Game(phi, phi[:, None, :], EVERYWHERE),
        pm.Game(
            phi, [phi[:2], [], phi[:1], phi, phi[3:]], EVERYWHERE, rng.random(5) + 0.5, [*"abcde"]
        ),
        pm.Game(phi[:1], phi[:1, None, :], EVERYWHERE, 0.1, noise="bernoulli"),
        pm.games.apple_tasting(),
        pm.games.dueling(phi),
    ]


@pytest.mark.parametrize("number", range(5))
def test_copies_are_the_same_context(number: int) -> None:
    game = games()[number]
    one = Unlisted(game)
    two = pickle.loads(pickle.dumps(one))
    own = dict(vars(games()[number]))
    earlier = _unlisted(type(game), own)  # as earlier versions have pickled it
    for other in (two, earlier, Unlisted(games()[number])):
        assert other == one
        assert hash(other) == hash(one)
        assert other.key == one.key
        assert type(other.game) is type(game)
        assert other.written() == one.written()
    assert len({Unlisted(own) for own in games()}) == 5
    assert not two.game.features.flags.writeable


def test_equal_arrays_of_a_context_are_pickled_once() -> None:
    phi = np.random.default_rng(1).normal(size=(40, 2))
    bandit = pm.Game(phi, phi[:, None, :], EVERYWHERE)
    other = pm.Game(phi, phi[:, None, :] + 1.0, EVERYWHERE)
    data = pickle.dumps(Unlisted(bandit))
    assert len(pickle.dumps(Unlisted(other))) > len(data) + phi.nbytes - 100
    again = pickle.loads(data).game
    assert np.array_equal(again.features, phi)
    assert np.array_equal(again.observation_maps, phi[:, None, :])


def test_contexts_whose_actions_change_places_are_told_apart() -> None:
    rng = np.random.default_rng(2)
    phi = rng.normal(size=(10, 2))
    drawn = [phi[rng.permutation(10)] for _ in range(500)]
    each = [Unlisted(pm.Game(own, own[:, None, :], EVERYWHERE)) for own in drawn]
    assert len(set(map(hash, each))) == len({own.tobytes() for own in drawn})


def test_the_log_of_duels_in_contexts_is_read_again() -> None:
    rng = np.random.default_rng(3)
    learner = pm.Learner(pm.ContextualGame([pm.games.dueling(rng.normal(size=(3, 2)))]))
    for _ in range(130):  # more than what is packed together
        context = pm.games.dueling(rng.normal(size=(3, 2)))
        learner.tell(learner.ask(context=context), [0.1])
    events = learner.events
    assert len(events) == 260
    again = pm.Learner.replay(learner.game, events=events, check=True)
    assert again.round == 131


def test_contexts_with_an_action_in_common_have_different_hashes() -> None:
    rng = np.random.default_rng(1)
    found = set()
    for _ in range(100):
        phi = np.concatenate([np.zeros((1, 2)), rng.normal(size=(4, 2))])
        found.add(hash(Unlisted(pm.Game(phi, phi[:, None, :], EVERYWHERE))))
    assert len(found) == 100


def test_games_without_labels_share_those_that_they_get() -> None:
    one, two, _, *_ = (pm.Game(np.ones((3, 2)), [[]] * 3, EVERYWHERE) for _ in range(3))
    assert one.actions is two.actions
    assert one.actions == ("0", "1", "2")


@pytest.mark.parametrize("shown", [[0.5], [-0.0, 3.0], [1e100], []])
def test_an_observation_that_comes_once_is_counted_like_others(shown: list[float]) -> None:
    once = Tallies().added([(3, shown, 1)])
    assert once == Tallies(1, {3: Tally.of(0, [shown], [1])})
    assert repr(once) == repr(Tallies(1, {3: Tally.of(0, [shown], [1])}))  # 0 is not -0.0
    assert once.added([(3, shown, 2)]).actions[3].plays == 3


def test_the_latest_contexts_are_kept() -> None:
    rng, counts, asked = np.random.default_rng(2), Counts(), []
    for _ in range(MOST_UNLISTED + 40):
        phi = np.concatenate([np.zeros((1, 2)), rng.normal(size=(2, 2))])
        asked.append(Unlisted(pm.Game(phi, phi[:, None, :], EVERYWHERE)))
        counts = counts.added(asked[-1], 1, [0.5])
        again = asked[rng.integers(max(len(asked) - 9, 0), len(asked))]
        counts = counts.added(Unlisted(again.game), 0, [1.0])
    settled = counts.settled()
    assert len(settled.unlisted) == MOST_UNLISTED
    assert all(settled.at(own).rounds >= 1 for own in asked[-30:])
    assert all(settled.at(own).rounds == 0 for own in asked[:10])
