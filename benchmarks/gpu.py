"""Decisions among millions of actions on a GPU, next to reads of the features, and simulations.

``python -m benchmarks gpu`` needs an NVIDIA GPU and numba-cuda; it is no part of ``make bench``.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from time import perf_counter
from typing import Any

import numpy as np
from rich.table import Table

import partial_monitoring as pm
from benchmarks.timing import show
from partial_monitoring.estimation.linear import catalogue
from partial_monitoring.estimation.linear.catalogue import Shelf

SIZES = (1_000_000, 4_000_000, 10_000_000)
DIMENSION = 64
WARM, ROUNDS = 25, 50
"""Rounds before the measured ones, in which kernels are compiled, and the measured ones."""

NOISE = 0.1

BASE = 2**16
"""Rows that are drawn; the others are these, a little shorter."""

SEEDS, HORIZON = 1_000_000, 1001


def policies() -> dict[str, Any]:
    return {
        "relaxed": pm.IDS(gap=pm.gaps.relaxed),
        "mean": pm.IDS(gap=pm.gaps.mean),
        "default": pm.Calibrated(),
    }


def mend_numpy() -> None:
    """Let numba-cuda start on NumPy 2.5, which no longer has a name that it mentions."""
    if not hasattr(np, "row_stack"):
        np.row_stack = np.vstack  # type: ignore[attr-defined]  # noqa: NPY201


def bandit(k: int, d: int) -> Any:
    """Return a linear bandit with very many actions, which are not checked: that takes a minute.

    Its features are in single precision on the host as well.
    """
    base = np.random.default_rng(0).standard_normal((BASE, d), dtype=np.float32) / np.float32(8.0)
    phi = np.empty((k, d), dtype=np.float32)
    for start in range(0, k, BASE):
        shorter = np.float32(1.0 - start / BASE / 1024.0)
        np.multiply(base[: k - start], shorter, out=phi[start : start + BASE])
    game = copy.copy(pm.games.linear_bandit(base[:2], pm.AllParameters(d), noise_std=NOISE))
    game.__dict__.update(features=phi, observation_maps=phi[:, None, :], shows_own_reward=True)
    game.__dict__.update(actions=range(k), row_counts=(1,) * k)
    return game


def share_features(game: Any) -> None:
    """Let all learners of a game use the same features on the device; no two actions are equal."""
    shelf = Shelf(game)
    shelf.__dict__.update(precision="float32", always_best=None)
    shelf.__dict__["_counted"] = lambda: np.ones(game.k, dtype=bool)
    catalogue.Shelf = lambda game: shelf  # type: ignore[assignment,misc]


def on_the_device(call: Callable[[Any], object], count: int = 30) -> float:
    """Return the seconds that the device takes for a call, many of which are launched at once."""
    from partial_monitoring.numerics.cuda.blocks import recorded

    replay = recorded(*[call] * count)
    replay()
    start = perf_counter()
    replay()
    return (perf_counter() - start) / count


def reads(device: Any, k: int, d: int) -> Iterator[tuple[str, float]]:
    """Yield the times of one read of the features, by whom."""
    from partial_monitoring.numerics.cuda.blocks import THREADS, prepared
    from partial_monitoring.numerics.cuda.reads import reads_for

    stream = reads_for(device.precision, d).stream
    own = prepared(stream, device.blocks, THREADS, device.features, device.table, k)
    yield "products with one vector", on_the_device(own)
    if find_spec("torch"):
        import torch

        numbers = torch.ones(k * d, device="cuda")
        torch.cuda.synchronize()
        start = torch.cuda.Event(enable_timing=True)
        end = torch.cuda.Event(enable_timing=True)
        numbers.sum()
        start.record()
        for _ in range(30):
            numbers.sum()
        end.record()
        torch.cuda.synchronize()
        yield "torch.sum", start.elapsed_time(end) / 30e3


def kernels(device: Any, gaps: str) -> Iterator[tuple[str, float]]:
    """Yield the times of the kernels of a decision."""
    launches = {f"sweep, {gaps}": device._sweep}
    if gaps == "default":
        names = ("squares", "middle", "quadratic", "pair")
        launches |= dict(zip(names, device._improvements(), strict=True))
        launches["refresh"] = device._refresh()
    for name, launch in launches.items():
        yield name, on_the_device(launch)
    device.known = None  # variances have changed


def rounds_of(learner: pm.Learner, theta: Any, count: int) -> tuple[list[float], list[float], int]:
    """Play, and return the times of asks and of tells, and how often the features were read."""
    features = learner._session.state.known.shelf.catalogue
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
        reads += features.last.reads
    return asks, tells, reads


def decisions(sizes: tuple[int, ...], d: int, count: int) -> list[Table]:
    """Time decisions, and the kernels that they consist of."""
    table = Table(title=f"One decision on a GPU, {d} single-precision features per action")
    names = ("actions", "gaps", "one read", "TB/s", "ask", "ask / read", "slowest ask", "tell")
    for column in (*names, "reads a round", "TFLOP/s of 4 k d^2"):
        table.add_column(column)
    parts = Table(title="What the device does, without the host")
    for column in ("actions", "kernel", "time", "TB/s of one read", "TFLOP/s of 2 k d^2"):
        parts.add_column(column)
    theta = np.random.default_rng(2).standard_normal(d)
    theta /= np.linalg.norm(theta)
    for k in sizes:
        game = bandit(k, d)
        share_features(game)
        limit = 0.0
        for name, policy in policies().items():
            learner = pm.Learner(game, policy, device="cuda")
            rounds_of(learner, theta, min(WARM, count))
            asks, tells, count_reads = rounds_of(learner, theta, count)
            device = learner._session.state.known.shelf.catalogue._device
            times = dict(reads(device, k, d)) if not limit else {}
            limit, ask = limit or min(times.values()), float(np.median(asks))
            times |= dict(kernels(device, name))
            flops = f"{4.0 * k * d * d / ask / 1e12:.1f}" if name == "default" else ""
            table.add_row(
                f"{k:,}",
                name,
                show(limit),
                f"{k * d * 4 / limit / 1e12:.2f}",
                show(ask),
                f"{ask / limit:.2f}",
                show(max(asks)),
                show(float(np.median(tells))),
                f"{count_reads / count:.2f}",
                flops,
            )
            for kernel, took in times.items():
                rate = f"{k * d * 4 / took / 1e12:.2f}"
                square = kernel in ("refresh", "squares", "quadratic")
                flops = f"{2.0 * k * d * d / took / 1e12:.1f}" if square else ""
                parts.add_row(f"{k:,}", kernel, show(took), rate, flops)
    return [table, parts]


def simulations(seeds: int, horizon: int) -> Table:
    """Time simulations of very many seeds, without the first round, in which all is compiled."""
    table = Table(title=f"Simulations on a GPU: {seeds:,} seeds, {horizon - 1:,} rounds")
    for column in ("game", "policy", "seconds", "rounds x seeds a second"):
        table.add_column(column)
    phi = np.random.default_rng(0).normal(size=(10, 3))
    plain = pm.games.linear_bandit(phi, pm.AllParameters(3))
    prices = pm.games.dynamic_pricing(range(1, 6))
    quick = pm.IDS(gap=pm.gaps.relaxed, sampling=pm.sampling.approximate)
    theta, buyers = np.full(3, 3**-0.5), [0.1, 0.2, 0.3, 0.3, 0.1]
    rows: list[tuple[str, Any, Any, str, Any]] = [
        ("k = 10, d = 3", plain, theta, "relaxed", pm.IDS(gap=pm.gaps.relaxed)),
        ("k = 10, d = 3", plain, theta, "relaxed, approximate", quick),
        ("k = 10, d = 3", plain, theta, "exact", pm.IDS()),
        ("k = 10, d = 3 on a ball", pm.games.linear_bandit(phi), theta, "default", pm.Calibrated()),
        ("five prices", prices, buyers, "default", pm.Calibrated()),
    ]
    for title, game, truth, name, policy in rows:
        try:
            result = pm.simulate(
                game,
                {name: policy},
                truth,
                horizon=horizon,
                seeds=seeds,
                checkpoints=[horizon],
                device="cuda",
            )
        except pm.errors.InvalidInput as error:
            table.add_row(title, name, "", str(error))
            continue
        took = result.seconds[name]
        table.add_row(title, name, f"{took:.3g}", f"{seeds * horizon / took:.3g}")
    return table


def run(
    sizes: tuple[int, ...] = SIZES,
    d: int = DIMENSION,
    count: int = ROUNDS,
    seeds: int = SEEDS,
    horizon: int = HORIZON,
) -> list[Table]:
    mend_numpy()
    return [*decisions(sizes, d, count), simulations(seeds, horizon)]
