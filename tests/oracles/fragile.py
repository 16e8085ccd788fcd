"""Policies that behave badly, for workers to be tested with; importable from any process."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import partial_monitoring as pm
from partial_monitoring.policies.policy import Choices


@dataclass(frozen=True)
class DiesOnce:
    """IDS, but the first process that plays it is killed in the middle of the run."""

    flag: str

    def init(self, game: pm.Game, replicates: int) -> Any:
        return pm.IDS().init(game, replicates)

    def decide(self, state: Any, uniforms: Any, available: Any = None) -> Choices:
        if state.estimate.round[0] == 10 and not Path(self.flag).exists():
            Path(self.flag).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return pm.IDS().decide(state, uniforms, available)

    def update(self, state: Any, action: Any, observation: Any) -> Any:
        return pm.IDS().update(state, action, observation)


@dataclass(frozen=True)
class AlwaysDies(DiesOnce):
    """A policy that no worker survives; with a folder, only once there is something in it."""

    def decide(self, state: Any, uniforms: Any, available: Any = None) -> Choices:
        end = time.monotonic() + 120
        while self.flag and not any(Path(self.flag).iterdir()) and time.monotonic() < end:
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError


@dataclass(frozen=True)
class Slow:
    """IDS that takes its time in each round."""

    seconds: float = 0.01

    def init(self, game: pm.Game, replicates: int) -> Any:
        return pm.IDS().init(game, replicates)

    def decide(self, state: Any, uniforms: Any, available: Any = None) -> Choices:
        time.sleep(self.seconds)
        return pm.IDS().decide(state, uniforms, available)

    def update(self, state: Any, action: Any, observation: Any) -> Any:
        return pm.IDS().update(state, action, observation)


@dataclass(frozen=True)
class Counted:
    """A slow policy that leaves a mark in a folder whenever a run of it begins."""

    marks: str
    seconds: float

    def init(self, game: pm.Game, replicates: int) -> Any:
        return pm.IDS().init(game, replicates)

    def decide(self, state: Any, uniforms: Any, available: Any = None) -> Choices:
        if state.estimate.round[0] == 1:
            (Path(self.marks) / str(time.monotonic_ns())).touch()
        time.sleep(self.seconds)
        return pm.IDS().decide(state, uniforms, available)

    def update(self, state: Any, action: Any, observation: Any) -> Any:
        return pm.IDS().update(state, action, observation)


@dataclass(frozen=True)
class CountsThreads(DiesOnce):
    """IDS that writes how many threads its linear algebra has."""

    def decide(self, state: Any, uniforms: Any, available: Any = None) -> Choices:
        import scipy.linalg  # noqa: F401  (brings its own threads)
        from threadpoolctl import threadpool_info

        found = [str(own["num_threads"]) for own in threadpool_info()]
        Path(self.flag).write_text(" ".join(found))
        return pm.IDS().decide(state, uniforms, available)


def halves(game: pm.Game, confidence: Any) -> Any:
    """A gap estimate of one's own."""
    return np.ones((len(confidence.beta), game.k)) / 2
