"""What games over a box refuse, in a sentence that says what to do instead."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput
from partial_monitoring.estimation.kernel.box import BoxData, BoxPosterior, box_design
from partial_monitoring.simulation.environment import Environment

KERNEL = pm.kernels.Matern(2.5, 0.3)


def box(p: int = 1, **options: Any) -> pm.KernelBoxGame:
    return pm.KernelBoxGame(KERNEL, [0] * p, [1] * p, **({"noise_std": 0.1} | options))


def no_kernel(x: Any, y: Any) -> Any:
    return np.cos(3 * np.abs(x - y.T) ** 3)


def test_a_box_needs_a_semidefinite_kernel() -> None:
    with pytest.raises(InvalidInput, match="kernel must be positive semidefinite"):
        pm.KernelBoxGame(no_kernel, [-2], [2], noise_std=0.01)


def test_a_kernel_that_fails_where_it_was_played_is_refused() -> None:
    """The reference points need not give it away."""

    def hidden(x: Any, y: Any) -> Any:
        return KERNEL(x, y) if len(x) == len(y) == 128 else no_kernel(x, y)

    near = box()
    game = near.with_kernel(hidden)
    data = BoxData.empty()
    for action in game.nearest(np.linspace(0, 1, 30)[:, None]):
        data = data.after(int(action), 0.0)
    with pytest.raises(InvalidInput, match="kernel must be positive semidefinite; its Gram"):
        BoxPosterior.on(game, box_design(near, regularization=1e-4), data)


def test_observations_over_a_box_are_gaussian() -> None:
    with pytest.raises(InvalidInput, match="noise must be one of 'gaussian'; got 'sign'"):
        box(noise="sign")


@pytest.mark.parametrize(
    "make",
    [
        lambda kernel: pm.KernelBoxGame(kernel, [0, 0, 0], [1, 1, 1]),
        lambda kernel: pm.games.kernelized_bandit(np.eye(3), kernel=kernel),
        lambda kernel: pm.KernelDuelingGame(kernel, np.eye(3)),
    ],
)
def test_lengthscales_must_fit_the_points(make: Callable[[Any], pm.Game]) -> None:
    with pytest.raises(InvalidInput, match=r"kernel must fit points of shape \(n, 3\): x must"):
        make(pm.kernels.Matern(2.5, [1.0, 2.0]))


@pytest.mark.parametrize(
    "ask",
    [
        lambda game: pm.Instance(game, np.zeros(game.d)),
        lambda game: pm.analyze(game),
        lambda game: pm.advise(game),
        lambda game: pm.bounds(game, 10),
        lambda game: pm.simulate(game, pm.GPUCB(), "worst", horizon=5, seeds=1),
    ],
)
def test_what_needs_a_list_says_how_to_get_one(ask: Callable[[pm.Game], Any]) -> None:
    with pytest.raises(InvalidInput, match=r"restricted, or a grid of candidates"):
        ask(box())


@pytest.mark.parametrize("p", [1, 3])
def test_policies_on_a_box_are_checked(p: int) -> None:
    pm.testing.check_policy(pm.GPUCB(), box(p), rounds=5)


def test_a_world_solves_for_each_function_once(monkeypatch: pytest.MonkeyPatch) -> None:
    game, seeds = box(), np.arange(2)
    theta, solved = game.draw_truths(seeds), []
    function = pm.KernelBoxGame.function

    def counted(self: pm.KernelBoxGame, own: Any) -> Any:
        solved.append(own)
        return function(self, own)

    monkeypatch.setattr(pm.KernelBoxGame, "function", counted)
    world = Environment(game, theta, seeds, "none")
    shown = [world.observe(np.array([10**5, 10**6]), t)[:, 0] for t in range(3)]
    assert len(solved) == 2
    points = game.points_of([10**5, 10**6])
    expected = [game.values(own, x[None])[0] for own, x in zip(theta, points, strict=True)]
    np.testing.assert_allclose(shown, [expected] * 3)


@pytest.mark.parametrize(("p", "title"), [(1, "a box in 1 dimension"), (2, "a box in 2 dimension")])
def test_titles(p: int, title: str) -> None:
    assert str(box(p)).splitlines()[0] == title + "s" * (p > 1)


def test_options_of_a_learner_on_a_box_cost_no_search(monkeypatch: pytest.MonkeyPatch) -> None:
    learner = pm.Learner(box(norm_bound=3.0), pm.GPUCB(regularization=0.5))

    def search(*_: Any) -> Any:
        raise AssertionError

    monkeypatch.setattr("partial_monitoring.estimation.kernel.box_state.candidate_points", search)
    assert (learner.regularization, learner.norm_bound, learner.noise_std) == (0.5, 3.0, 0.1)


@pytest.mark.parametrize(
    ("low", "width"), [(0.0, 1.0), (80.0, 20.0), (1000.0, 10.0), (1e3, 1e-6), (1e3, 1e-10)]
)
@pytest.mark.parametrize("dimensions", [1, 2, 3])
def test_a_box_in_real_units_has_a_status_in_every_round(
    low: float, width: float, dimensions: int
) -> None:
    corner = np.full(dimensions, low)
    game = pm.KernelBoxGame(
        pm.kernels.SquaredExponential(0.3 * width), corner, corner + width, noise_std=0.1
    )
    learner = pm.Learner(game, pm.IDS(regularization=0.01), seed=0)
    for t in range(3):
        decision = learner.ask()
        learner.tell(decision, [float(np.sin(t))])
        plausible = learner.status().plausible
        assert len(set(plausible)) == len(plausible)


def test_labels_of_neighbours_are_different() -> None:
    game = pm.KernelBoxGame(pm.kernels.SquaredExponential(), [1000.0], [1010.0])
    labels = game.labels_of(np.arange(5000, 5100))
    assert len(set(labels)) == 100
    assert game.action_label(5000) == "1000.047684"
    assert game.is_called(5000, "1000.047684")
    assert game.is_called(5000, "1000.0477")  # as in older files
    assert game.is_called(5000, "1000.05")  # as in still older ones
    assert not game.is_called(5000, "1000.06")


def test_points_of_a_very_narrow_box_are_different_numbers() -> None:
    game = pm.KernelBoxGame(pm.kernels.SquaredExponential(1e-11), [1e3], [1e3 + 1e-10])
    points = game.points_of(np.arange(game.k))
    assert len(np.unique(points)) == game.k > 2
    assert points[0] == 1e3
    assert points[-1] == 1e3 + 1e-10
