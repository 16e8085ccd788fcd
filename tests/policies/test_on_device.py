"""Catalogues on a device, in Numba's simulator: the same decisions as on the host."""

import json
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import partial_monitoring as pm
from partial_monitoring.estimation.linear.catalogue import Shelf, catalogue_state
from partial_monitoring.estimation.linear.design import design
from partial_monitoring.estimation.state import Prior
from partial_monitoring.policies import on_device

PHI = np.random.default_rng(0).normal(size=(6, 3))


def simulated(name: str, rounds: int) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.tools.device_play", name, str(rounds)],
        capture_output=True,
        text=True,
        env=os.environ | {"NUMBA_ENABLE_CUDASIM": "1"},
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


FEW = {"relaxed": 25, "few": 8, "mean_ball": 6, "mean_simplex": 6, "kappa": 6, "default_plain": 6}
MANY = {"relaxed": 200, "mean": 30, "mean_ball": 60, "mean_simplex": 30, "kappa": 30}
MANY |= {"default": 40, "default_plain": 20}


def check_decisions(name: str, rounds: int) -> None:
    found = simulated(name, rounds)
    host, device = np.array(found["host"]), np.array(found["device"])
    assert (host[:, 0] == device[:, 0]).all()
    assert len(set(host[:, 0])) > 1
    np.testing.assert_allclose(device[:, 1:4], host[:, 1:4], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(device[:, 4], host[:, 4], rtol=1e-9)
    assert found["precision"] == "float64"
    assert found["next"][0] == pytest.approx(found["next"][1], rel=1e-9)
    assert found["estimate"] < 1e-12
    assert "no status" in found["status"]
    assert "may lose" in found["explained"]


@pytest.mark.parametrize("name", FEW)
def test_a_device_decides_as_the_host_does(name: str) -> None:
    check_decisions(name, FEW[name])


@pytest.mark.nightly
@pytest.mark.parametrize("name", MANY)
def test_a_device_decides_as_the_host_does_for_long(name: str) -> None:
    check_decisions(name, MANY[name])


def test_features_that_fit_are_kept_in_single_precision() -> None:
    found = simulated("single", 30)
    host, device = np.array(found["host"]), np.array(found["device"])
    assert found["precision"] == "float32"
    np.testing.assert_allclose(device[0], host[0], rtol=1e-5)
    same = int((np.cumsum(host[:, 0] != device[:, 0]) == 0).sum())
    assert same >= 10
    np.testing.assert_allclose(device[:same, 1:], host[:same, 1:], rtol=1e-3, atol=1e-5)


def bandit(parameters: pm.ParameterSet | None = None, **options: Any) -> pm.Game:
    return pm.games.linear_bandit(PHI, parameters, **options)


REFUSED: list[tuple[Any, Any, str]] = [
    (pm.games.dynamic_pricing(), None, "plays linear bandits"),
    (pm.games.heteroscedastic_linear_bandit(), None, "noise_std must be one number"),
    (pm.games.bernoulli_bandit_linear(3), pm.IDS(gap=pm.gaps.mean), "plays linear bandits"),
    (bandit(), pm.IDS(), "gaps on device"),
    (bandit(), pm.IDS(gap=pm.gaps.relaxed), "need the parameters pm.AllParameters"),
    (bandit(), pm.IDS(gap=pm.gaps.mean, sampling=pm.sampling.e2d(1.0)), "sampling on device"),
    (bandit(), pm.LinUCB(), "policy on a device must be pm.IDS"),
    (bandit(), pm.Calibrated(guard=1.0), "guard must be None"),
    (bandit(), pm.Probing(), "policy on a device must be pm.IDS"),
    (bandit(), pm.IDS(gap=pm.gaps.mean, regularization=1e-9), "must not be so large"),
    (pm.games.linear_bandit(np.eye(2, 1025)), None, "must be at most 1024 per action; got 1025"),
]


@pytest.mark.parametrize(("game", "policy", "words"), REFUSED)
def test_what_a_device_cannot_do_is_refused(
    game: Any, policy: Any, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(on_device, "check_device", lambda device: None)
    with pytest.raises(pm.errors.InvalidInput, match=words):
        pm.Learner(game, policy, device="cuda")


def test_available_actions_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(on_device, "check_device", lambda device: None)
    learner = pm.Learner(bandit(), device="cuda")
    with pytest.raises(pm.errors.InvalidInput, match="available cannot be given"):
        learner.ask(available=[0, 1])


def test_an_unknown_device_is_refused() -> None:
    with pytest.raises(pm.errors.InvalidInput, match="device must be 'cuda'; got 'tpu'"):
        pm.Learner(bandit(), device="tpu")


def test_a_missing_device_is_refused() -> None:
    from numba import cuda

    if cuda.is_available():
        pytest.skip("there is a device")
    with pytest.raises(pm.errors.InvalidInput, match="needs an NVIDIA GPU"):
        pm.Learner(bandit(), device="cuda")


def test_the_facts_of_a_shelf_are_those_of_a_design() -> None:
    phi = np.random.default_rng(1).normal(size=(320, 3))
    phi[7] = phi[300] = phi[2]
    phi[9] = -phi[2]
    game = pm.games.linear_bandit(phi)
    whole, shelf = design(game), Shelf(game)
    state = catalogue_state(game, Prior(), capped=True)
    assert state.ceiling == pytest.approx(whole.largest_gap, rel=1e-12)
    assert shelf.longest / whole.regularization == pytest.approx(whole.leverage, rel=1e-12)
    assert shelf._counted().tolist() == whole.rivals[0].tolist()
    assert shelf.always_best is None
    assert shelf.precision == "float64"


def test_an_action_that_is_always_best_is_known() -> None:
    box = pm.Box([1.0, 1.0], [2.0, 2.0])
    shelf = Shelf(pm.games.linear_bandit([[1.0, 0.5], [1.0, 1.0], [0.0, 1.0]], box))
    assert shelf.always_best == 1
    assert shelf.precision == "float32"
