"""Simulations on a GPU, in Numba's simulator: the same numbers as on the processor."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

import partial_monitoring as pm
from partial_monitoring import games
from partial_monitoring.errors import InvalidInput
from tests.tools.device_simulation import played

PROCESSOR_ONLY = {
    "dueling",
    "finite_versus_linear",
    "greedy_exploration",
    "contextual_linear_bandit",
    "contextual_dueling",
    *(name for name in games.GAMES if name.startswith("kernelized_")),
}
"""Games of the library that the default policy refuses to play on a GPU."""


def simulated(*words: str) -> dict[str, Any]:
    """Return what ``device_simulation`` prints in Numba's simulator."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "tests.tools.device_simulation", *words],
        capture_output=True,
        text=True,
        env=os.environ | {"NUMBA_ENABLE_CUDASIM": "1", "NUMBA_DISABLE_JIT": "1"},
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_a_device_plays_as_the_processor_does() -> None:
    for case in simulated("12", "3").values():
        assert case == {"backend": "compiled for the GPU", "same": 1.0, "regret": 0.0}


@pytest.mark.parametrize("rounds", [60, pytest.param(2000, marks=pytest.mark.nightly)])
def test_every_game_of_the_library_is_played_alike_or_refused(rounds: int) -> None:
    for game, found in simulated(str(rounds), "1", *games.GAMES).items():
        if game in PROCESSOR_ONLY:
            assert "processor" in found, game
        else:
            assert found == played(game, rounds, 1, None), game


@pytest.mark.parametrize("device", ["gpu", 1, "cpu"])
def test_unknown_devices_are_refused(device: Any) -> None:
    with pytest.raises(InvalidInput, match="device must be 'cuda'"):
        pm.simulate("apple_tasting", horizon=2, seeds=1, device=device)


def test_what_has_no_compiled_rounds_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("partial_monitoring.simulation.simulate.check_device", lambda device: None)
    with pytest.raises(InvalidInput, match="cannot be played on a GPU here: "):
        pm.simulate("survey", pm.ContextualIDS(), horizon=2, seeds=1, device="cuda")
