"""Analyses of kernel games, whose own numbers and linear coordinates differ."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import partial_monitoring as pm
from partial_monitoring.analysis.classify import refuse_hopeless
from partial_monitoring.errors import InvalidInput
from partial_monitoring.model.any_game import AnyGame, Traits

FACTOR = np.array([[1.0, 0.0], [0.0, 1.0], [3.0, -1.0]])
KERNEL = FACTOR @ FACTOR.T


def rank_two(shown: float = 1.0) -> pm.KernelGame:
    """Three actions that earn values of a function from a space of dimension two."""
    seen = shown * KERNEL
    return pm.KernelGame(KERNEL, shown * seen[:, None, :, None], seen[:, :, None])


def slopes() -> pm.KernelGame:
    """Actions earn the value at a point and show the slope there."""
    x = np.array([[0.0], [0.4], [1.0]])
    kernel = pm.kernels.SquaredExponential(0.3)
    return pm.KernelGame.from_kernel(kernel, pm.readings.values(x), pm.readings.derivatives(x, 0))


@pytest.mark.parametrize("game", [rank_two(0.0), slopes()], ids=["rank two", "slopes"])
def test_advice_lets_kernel_games_show_rewards(game: pm.KernelGame) -> None:
    advice = pm.advise(game)
    assert advice.before.category == "hopeless"
    assert advice.achieved
    own = [game.features[game.action_index(one.action)] for one in advice.measurements]
    for one, row in zip(advice.measurements, own, strict=True):
        assert one.rows.shape[1] == game.d
        if "own reward" in one.label:
            np.testing.assert_array_equal(one.rows, [row])


@pytest.mark.parametrize("game", [rank_two(0.0), slopes()], ids=["rank two", "slopes"])
def test_own_rewards_make_a_kernel_game_easy(game: pm.KernelGame) -> None:
    candidates = [pm.Measurement(a, game.features[a]) for a in range(game.k)]
    advice = pm.advise(game, candidates)
    assert advice.after.category == "easy"
    assert len(advice.measurements) <= game.k


def test_local_alignment_of_a_kernel_game_is_that_of_its_linear_game() -> None:
    game = rank_two()
    assert game.linear.d < game.d
    here = np.array([0.3, 0.1])
    center = game.root @ here
    inside = SimpleNamespace(center=here, gram=game.root.T @ game.root, beta=0.25)
    found = pm.local_alignment(game, pm.Ball(center, 0.5))
    assert found.value == pytest.approx(pm.local_alignment(game.linear, inside).value, rel=1e-6)
    same = SimpleNamespace(center=center, gram=np.eye(game.d), beta=0.25)
    assert pm.local_alignment(game, same).value == pytest.approx(found.value, rel=1e-6)


def test_a_confidence_set_of_another_dimension_is_refused() -> None:
    inside = SimpleNamespace(center=np.zeros(2), gram=np.eye(2), beta=1.0)
    with pytest.raises(InvalidInput, match=r"^confidence must lie in dimension \d like the game"):
        pm.local_alignment(rank_two(), inside)


def test_a_game_whose_actions_are_not_listed_is_not_called_hopeless() -> None:
    class Unlisted(AnyGame):
        traits = Traits(listed=False)

    Unlisted.__abstractmethods__ = frozenset()
    refuse_hopeless(Unlisted())  # type: ignore[abstract]
