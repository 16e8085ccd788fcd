"""The parts of IDS in games with listed contexts, as compiled rounds take them."""

from __future__ import annotations

from typing import Any

import numpy as np

from partial_monitoring.estimation.linear.contextual import ContextualState
from partial_monitoring.parameter_sets.cut import Cut
from partial_monitoring.policies.ids import gaps
from partial_monitoring.policies.ids.parts import INFORMATION, compares, cut_for, improves


def listed_rewards(state: ContextualState, cut: Cut, *, paired: bool) -> Any:
    """Return the rewards of all contexts on Theta, with room of its own.

    ``paired`` says whether actions of a context are compared on it.
    """
    from partial_monitoring.numerics.compiled import bodies
    from partial_monitoring.numerics.compiled.listed_parts import ListedRewards

    parts, (_, dim) = state.parts, state.parts[0].slopes.shape
    sizes = [len(part.offsets) for part in parts]
    body = cut.bare(dim)
    assert body is not None
    ceilings = [np.zeros(0)]
    if paired and body.kind == bodies.POLYHEDRON:
        ceilings = [np.ravel(part.pair_ceilings) for part in parts]
    return ListedRewards(
        np.concatenate([part.slopes for part in parts]),
        np.array([[0, k] for k in sizes], dtype=np.int64),
        body,
        np.concatenate(ceilings),
        np.empty(dim),
        np.empty(max(sizes)),
        bodies.make_scratch(body, state.design.rank, max(sizes)),
    )


def listed_parts(policy: Any, state: ContextualState, pareto: Any) -> Any:
    """Return what gaps and information need besides an estimate, with room of its own.

    ``pareto`` (N,) says which actions are known to be Pareto in their contexts.
    """
    from partial_monitoring.numerics.compiled import directed, improvement
    from partial_monitoring.numerics.compiled.listed_parts import ListedParts

    parts, cut = state.parts, cut_for(policy, state.design)
    rewards = listed_rewards(state, cut, paired=policy.gap in (gaps.exact, gaps.relaxed))
    k, r = len(rewards.means), state.design.rank
    m = max(1, *(part.maps.shape[1] for part in parts))
    firsts = np.zeros(0, dtype=np.int64)
    if compares(policy):
        firsts = np.concatenate([part.pareto.firsts for part in parts])
    return ListedParts(
        INFORMATION.index(policy.information),
        rewards,
        firsts,
        pareto,
        np.concatenate([part.rivals[0] for part in parts]),
        np.ones(1),
        float(state.design.noise_std),
        directed.make_room(rewards.cut, k, r) if compares(policy) else None,
        improvement.scratch_for(k, 1, r) if improves(policy) else None,
        np.empty((2, m * m)),
        np.empty(k),
    )


def known_pareto(policy: Any, state: ContextualState) -> Any:
    """Return which actions are known to be Pareto in their contexts, shape (N,), if that counts."""
    if not compares(policy):
        return np.zeros(0, dtype=np.int8)
    return np.concatenate([part.pareto.table for part in state.parts])
