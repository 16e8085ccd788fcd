"""Simulations on a GPU, in Numba's simulator: the same numbers as on the processor."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput


def test_a_device_plays_as_the_processor_does() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "tests.tools.device_simulation", "12", "3"],
        capture_output=True,
        text=True,
        env=os.environ | {"NUMBA_ENABLE_CUDASIM": "1", "NUMBA_DISABLE_JIT": "1"},
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    for case in found.values():
        assert case == {"backend": "compiled for the GPU", "same": 1.0, "regret": 0.0}


@pytest.mark.parametrize("device", ["gpu", 1, "cpu"])
def test_unknown_devices_are_refused(device: Any) -> None:
    with pytest.raises(InvalidInput, match="device must be 'cuda'"):
        pm.simulate("apple_tasting", horizon=2, seeds=1, device=device)


def test_what_has_no_compiled_rounds_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("partial_monitoring.simulation.simulate.check_device", lambda device: None)
    with pytest.raises(InvalidInput, match="cannot be played on a GPU here: "):
        pm.simulate("survey", pm.ContextualIDS(), horizon=2, seeds=1, device="cuda")
