"""Contexts: the exact kernel against Frank-Wolfe, and a live decision against contextual peers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from rich.table import Table

import partial_monitoring as pm
from benchmarks.engine import by_bayesianbandits, by_vowpal_wabbit, unit_features
from benchmarks.timing import fastest, show
from partial_monitoring.policies.ids.context_kernel import joint_ratio

Array = np.ndarray


def random_table(count: int) -> tuple[Array, Array]:
    gaps, information = np.random.default_rng(0).random((2, count, 100))
    return gaps + 0.05, information


def convex_table(rise: float, count: int) -> tuple[Array, Array]:
    """Every action is a vertex of the frontier of its context, which is the same in all."""
    information = np.repeat(np.linspace(0, 1, 100)[None], count, axis=0)
    return 0.5 + rise * information**2, information


def kernels() -> Table:
    """One kernel over very many contexts."""
    table = Table(title="The kernel with the least information ratio, 100 actions each")
    for column in ("contexts", "exact", "Frank-Wolfe, 100 steps", "its ratio beside the least"):
        table.add_column(column)
    cases = [(f"{count:,}", *random_table(count)) for count in (10, 100, 1000, 10_000)]
    cases += [
        (f"10,000, gaps 0.5 + {rise:g} I^2", *convex_table(rise, 10_000)) for rise in (0.01, 0.7)
    ]
    for name, gaps, information in cases:
        count = len(gaps)
        chi = np.random.default_rng(1).dirichlet(np.ones(count))

        def exact(d: Array = gaps, i: Array = information, p: Array = chi) -> Array:
            return pm.sampling.contextual(d, i, p)

        def iterated(d: Array = gaps, i: Array = information, p: Array = chi) -> Array:
            return pm.sampling.frank_wolfe(d, i, p, steps=100, step="classic", tolerance=0.0)

        exact()
        least = joint_ratio(exact(), gaps, information, chi)
        reached = joint_ratio(iterated(), gaps, information, chi)
        times = show(fastest(exact, repeat=3)), show(fastest(iterated, repeat=3))
        table.add_row(name, *times, f"{reached / least:.6f}")
    return table


def live() -> Table:
    """One decision in a context with features of its own, and its observation."""
    table = Table(title="Live with contexts: features come with the context, one ask and one tell")
    names = ("bayesianbandits IDS", "Vowpal Wabbit", "MABWiser LinUCB", "contextualbandits LinUCB")
    peers = (by_bayesianbandits, by_vowpal_wabbit, by_mabwiser, by_contextualbandits)
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
        for peer in peers:
            step = peer(phi)
            if step is None:
                cells += ["not installed", "-"]
                continue
            theirs = fastest(step, repeat=3)
            cells += [show(theirs), f"{theirs / here:.1f}"]
        table.add_row(*cells)
    table.caption = (
        "contextualbandits has no wheels, so make bench does not install it: pip install it beside "
        "cython and a C++ compiler to measure it."
    )
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


def by_contextualbandits(phi: Array) -> Callable[[], object] | None:
    """LinUCB with one regression per arm; it comes as sources only and needs a C++ compiler."""
    try:
        from contextualbandits.online import LinUCB
    except ImportError:
        return None
    agent = LinUCB(nchoices=len(phi), alpha=1.0, random_state=1)
    context, reward = phi[:1], np.array([0.1])
    agent.partial_fit(context, np.array([0]), reward)

    def step() -> None:
        arm = agent.predict(context)
        agent.partial_fit(context, np.ravel(arm), reward)

    step()
    return step


def run() -> list[Table]:
    return [kernels(), live()]
