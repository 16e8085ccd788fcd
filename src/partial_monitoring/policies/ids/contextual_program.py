"""Contextual IDS as a program: compiled rounds that decide for all contexts together."""

from __future__ import annotations

from typing import Any

import numpy as np

from partial_monitoring.estimation.linear.design import Design
from partial_monitoring.estimation.linear.ellipsoid import COMPILED
from partial_monitoring.estimation.linear.least_squares import in_loops
from partial_monitoring.policies.ids import gaps
from partial_monitoring.policies.ids.context_counts import CountingState
from partial_monitoring.policies.ids.context_parts import known_pareto, listed_parts
from partial_monitoring.policies.ids.context_program import ProvenProgram
from partial_monitoring.policies.ids.parts import GAPS, INFORMATION, compares, cut_for
from partial_monitoring.policies.ids.program import estimate_of, upkeep_of
from partial_monitoring.policies.ids.sampling import as_rule
from partial_monitoring.policies.program import NotCompiled

CHANCES = ("known", "estimated", "growing")
"""Where the chances of contexts come from, numbered as in the loops."""


def contextual_program(policy: Any, state: CountingState) -> ProvenProgram:
    """Return the program of contextual IDS in its initial state, or say why there is none."""
    from partial_monitoring.numerics.compiled.play_contextual import Rule, play

    estimate, design = estimate_of(policy, state), state.contexts.design
    if policy.gap not in GAPS or policy.information not in INFORMATION:
        raise NotCompiled("these gaps or this information are not compiled")
    if policy.integrated or policy.solver != "exact":
        raise NotCompiled("plans and Frank-Wolfe are not compiled")
    cut = cut_for(policy, design)
    if cut.bare(design.basis.shape[1]) is None:
        raise NotCompiled("Theta is a set of your own")
    if policy.gap is gaps.exact and cut.whole and int(np.diff(design.groups).max()) > COMPILED:
        raise NotCompiled("exact gaps of so many actions are not compiled")
    if not in_loops(design):
        raise NotCompiled("the contexts are large")
    rule = Rule(
        policy.confidence.numbers(design),
        GAPS.index(policy.gap),
        INFORMATION.index(policy.information),
        as_rule(policy.sampling).kappa,
        CHANCES.index(policy.chances),
        *upkeep_of(estimate.design)[:2],
        0.0,
    )
    counts = np.zeros((estimate.replicates, len(state.parts)), dtype=np.int64)
    pareto = known_pareto(policy, state)
    return ProvenProgram(
        state,
        rule,
        play,
        extra=(joined_of(state), counts),
        policy=policy,
        parts=lambda: (
            theta_of(policy, design) if compares(policy) or not cut.whole else None,
            listed_parts(policy, state, pareto) if compares(policy) else None,
        ),
        renew=lambda: np.copyto(pareto, known_pareto(policy, state)),
        counts=counts,
    )


def theta_of(policy: Any, design: Design) -> Any:
    """Return Theta as all contexts together see it, with room of its own."""
    from partial_monitoring.numerics.compiled import bodies
    from partial_monitoring.numerics.compiled.play_contextual import Theta
    from partial_monitoring.numerics.compiled.play_cut import Rewards

    (k, dim), cut = design.slopes.shape, cut_for(policy, design)
    body: Any = cut.bare(dim)
    if policy.gap in (gaps.exact, gaps.relaxed):
        body = cut.numbers(design)
    rewards = Rewards(np.array(design.slopes), design.groups, np.empty(dim), np.empty(k))
    return Theta(rewards, body, bodies.make_scratch(body, design.rank, k))


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
