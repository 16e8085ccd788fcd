"""The parts of information-directed sampling as compiled rounds take them."""

from __future__ import annotations

from typing import Any

import numpy as np

from partial_monitoring.estimation.linear.design import Design
from partial_monitoring.parameter_sets.cut import Cut, Uncut
from partial_monitoring.policies.ids import gaps, information
from partial_monitoring.policies.program import NotCompiled

INFORMATION = (
    information.log_det,
    information.directed,
    information.directed_relaxed,
    information.improvement,
)
"""The information gains of compiled rounds, numbered as there."""

GAPS = (gaps.exact, gaps.relaxed, gaps.mean, gaps.improvement)
"""The gap estimates of compiled rounds; the last has no number there."""


def improves(policy: Any) -> bool:
    """Whether gaps or information are those of expected improvements."""
    return policy.gap is gaps.improvement or policy.information is information.improvement


def compares(policy: Any) -> bool:
    """Whether information is that of competing actions."""
    return policy.information in (information.directed, information.directed_relaxed)


def checked_parts(policy: Any, design: Design) -> None:
    """Say why gaps or information are not compiled, if they are not."""
    from partial_monitoring.numerics.compiled.improvement import LOOPS

    if policy.gap not in GAPS:
        raise NotCompiled("the gap estimate is not compiled")
    if policy.information not in INFORMATION:
        raise NotCompiled("the information gain is not compiled")
    k, _, r = design.maps.shape
    if improves(policy) and k * r * r > LOOPS:
        raise NotCompiled("products of matrices are faster for so many actions")
    if cut_for(policy, design).bare(design.slopes.shape[1]) is None:
        raise NotCompiled("Theta is a set of your own")


def cut_for(policy: Any, design: Design) -> Cut:
    """Return Theta if it matters to gaps or information, else everything."""
    return design.cut if policy.gap is not gaps.improvement or compares(policy) else Uncut()


def rivals_of(design: Design) -> Any:
    """Return what improvements need to know of a game, for compiled loops."""
    from partial_monitoring.numerics.compiled.play_improvement import Rivals

    counted = np.array(design.rivals[0])
    return Rivals(counted, design.groups, np.ones(1), float(design.noise_std))


def parts_of(policy: Any, design: Design) -> Any:
    """Return what gaps and information need besides an estimate, with room of its own."""
    from partial_monitoring.numerics.compiled import bodies, directed, improvement
    from partial_monitoring.numerics.compiled.parts import Parts
    from partial_monitoring.numerics.compiled.play_cut import Rewards

    (k, m, r), dim, cut = design.maps.shape, design.slopes.shape[1], cut_for(policy, design)
    body: Any = cut.bare(dim)
    if policy.gap in (gaps.exact, gaps.relaxed):
        body = cut.numbers(design)
    slopes = np.array(design.slopes)
    return Parts(
        INFORMATION.index(policy.information),
        design.contest if compares(policy) else no_contest(design),
        rivals_of(design),
        Rewards(slopes, design.groups, np.empty(dim), np.empty(k)),
        body,
        bodies.make_scratch(body, design.rank, k),
        directed.make_room(body, k, design.rank) if compares(policy) else None,
        improvement.scratch_for(k, 1, r) if improves(policy) else None,
        np.empty((2, m * m)),
        np.empty(k),
    )


def no_contest(design: Design) -> Any:
    """Return the actions without the numbers of those that compete."""
    from partial_monitoring.numerics.compiled.directed import Contest

    arrays = np.array(design.slopes), np.array(design.offsets), np.array(design.maps)
    nobody = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int8)
    return Contest(*arrays, *nobody, float(design.regularization))
