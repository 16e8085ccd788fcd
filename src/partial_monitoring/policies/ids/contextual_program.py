"""Contextual IDS as a program: compiled rounds that decide for all contexts together."""

from __future__ import annotations

from typing import Any

import numpy as np

from partial_monitoring.estimation.linear.ellipsoid import COMPILED
from partial_monitoring.estimation.linear.least_squares import in_loops
from partial_monitoring.policies.ids import gaps, information
from partial_monitoring.policies.ids.context_counts import CountingState
from partial_monitoring.policies.ids.context_program import ContextsProgram
from partial_monitoring.policies.ids.program import estimate_of, upkeep_of
from partial_monitoring.policies.ids.sampling import as_rule
from partial_monitoring.policies.program import NotCompiled

GAPS = (gaps.exact, gaps.relaxed, gaps.mean, gaps.improvement)
INFORMATION = (information.log_det, information.improvement)
CHANCES = ("known", "estimated", "growing")
"""What contextual IDS has compiled rounds for, numbered as there."""


def contextual_program(policy: Any, state: CountingState) -> ContextsProgram:
    """Return the program of contextual IDS in its initial state, or say why there is none."""
    from partial_monitoring.numerics.compiled.play_contextual import Rule, play

    estimate, design = estimate_of(policy, state), state.contexts.design
    if policy.gap not in GAPS or policy.information not in INFORMATION:
        raise NotCompiled("these gaps or this information are not compiled")
    if policy.integrated or policy.solver != "exact":
        raise NotCompiled("plans and Frank-Wolfe are not compiled")
    if policy.gap is not gaps.improvement and not design.cut.whole:
        raise NotCompiled("the gaps are cut by Theta")
    if policy.gap is gaps.exact and int(np.diff(design.groups).max()) > COMPILED:
        raise NotCompiled("exact gaps of so many actions are not compiled")
    if not in_loops(design):
        raise NotCompiled("the contexts are large")
    rule = Rule(
        policy.confidence.numbers(design),
        GAPS.index(policy.gap),
        INFORMATION.index(policy.information) == 1,
        as_rule(policy.sampling).kappa,
        CHANCES.index(policy.chances),
        *upkeep_of(estimate.design)[:2],
        0.0,
    )
    counts = np.zeros((estimate.replicates, len(state.parts)), dtype=np.int64)
    return ContextsProgram(state, rule, play, extra=(joined_of(state), counts))


def joined_of(state: CountingState) -> Any:
    """Return the actions of all contexts for compiled loops."""
    from partial_monitoring.numerics.compiled.play_contextual import Joined

    contexts, design = state.contexts, state.contexts.design
    return Joined(
        np.array(design.maps),
        np.array(design.observed_features),
        np.array(design.centred_features),
        np.array(design.offsets),
        np.array(design.gap_ceiling),
        np.array(design.always_best),
        np.array(design.rivals),
        np.array(design.groups),
        np.array(contexts.where[1], dtype=np.int64),
        contexts.offered[None].copy(),
        np.array(state.game.context_distribution, dtype=float),
        float(design.noise_std),
        bool(design.shows_own_reward),
    )
