"""The simulator and its results."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import partial_monitoring as pm
from partial_monitoring.policies.policy import Choices
from tests.oracles.simulations import GAMES, PRICING, THETA, small

Array = NDArray[np.float64]


# -- policies, seeds, theta, checkpoints ------------------------------------------------------


def test_policies_by_name_alone_in_lists_and_in_dicts() -> None:
    assert small(policies="ids").policies == ["ids"]
    assert small(policies=pm.IDS()).policies == ["ids"]
    assert small(policies=["ids"]).policies == ["ids"]
    named = small(policies={"a": pm.IDS(), "b": "ids", "c": pm.IDS(gap=pm.gaps.mean)})
    assert named.policies == ["a", "b", "c"]
    assert set(named.regret) == set(named.plays) == {"a", "b", "c"}
    assert np.array_equal(named.regret["a"], named.regret["b"])


def test_a_policy_has_the_name_it_is_registered_under() -> None:
    duels = pm.games.dueling()
    assert small(duels, "dueling_ids").policies == ["dueling_ids"]
    assert small(duels, pm.DuelingIDS()).policies == ["dueling_ids"]


def test_seeds_are_a_count_or_a_list() -> None:
    assert small(seeds=4).seeds.tolist() == [0, 1, 2, 3]
    assert small(seeds=np.int64(2)).seeds.tolist() == [0, 1]
    assert small(seeds=[7, 3]).seeds.tolist() == [7, 3]
    assert small(seeds=range(5, 7)).seeds.tolist() == [5, 6]
    assert small(seeds=np.array([9])).seeds.tolist() == [9]


def test_theta_is_one_or_one_per_seed() -> None:
    shared = small(theta=THETA)
    assert shared.theta.tolist() == [THETA] * 3
    own = np.array([[1.0, 0, 0], [0, 1.0, 0], [0, 0, 1.0]])
    each = small(theta=own)
    assert np.array_equal(each.theta, own)
    for i in range(3):
        alone = small(theta=own[i], seeds=[i])
        assert np.array_equal(alone.regret["ids"][0], each.regret["ids"][i])


@pytest.mark.parametrize("name", GAMES)
def test_random_theta_lies_in_theta_and_belongs_to_its_seed(name: str) -> None:
    game = GAMES[name]()
    one, two = small(game, seeds=4, horizon=1), small(game, seeds=[3, 1], horizon=1)
    assert game.parameters.contains(one.theta).all()
    assert np.array_equal(two.theta[0], one.theta[3])
    assert np.array_equal(two.theta[1], one.theta[1])
    assert len(np.unique(one.theta, axis=0)) == 4


def test_random_theta_fills_the_set() -> None:
    """Uniform on the simplex: each coordinate has mean 1/3, within five standard errors."""
    theta = small(horizon=1, seeds=400).theta
    assert theta.mean(axis=0) == pytest.approx(np.full(3, 1 / 3), abs=5 * 0.236 / 20)
    ball = small(pm.games.linear_bandit(), horizon=1, seeds=400).theta
    lengths = np.linalg.norm(ball, axis=1)
    assert (lengths**3).mean() == pytest.approx(0.5, abs=5 * 0.289 / 20)


def test_the_worst_theta_is_worse_than_random_ones() -> None:
    worst = small(theta="worst", seeds=20, horizon=20)
    assert PRICING.parameters.contains(worst.theta).all()
    assert len(np.unique(worst.theta, axis=0)) == 1
    random = small(theta="random", seeds=20, horizon=20)
    assert worst.mean("ids")[-1] > random.mean("ids")[-1]
    again = small(theta="worst", seeds=20, horizon=20)
    assert np.array_equal(again.regret["ids"], worst.regret["ids"])


def test_checkpoints_end_with_the_horizon() -> None:
    assert small(checkpoints=[5, 10]).checkpoints.tolist() == [5, 10, 20]
    assert small(checkpoints=[20]).checkpoints.tolist() == [20]
    assert small(checkpoints=[]).checkpoints.tolist() == [20]
    assert small(checkpoints=[10, 5, 10]).checkpoints.tolist() == [5, 10, 20]
    default = small(horizon=1000)
    assert default.checkpoints[-1] == default.horizon == 1000
    assert (np.diff(default.checkpoints) > 0).all()
    assert 20 <= len(default.checkpoints) <= 60
    assert small(horizon=1).checkpoints.tolist() == [1]


def test_checkpoints_do_not_change_the_run() -> None:
    coarse, fine = small(checkpoints=[7]), small(checkpoints=range(1, 21))
    for table in ("regret", "information", "ratio", "plays"):
        few, many = getattr(coarse, table)["ids"], getattr(fine, table)["ids"]
        assert np.array_equal(few, many[:, [6, 19]])


@pytest.mark.parametrize("name", GAMES)
def test_what_is_recorded_fits_together(name: str) -> None:
    game = GAMES[name]()
    theta = game.parameters.relative_interior_point() + 0.0
    if name in ("all", "signs", "ball", "own noise", "duels"):
        theta = theta + 0.1 * np.arange(game.d)
    result = small(game, theta=theta, checkpoints=range(1, 21))
    gaps = pm.Instance(game, theta).gaps
    plays = result.plays["ids"]
    assert plays.shape == (3, 20, game.k)
    assert (plays.sum(axis=2) == np.arange(1, 21)).all()
    assert result.regret["ids"] == pytest.approx(plays @ gaps, abs=1e-9)
    assert (np.diff(result.regret["ids"], axis=1) >= 0).all()
    assert (np.diff(result.information["ids"], axis=1) >= -1e-12).all()


def test_information_gained_is_that_of_the_lemma() -> None:
    """The sum of I_t(a_t) is 1/2 log det W_{n+1} - r/2 log lambda, whatever was played."""
    result = small(theta=THETA, horizon=40)
    w = PRICING.reduced.basis
    for i in range(3):
        counts = result.plays["ids"][i, -1]
        maps = PRICING.observation_maps @ w
        gram = np.eye(2) + np.einsum("k,kmi,kmj->ij", counts, maps, maps)
        expected = 0.5 * np.linalg.slogdet(gram)[1]
        assert result.information["ids"][i, -1] == pytest.approx(expected, rel=1e-9)


# -- interruption ----------------------------------------------------------------------------


@dataclass
class Interrupted:
    """IDS that is interrupted from the keyboard after some rounds."""

    rounds: int

    def init(self, game: pm.Game, replicates: int) -> Any:
        self.inner, self.left = pm.IDS(), self.rounds
        return self.inner.init(game, replicates)

    def decide(self, state: Any, uniforms: Array, available: Array | None = None) -> Choices:
        if self.left == 0:
            raise KeyboardInterrupt
        self.left -= 1
        return self.inner.decide(state, uniforms, available)

    def update(self, state: Any, action: Any, observation: Array) -> Any:
        return self.inner.update(state, action, observation)


def test_an_interruption_keeps_what_is_done() -> None:
    marks = [5, 10, 15, 20]
    full = small(checkpoints=marks)
    part = small(policies={"ids": Interrupted(12)}, checkpoints=marks)
    assert part.checkpoints.tolist() == [5, 10]
    for table in ("regret", "information", "ratio", "plays"):
        whole = getattr(full, table)["ids"]
        assert np.array_equal(getattr(part, table)["ids"], whole[:, :2])
    assert np.isfinite(part.mean("ids")).all()


def test_an_interrupted_second_policy_keeps_what_both_reached() -> None:
    part = small(policies={"a": pm.IDS(), "b": Interrupted(12)}, checkpoints=[5, 10, 15])
    assert part.policies == ["a", "b"]
    assert part.checkpoints.tolist() == [5, 10]


def test_an_interruption_at_once_keeps_the_policies_that_are_done() -> None:
    try:
        part = small(policies={"a": pm.IDS(), "b": Interrupted(0)}, checkpoints=[5, 10, 15])
    except KeyboardInterrupt:
        pytest.fail("the finished policy is lost")
    assert part.policies == ["a"]
    assert part.checkpoints.tolist() == [5, 10, 15, 20]


def test_an_interruption_before_anything_is_done_goes_through() -> None:
    with pytest.raises(KeyboardInterrupt):
        small(policies={"ids": Interrupted(0)})


def test_progress_is_shown_on_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    quiet, shown = small(), small(progress=True)
    assert np.array_equal(quiet.regret["ids"], shown.regret["ids"])
    assert capsys.readouterr().out == ""
