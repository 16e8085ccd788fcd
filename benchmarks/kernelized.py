"""Unknown functions: a round in the long run, many candidates and duels, against refitted peers.

All times are those of the processor with one thread each: a mean over rounds, unlike the fastest of
several repetitions, would count whatever else runs.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from rich.table import Table

import partial_monitoring as pm
from benchmarks import timing
from benchmarks.botorch_peer import pairwise_gp, squared_exponential, torch_of_botorch
from benchmarks.timing import one_thread, show
from partial_monitoring.estimation.kernel.covariance import FOLD

Array = np.ndarray

fastest = partial(timing.fastest, clock=process_time)

LENGTHSCALE, NOISE, BOUND = 0.2, 0.1, 3.0
MARKS = (10, 100, 1000, 2500, 5000)


def candidates(k: int) -> tuple[Array, Array]:
    """Return points of the unit square and what they earn."""
    x = np.random.default_rng(0).random((k, 2))
    return x, np.sin(5 * x[:, 0]) * np.cos(4 * x[:, 1])


def bandit(x: Array) -> pm.KernelGame:
    kernel = pm.kernels.SquaredExponential(LENGTHSCALE)
    return pm.games.kernelized_bandit(x, kernel=kernel, noise_std=NOISE, norm_bound=BOUND)


def played(policy: Any, game: pm.Game, shown: Callable[[int], float], horizon: int) -> Array:
    """Return the time of every round of one replicate, deciding and learning, in seconds."""
    state, rng = policy.init(game, 1), np.random.default_rng(1)
    took = np.empty(horizon)
    for t in range(horizon):
        uniform, noise = rng.random(1), NOISE * rng.standard_normal()
        start = process_time()
        choice = policy.decide(state, uniform)
        middle = process_time()
        observation = np.array([[shown(int(choice.action[0])) + noise]])
        again = process_time()
        state = policy.update(state, choice.action, observation)
        took[t] = process_time() - again + middle - start
    return took


def around(took: Array, t: int) -> float:
    """Return the median of the rounds near round t."""
    return float(np.median(took[max(0, t - 50) : t + 50]))


def bandwidth() -> float:
    """Return how many bytes are read and written in a second, by one copy of many."""
    here = np.ones(2**20)
    there = np.empty_like(here)
    return 2 * here.nbytes / fastest(lambda: np.copyto(there, here))


def long_run() -> list[Table]:
    """1000 candidates, as far as 5000 rounds."""
    x, f = candidates(1000)
    game = bandit(x)
    table = Table(title="A round with 1000 candidates in the plane, deciding and learning")
    for column in ("gaps", "time", *(f"t = {t}" for t in MARKS)):
        table.add_column(column)
    ours: dict[str, Array] = {}
    for name in ("mean", "exact"):
        policy = pm.IDS(gap=getattr(pm.gaps, name))
        played(policy, game, lambda a: float(f[a]), 3)
        took = ours[name] = played(policy, game, lambda a: float(f[a]), MARKS[-1] + 50)
        table.add_row(name, "median near t", *(show(around(took, t)) for t in MARKS))
        means = (show(float(took[:t].mean())) for t in MARKS)
        table.add_row("", "mean until t, folds and refreshes included", *means)
    peers = Table(title="What one of these rounds is compared with")
    for column in ("compared with", "time", "over the median", "over the mean until t"):
        peers.add_column(column)

    def compared(name: str, seconds: float, t: int) -> None:
        took = ours["mean"]
        ratios = (seconds / around(took, t), seconds / float(took[:t].mean()))
        peers.add_row(name, show(seconds), *(f"{ratio:.3g}" for ratio in ratios))

    for title, peer in (
        ("scikit-learn, refitted and asked for all candidates", by_scikit_learn),
        ("BoTorch, SingleTaskGP and UpperConfidenceBound", by_botorch),
    ):
        for t in (100, 1000):
            step = peer(x, f, t)
            if step is None:
                peers.add_row(f"{title}, t = {t}", "not installed", "-", "-")
            else:
                compared(f"{title}, t = {t}", fastest(step, repeat=3), t)
    d = len(x)
    columns = 2 * 8 * d * (1 + FOLD // 2)  # of the greedy action and of the one that is played
    fold = 2 * 8 * d * d // FOLD
    limit = f"the limit: moving the {(columns + fold) / 2**20:.2g} MiB that a round needs"
    compared(limit, (columns + fold) / bandwidth(), MARKS[-1])
    return [table, peers]


def by_scikit_learn(x: Array, f: Array, t: int) -> Callable[[], object] | None:
    try:
        from sklearn.gaussian_process import GaussianProcessRegressor
        from sklearn.gaussian_process.kernels import RBF
    except ImportError:
        return None
    chosen, shown = observed(f, t)

    def step() -> int:
        model = GaussianProcessRegressor(RBF(LENGTHSCALE), alpha=NOISE**2, optimizer=None)
        mean, std = model.fit(x[chosen], shown).predict(x, return_std=True)
        return int((mean + std).argmax())

    return step


def by_botorch(x: Array, f: Array, t: int) -> Callable[[], object] | None:
    torch = torch_of_botorch()
    if torch is None:
        return None
    from botorch.acquisition import UpperConfidenceBound
    from botorch.models import SingleTaskGP

    chosen, shown = observed(f, t)
    points, seen = torch.tensor(x), torch.tensor(shown)[:, None]
    noise = torch.full_like(seen, NOISE**2)
    kernel = squared_exponential(LENGTHSCALE, 1.0)

    def step() -> int:
        model = SingleTaskGP(
            points[chosen], seen, noise, covar_module=kernel, outcome_transform=None
        )
        with torch.no_grad():
            return int(UpperConfidenceBound(model, beta=4.0)(points[:, None]).argmax())

    return step


def observed(f: Array, t: int) -> tuple[Array, Array]:
    """Return t candidates and what they showed."""
    rng = np.random.default_rng(2)
    chosen = rng.integers(len(f), size=t)
    return chosen, f[chosen] + NOISE * rng.standard_normal(t)


def many() -> Table:
    """Far more candidates than rounds, in a process of its own."""
    k, horizon = 10_000, 2000
    code = f"from benchmarks import kernelized; kernelized.report_many({k}, {horizon})"
    found = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    seconds, peak = json.loads(found.stdout)
    table = Table(title=f"{k:,} candidates, {horizon} rounds, mean gaps")
    for column in ("what", "value", "compared with", "ratio"):
        table.add_column(column)
    table.add_row("most memory", f"{peak / 2**30:.2f} GiB", "4 GiB", f"{peak / 2**32:.2f}")
    each = seconds / horizon
    rows = np.ones((horizon // 2, k))
    limit = fastest(lambda: rows.sum())
    name = f"one read of a row per round so far, {rows.nbytes / 2**20:.0f} MiB on average"
    table.add_row("time of all rounds", show(seconds), "-", "-")
    table.add_row("mean of a round", show(each), name, f"{each / limit:.2f}")
    step = by_scikit_learn(*candidates(k), horizon // 2)
    if step is not None:
        theirs = fastest(step, repeat=1)
        name = f"scikit-learn at t = {horizon // 2}, {show(theirs)}"
        table.add_row("", show(each), name, f"{each / theirs:.4f}")
    return table


def report_many(k: int, horizon: int) -> None:
    """Print how long the rounds took and the most memory of this process, in bytes."""
    x, f = candidates(k)
    with one_thread():
        took = played(pm.IDS(gap=pm.gaps.mean), bandit(x), lambda a: float(f[a]), horizon)
    print(json.dumps([took.sum(), most_resident()]))


def most_resident() -> int:
    """Return the most memory of this process, in bytes.

    Where Linux tells its own it is that, for getrusage counts the parent before the program began.
    """
    status = Path("/proc/self/status")
    if status.exists():
        found = dict(line.split(":", 1) for line in status.read_text().splitlines())
        return 1024 * int(found["VmHWM"].split()[0])
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else 1024 * most


def duels() -> Table:
    """2000 items, four million pairs."""
    count, horizon = 2000, 1000
    x, f = candidates(count)
    kernel = pm.kernels.SquaredExponential(LENGTHSCALE)
    game = pm.games.kernelized_dueling(x, kernel=kernel, noise_std=NOISE, norm_bound=BOUND)

    def shown(pair: int) -> float:
        return float(f[pair // count] - f[pair % count])

    played(pm.DuelingIDS(), game, shown, 3)
    took = played(pm.DuelingIDS(), game, shown, horizon)
    listed = {"reward", "feedback", "features", "observation_maps"} & set(vars(game))
    assert not listed, f"the pairs were listed: {listed}"
    table = Table(title=f"Duels of {count} items, {count**2:,} pairs, none of them listed")
    for column in ("what", "time", "over the median"):
        table.add_column(column)
    middle = float(np.median(took))
    for name, value in (("median", middle), ("mean", took.mean()), ("longest", took.max())):
        table.add_row(f"{name} of {horizon} rounds", show(value), f"{value / middle:.3g}")
    for t in (30, 100):
        step = by_pairwise_gp(x, f, t)
        name = f"BoTorch, PairwiseGP of {t} duels and its mean and variance of all items"
        if step is None:
            table.add_row(name, "not installed", "-")
        else:
            theirs = fastest(step, repeat=3)
            table.add_row(name, show(theirs), f"{theirs / middle:.3g}")
    return table


def by_pairwise_gp(x: Array, f: Array, t: int) -> Callable[[], object] | None:
    torch = torch_of_botorch()
    if torch is None:
        return None
    points = torch.tensor(x)
    first, second = np.random.default_rng(3).integers(len(f), size=(2, t))
    won = f[first] > f[second]
    pairs = list(zip(np.where(won, first, second), np.where(won, second, first), strict=True))

    def step() -> int:
        model = pairwise_gp(points, pairs, LENGTHSCALE, 2 / NOISE**2)
        with torch.no_grad():
            posterior = model.posterior(points)
            return int((posterior.mean + posterior.variance.sqrt()).argmax())

    return step


def run() -> list[Table]:
    with one_thread():
        return [*long_run(), many(), duels()]
