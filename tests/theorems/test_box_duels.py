"""Duels over a box are the duels of a list of its points, wherever both can be played."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import partial_monitoring as pm
from partial_monitoring import testing
from partial_monitoring.errors import InvalidInput
from partial_monitoring.estimation.kernel.box import BoxData, BoxPosterior, box_design

KERNEL = pm.kernels.SquaredExponential(0.4)
NARROW = pm.confidence.deviations(0.2)


def game(p: int = 2, **options: Any) -> pm.KernelBoxDuelingGame:
    return pm.KernelBoxDuelingGame(KERNEL, [0.0] * p, [1.0] * p, **({"norm_bound": 0.5} | options))


def bump(x: Any) -> Any:
    return 0.9 * np.exp(-((np.asarray(x) - 0.37) ** 2).sum(axis=1) / 0.2)


def as_list(box: pm.KernelBoxDuelingGame) -> pm.KernelDuelingGame:
    """Return the duels of all points of a small lattice."""
    points = box.points_of(np.arange(box.item_count))
    names = [box.item_label(item) for item in range(box.item_count)]
    return pm.KernelDuelingGame(KERNEL, points, items=names, **box.options)


@pytest.mark.parametrize("noise", ["sign", "gaussian"])
@pytest.mark.parametrize("policy", [pm.Calibrated(), pm.DuelingIDS(confidence=NARROW)])
def test_a_small_lattice_is_played_like_the_list_of_its_points(policy: Any, noise: str) -> None:
    box = game(levels=5, noise=noise, noise_std=0.3)
    listed = as_list(box)
    one, two = (pm.Learner(own, policy, seed=3) for own in (box, listed))
    rng = np.random.default_rng(0)
    for _ in range(12):
        first, second = one.ask(), two.ask()
        assert first.action == second.action
        assert first.label == second.label
        assert first.probability == pytest.approx(second.probability, abs=1e-9)
        assert list(first.first.values()) == listed.points[first.action // 25].tolist()
        shown = float(rng.choice([-1.0, 1.0]))
        one.tell(first, shown)
        two.tell(second, shown)
    known, same = one.confidence_set(), two.confidence_set()
    np.testing.assert_allclose(known.means, same.means, atol=1e-9)
    np.testing.assert_allclose(known.lengths, same.lengths, atol=1e-9)
    assert one.status().best == two.status().best
    assert one.status().plausible == two.status().plausible
    assert one.status().settings == box.item_shown(one.status().action)
    assert one.status().item == box.item_label(two.status().action)


@pytest.mark.parametrize("noise", ["sign", "none"])
def test_a_small_lattice_loses_what_the_list_of_its_points_loses(noise: str) -> None:
    box = game(levels=4)
    settings = {"horizon": 12, "seeds": 3, "noise": noise, "checkpoints": range(1, 13)}
    one = pm.simulate(box, pm.Calibrated(), bump, **settings)
    two = pm.simulate(as_list(box), pm.Calibrated(), bump, **settings)
    np.testing.assert_allclose(one.regret["calibrated"], two.regret["calibrated"], atol=1e-9)


def test_the_estimate_is_that_of_the_points_as_items() -> None:
    """At any points it is what a game with just these items has learned."""
    box, rng = game(noise="gaussian", noise_std=0.2), np.random.default_rng(0)
    numbers = np.unique(box.nearest(rng.random((14, 2))))
    listed = pm.KernelDuelingGame(KERNEL, box.points_of(numbers), **box.options)
    policy, data = pm.DuelingIDS(regularization=0.3), BoxData.empty()
    state = policy.init(listed, 1)
    for _ in range(25):
        (a, b), shown = rng.integers(0, 6, 2), rng.normal()  # some again, some with themselves
        data = data.after(int(numbers[a] * box.item_count + numbers[b]), shown)
        state = policy.update(state, np.array([a * len(numbers) + b]), np.array([[shown]]))
    known = BoxPosterior.on(box, box_design(box, regularization=0.3), data).estimate(numbers)
    for name in ("means", "variances", "log_det", "round", "numbers"):
        np.testing.assert_allclose(getattr(known, name), getattr(state.estimate, name), atol=1e-9)
    assert known.signals.shape == state.estimate.signals.shape
    np.testing.assert_allclose(
        known.covariances[0].matrix, state.estimate.covariances[0].matrix, atol=1e-9
    )


def test_slopes_are_limits_of_differences() -> None:
    box, data = game(), BoxData.empty()
    a, b, c = box.nearest([[0.2, 0.3], [0.9, 0.1], [0.5, 0.5]]).tolist()
    for one, two in ((a, b), (b, c), (c, c)):
        data = data.after(one * box.item_count + two, 0.7)
    known = BoxPosterior.on(box, box_design(box, regularization=0.1), data)
    x = np.array([0.33, 0.61])
    _, slope = known.slope(x, 1.0, 2.0)
    for axis in range(2):
        step = np.eye(2)[axis] * 1e-6
        up, down = (known.score((x + sign * step)[None], 1.0, 2.0)[0] for sign in (1, -1))
        assert slope[axis] == pytest.approx((up - down) / 2e-6, abs=1e-6)


@pytest.mark.parametrize("policy", [pm.Calibrated(), pm.DuelingIDS(), pm.Random()])
def test_policies_keep_their_promises(policy: Any) -> None:
    testing.check_policy(policy, game(1), rounds=4)


def test_open_duels_are_expected() -> None:
    """Many decisions before the first answer are different, as if they had been answered."""
    learner = pm.Learner(game(), seed=0)
    asked = learner.ask(count=4)
    assert len({decision.action for decision in asked}) == 4
    learner.tell(asked, ["first", "second", "tie", 1])
    assert learner.round == 5


def test_what_is_lost_and_shown() -> None:
    box, rng = game(), np.random.default_rng(1)
    truths = box.truths(np.zeros((4, box.d)), bump)
    items = rng.integers(0, box.item_count, (4, 2))
    action = items[:, 0] * box.item_count + items[:, 1]
    one, two = (bump(box.points_of(own)) for own in items.T)
    np.testing.assert_allclose(truths.means(action)[:, 0], one - two)
    np.testing.assert_allclose(truths.gap(action), 1.8 - one - two, atol=1e-6)
    drawn = box.truths(box.draw_truths(np.array([1, 2, 3, 4])))
    assert (drawn.gap(action) >= 0).all()
    assert drawn.outside(-1.0, 1.0) is None  # since the norm is at most 1/2
    assert truths.outside(-0.8, 0.8) is not None


def test_the_default_loses_less_than_random_duels() -> None:
    played = {"calibrated": pm.Calibrated(), "random": pm.Random()}
    box = game(levels=20, noise="gaussian", noise_std=0.2)
    result = pm.simulate(box, played, bump, horizon=25, seeds=3)
    assert result.mean("calibrated")[-1] < 0.6 * result.mean("random")[-1]


def test_the_kernel_can_be_refitted() -> None:
    box = game(1, levels=16)
    policy = pm.Refitted(pm.DuelingIDS(confidence=pm.confidence.deviations(2)), first=5)
    learner = pm.Learner(box, policy, seed=0)
    for _ in range(6):
        decision = learner.ask()
        learner.tell(decision, "first" if decision.first["x1"] > decision.second["x1"] else "tie")
    assert "fitted" in learner.status().warnings[0]


def test_bad_input_is_refused() -> None:
    box = game()
    cases: list[tuple[Any, str]] = [
        (lambda: game(8), "at most 7 coordinates"),
        (lambda: game(noise="bernoulli"), "noise"),
        (lambda: box.actions, "too many to list"),
        (lambda: pm.analyze(box), "too many to list"),
        (lambda: pm.Instance(box, np.zeros(box.d)), "game must list its actions"),
        (lambda: box.action_index(box.k), "action must be"),
        (lambda: box.action_index("0.5, 0.5 | 0.5"), "no action named"),
        (lambda: pm.Learner(box, pm.IDS()), "play them with DuelingIDS"),
        (lambda: pm.Learner(box, pm.DuelingTS()), "whose actions can be listed"),
        (lambda: pm.Learner(box, pm.GPUCB()), "cannot play duels"),
        (lambda: pm.Learner(box, pm.Random()).ask(available=[0]), "available cannot be given"),
        (lambda: pm.simulate(box, "random", lambda x: 3 * x[:, 0], horizon=2), "sign observations"),
    ]
    for call, message in cases:
        with pytest.raises(InvalidInput, match=message):
            call()
