"""Contextual IDS: one kernel for all contexts, chosen in every round (section 6, Algorithm 3)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from partial_monitoring.contextual_game import AnyGame, ContextualGame
from partial_monitoring.errors import InvalidInput
from partial_monitoring.estimation.confidence import confidence_set
from partial_monitoring.estimation.least_squares import viewed
from partial_monitoring.game import Game
from partial_monitoring.ids.counting import CountingState, chances, counted, located
from partial_monitoring.ids.integrated import Plans, plans_of
from partial_monitoring.ids.joint import Contexts, best_kernel, frank_wolfe, joint_ratio, prepared
from partial_monitoring.ids.policy import IDS
from partial_monitoring.ids.sampling import Generalized, pair_rule
from partial_monitoring.in_context import Context, ContextualState, some_action
from partial_monitoring.linear_policy import AnyState
from partial_monitoring.policy import Choices, draw
from partial_monitoring.validation import Array, Indices, boolean, one_of, whole_number

SOLVERS = ("exact", "frank_wolfe")
CHANCES = ("known", "estimated", "growing")


@dataclass(frozen=True)
class ContextualIDS(IDS):
    """Trade regret in one context for information that serves all of them.

    Parameters
    ----------
    gap, information, confidence, regularization, prior_mean, norm_bound
        As for :class:`partial_monitoring.IDS`.
    sampling
        ``pm.sampling.exact`` or ``.generalized(kappa)``, which say kappa. For E2D, which needs no
        kernel, take :class:`partial_monitoring.IDS`.
    solver
        "exact", or "frank_wolfe" to reproduce the paper.
    steps
        Of Frank-Wolfe, at most.
    chances
        "known": the context distribution is that of the game; "estimated": it is learned from the
        contexts that came, each counted once more than it came; "growing": likewise, but only of
        those that came. If it is learned, contexts that the game does not list join it when they
        come; if it is known, in them the kernel is that of conditional IDS.
    integrated
        Estimate the gaps of whole plans, one action for each context, which is tighter; for games
        with few plans and known chances. A round in which not all actions are available is decided
        without.

    Examples
    --------
    >>> import partial_monitoring as pm
    >>> result = pm.simulate(pm.games.survey(), pm.ContextualIDS(), [0.3, 0.7], horizon=20, seeds=2)
    >>> result.policies
    ['contextual_ids']
    """

    solver: str = "exact"
    steps: int = 200
    chances: str = "known"
    integrated: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("solver", self.solver, SOLVERS)
        one_of("chances", self.chances, CHANCES)
        whole_number("steps", self.steps, at_least=1)
        if boolean("integrated", self.integrated) and self.chances != "known":
            raise InvalidInput(f"integrated gaps need known chances; got {self.chances!r}.")
        if not isinstance(pair_rule(self.sampling), Generalized):
            raise InvalidInput(
                f"sampling of ContextualIDS must be exact or generalized(kappa); got "
                f"{self.sampling!r}."
            )

    @property
    def kappa(self) -> float:
        """The exponent of the information ratio."""
        rule = pair_rule(self.sampling)
        assert rule is not None
        return rule.kappa

    def init(self, game: AnyGame, replicates: int) -> AnyState:
        """Return the state before the first round."""
        if not isinstance(game, ContextualGame):
            raise InvalidInput(f"ContextualIDS plays games with contexts; got {game!r}.")
        state = super().init(game, replicates)
        assert isinstance(state, ContextualState)
        seen = np.zeros((replicates, len(game.games)), dtype=np.int64)
        plans = plans_of(game, state.estimate.model) if self.integrated else None
        return CountingState(state.estimate, state.shape, game, state.parts, seen, plans)

    def decide(
        self,
        state: AnyState,
        uniforms: Array,
        available: Array | None = None,
        context: Context | None = None,
    ) -> Choices:
        """Choose the kernel, and an action from its row of the context that came."""
        if not isinstance(state, CountingState):
            return super().decide(state, uniforms, available, context)
        if isinstance(context, Game) and self.chances == "known":
            return super().decide(_plain(state), uniforms, available, context)
        state, own = located(state, context)
        gaps, information, beta, center = self._everywhere(state)
        n, k = len(own), gaps.shape[2]
        offered = np.array(np.broadcast_to(state.offered, gaps.shape))
        if available is not None:
            offered[np.arange(n), own, : len(available)] &= np.asarray(available, dtype=bool)
            some_action(offered[np.arange(n), own])
        chi = chances(state, own, kind=self.chances)
        distribution, ratio = np.zeros((n, k)), np.zeros(n)
        planned = np.zeros(n, dtype=bool)
        if state.plans is not None and available is None:
            planned = np.isin(own, state.plans.contexts)
            shares, ratios = self._planned(state, state.plans, information, own)
            distribution[planned], ratio[planned] = shares[planned], ratios[planned]
        for i in np.flatnonzero(~planned):
            problem = prepared(gaps[i], information[i], chi[i], offered[i], self.kappa)
            distribution[i], ratio[i] = self._row(problem, int(own[i]))
        each = np.arange(n)
        shown = slice(context.k if isinstance(context, Game) else state.game.k)
        return Choices(
            draw(distribution, uniforms),
            distribution[:, shown],
            np.where(offered[each, own], gaps[each, own], np.inf)[:, shown],
            np.where(offered[each, own], information[each, own], 0.0)[:, shown],
            ratio,
            beta,
            center,
        )

    def _planned(
        self, state: CountingState, plans: Plans, information: Array, own: Indices
    ) -> tuple[Array, Array]:
        """Return what the best two plans play in the contexts that came, and their ratio."""
        rule = pair_rule(self.sampling)
        assert rule is not None
        gaps = plans.gaps(state.estimate, self.gap, self.confidence)
        pairs = rule.pairs(np.maximum(gaps, 0.0), plans.averaged(information))
        column = np.minimum(np.searchsorted(plans.contexts, own), len(plans.contexts) - 1)
        each = np.arange(len(own))
        mu = np.zeros((len(own), state.game.k))
        mu[each, plans.actions[pairs.first, column]] = 1.0 - pairs.share
        mu[each, plans.actions[pairs.second, column]] += pairs.share
        return mu, pairs.ratio

    def update(
        self,
        state: AnyState,
        action: Indices,
        observation: Array,
        context: Context | None = None,
    ) -> AnyState:
        """Return the state after one more observation."""
        following = super().update(state, action, observation, context)
        if not isinstance(following, CountingState):
            return following
        if isinstance(context, Game) and self.chances == "known":
            return following
        return counted(*located(following, context))

    def _everywhere(self, state: CountingState) -> tuple[Array, Array, Array, Array]:
        """Return gaps and information of all contexts (n, contexts, k), beta and the estimate."""
        n, size = state.estimate.replicates, state.offered.shape
        gaps, information = np.zeros((n, *size)), np.zeros((n, *size))
        beta, center = np.zeros(n), np.zeros((n, state.game.d))
        for z, (part, shape, places) in enumerate(state.contexts()):
            confidence = confidence_set(viewed(state.estimate, part), shape, self.confidence)
            own = self.gap(part.game, confidence)
            gaps[:, z, places] = np.where(part.dominant, 0.0, own) if part.dominant.any() else own
            information[:, z, places] = self.information(part.game, confidence)
            if z == 0:
                beta, center = confidence.beta, confidence.center
        return gaps, information, beta, center

    def _row(self, problem: Contexts, z: int) -> tuple[Array, float]:
        """Return the row of the kernel for one context, and the ratio of the whole kernel."""
        p = problem
        if self.solver == "frank_wolfe":
            kernel = frank_wolfe(
                p.gaps,
                p.information,
                p.weights,
                available=p.available,
                kappa=p.kappa,
                steps=self.steps,
            )
        else:
            kernel = best_kernel(p)
        gap_unit, gain_unit = p.units
        scaled = joint_ratio(kernel, p.gaps, p.information, p.weights, kappa=p.kappa)
        return kernel[z], scaled * gap_unit**p.kappa / gain_unit if 0 < scaled < np.inf else scaled


def _plain(state: CountingState) -> ContextualState:
    return ContextualState(state.estimate, state.shape, state.game, state.parts)
