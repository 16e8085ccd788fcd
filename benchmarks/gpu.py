"""Decisions among millions of actions on a GPU, next to one read of the features.

``python -m benchmarks gpu`` needs an NVIDIA GPU and numba-cuda; it is no part of ``make bench``.
"""

from __future__ import annotations

from time import perf_counter
from typing import Any

import numpy as np
from rich.table import Table

import partial_monitoring as pm
from benchmarks.timing import show

SIZES = (1_000_000, 4_000_000, 10_000_000)
DIMENSION = 64
WARM, ROUNDS = 60, 60
"""Rounds before the measured ones, in which kernels are compiled, and the measured ones."""

NOISE = 0.1


def policies() -> dict[str, Any]:
    return {
        "relaxed": pm.IDS(gap=pm.gaps.relaxed),
        "mean": pm.IDS(gap=pm.gaps.mean),
        "default": pm.Calibrated(),
    }


def one_read(device: Any) -> float:
    """Return the time of one read of the features: their products with one vector, in seconds."""
    from numba import cuda

    from partial_monitoring.numerics.cuda import layout
    from partial_monitoring.numerics.cuda.blocks import THREADS

    asked = np.zeros(layout.KEPT)
    asked[layout.SLOT] = layout.ANCHORS
    answer = cuda.to_device(asked)
    start, end, took = cuda.event(), cuda.event(), []
    for _ in range(20):
        start.record()
        device.kernels.cross[device.rows, THREADS](
            device.features, device.spare, device.cross, answer
        )
        end.record()
        end.synchronize()
        took.append(start.elapsed_time(end) / 1e3)
    return float(np.median(took))


def rounds_of(learner: pm.Learner, theta: Any, count: int) -> tuple[list[float], list[float], int]:
    """Play, and return the times of asks and of tells, and how often the features were read."""
    catalogue = learner._session.state.known.shelf.catalogue
    noise, asks, tells, reads = np.random.default_rng(1), [], [], 0
    for _ in range(count):
        start = perf_counter()
        decision = learner.ask()
        asked = perf_counter()
        seen = float(learner.game.features[decision.action] @ theta) + NOISE * float(noise.normal())
        before = perf_counter()
        learner.tell(decision, [seen])
        asks.append(asked - start)
        tells.append(perf_counter() - before)
        reads += catalogue.last.reads
    return asks, tells, reads


def run(sizes: tuple[int, ...] = SIZES, d: int = DIMENSION, count: int = ROUNDS) -> Table:
    table = Table(title=f"One decision on a GPU, {d} single-precision features per action")
    names = ("actions", "gaps", "one read", "TB/s", "ask", "ask / read", "slowest ask", "tell")
    for column in (*names, "reads a round", "TFLOP/s of 4 k d^2"):
        table.add_column(column)
    rng = np.random.default_rng(0)
    theta = rng.standard_normal(d)
    theta /= np.linalg.norm(theta)
    for k in sizes:
        phi = rng.standard_normal((k, d), dtype=np.float32) / np.float32(np.sqrt(d))
        game = pm.games.linear_bandit(phi, pm.AllParameters(d), noise_std=NOISE)
        for name, policy in policies().items():
            learner = pm.Learner(game, policy, device="cuda")
            rounds_of(learner, theta, min(WARM, count))
            asks, tells, reads = rounds_of(learner, theta, count)
            device = learner._session.state.known.shelf.catalogue._device
            read, ask = one_read(device), float(np.median(asks))
            flops = 4.0 * k * d * d / ask / 1e12 if name == "default" else 0.0
            table.add_row(
                f"{k:,}",
                name,
                show(read),
                f"{k * d * 4 / read / 1e12:.2f}",
                show(ask),
                f"{ask / read:.2f}",
                show(max(asks)),
                show(float(np.median(tells))),
                f"{reads / count:.2f}",
                f"{flops:.1f}" if flops else "",
            )
            del learner, device
    return table
