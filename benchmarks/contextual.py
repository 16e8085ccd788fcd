"""Contexts: the exact kernel against Frank-Wolfe, and a live decision against contextual peers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from rich.table import Table

import partial_monitoring as pm
from benchmarks.engine import by_bayesianbandits, by_vowpal_wabbit, unit_features
from benchmarks.timing import fastest, show
from partial_monitoring.ids.joint import joint_ratio

Array = np.ndarray


def kernels() -> Table:
    """One kernel over very many contexts."""
    table = Table(title="The kernel with the least information ratio, 100 actions each")
    for column in ("contexts", "exact", "Frank-Wolfe, 100 steps", "its ratio beside the least"):
        table.add_column(column)
    for count in (10, 100, 1000, 10_000):
        rng = np.random.default_rng(0)
        gaps, information = rng.random((2, count, 100))
        gaps += 0.05
        chi = rng.dirichlet(np.ones(count))

        def exact(d: Array = gaps, i: Array = information, p: Array = chi) -> Array:
            return pm.sampling.contextual(d, i, p)

        def iterated(d: Array = gaps, i: Array = information, p: Array = chi) -> Array:
            return pm.sampling.frank_wolfe(d, i, p, steps=100, step="classic", tolerance=0.0)

        exact()
        least = joint_ratio(exact(), gaps, information, chi)
        reached = joint_ratio(iterated(), gaps, information, chi)
        times = show(fastest(exact, repeat=3)), show(fastest(iterated, repeat=3))
        table.add_row(f"{count:,}", *times, f"{reached / least:.6f}")
    return table


def live() -> Table:
    """One decision in a context with features of its own, and its observation."""
    table = Table(title="Live with contexts: features come with the context, one ask and one tell")
    names = ("bayesianbandits IDS", "Vowpal Wabbit", "MABWiser LinUCB")
    table.add_column("k, d")
    table.add_column("here")
    for name in names:
        table.add_column(name)
        table.add_column("ratio")
    for k, d in ((10, 10), (100, 20), (1000, 50)):
        phi = unit_features(k, d)
        known = pm.Game(phi, phi[:, None, :], pm.AllParameters(d))
        learner = pm.Learner(pm.ContextualGame([known]), pm.IDS(gap=pm.gaps.relaxed))
        fresh = pm.Game(phi[::-1], phi[::-1][:, None, :], pm.AllParameters(d))

        def ours(learner: pm.Learner = learner, context: pm.Game = fresh) -> None:
            learner.tell(learner.ask(context=context), [0.1])

        here = fastest(ours)
        cells = [f"{k}, {d}", show(here)]
        for peer in (by_bayesianbandits, by_vowpal_wabbit, by_mabwiser):
            step = peer(phi)
            if step is None:
                cells += ["not installed", "-"]
                continue
            theirs = fastest(step, repeat=3)
            cells += [show(theirs), f"{theirs / here:.1f}"]
        table.add_row(*cells)
    return table


def by_mabwiser(phi: Array) -> Callable[[], object] | None:
    """LinUCB with one regression per arm, which is what MABWiser offers for contexts."""
    try:
        from mabwiser.mab import MAB, LearningPolicy
    except ImportError:
        return None
    k = len(phi)
    agent = MAB(list(range(k)), LearningPolicy.LinUCB(alpha=1.0), seed=0)
    context = phi[:1]
    agent.fit(decisions=[0], rewards=[0.1], contexts=context)

    def step() -> None:
        arm = agent.predict(context)
        agent.partial_fit(decisions=[arm], rewards=[0.1], contexts=context)

    step()
    return step


def run() -> list[Table]:
    return [kernels(), live()]
