"""Contextual IDS: one kernel for all contexts, chosen in every round (section 6, Algorithm 3)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from partial_monitoring.errors import InvalidInput
from partial_monitoring.estimation.linear.contextual import Context, ContextualState, some_action
from partial_monitoring.model.contextual import AnyGame, ContextualGame
from partial_monitoring.model.game import Game
from partial_monitoring.policies.estimating import AnyState
from partial_monitoring.policies.ids.all_contexts import Everywhere, everywhere
from partial_monitoring.policies.ids.context_counts import (
    CountingState,
    chances,
    counted,
    joined_parts,
    located,
)
from partial_monitoring.policies.ids.context_kernel import Contexts, joint_ratio
from partial_monitoring.policies.ids.frank_wolfe import STEPS, Iteration, iterated_kernel
from partial_monitoring.policies.ids.ids import IDS
from partial_monitoring.policies.ids.plans import Plans, plans_of
from partial_monitoring.policies.ids.ratio import ZERO_GAP
from partial_monitoring.policies.ids.sampling import Generalized, pair_rule
from partial_monitoring.policies.policy import Choices, draw
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
        "exact", or "frank_wolfe" to reproduce the paper; then the options ``steps``, ``step`` and
        ``smoothed`` count.
    steps
        Of Frank-Wolfe, at most; it stops earlier where the duality gap is nothing.
    step
        "line" (to the best point ahead) or "classic" (2 / (i + 2) of the way in step i).
    smoothed
        Add 1/t to the information in round t and make at most t^2 steps, as the paper does (E25).
    chances
        "known": the context distribution is that of the game; "estimated": it is learned from the
        contexts that came, each counted once more than it came; "growing": likewise, but only of
        those that came. A context is counted when its round is told, so rounds that show nothing
        must be told, too. If the distribution is learned, contexts that the game does not list join
        it when they come; if it is known, in them the kernel is that of conditional IDS.
    integrated
        Estimate the gaps of whole plans, one action for each context, which is tighter; for games
        with few plans, known chances and the exact solver. A round in which not all actions are
        available is decided without; the ``basis`` of a decision says so.

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
    step: str = "line"
    smoothed: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("solver", self.solver, SOLVERS)
        one_of("chances", self.chances, CHANCES)
        whole_number("steps", self.steps, at_least=1)
        one_of("step", self.step, STEPS)
        boolean("smoothed", self.smoothed)
        if boolean("integrated", self.integrated):
            if self.chances != "known":
                raise InvalidInput(f"integrated gaps need known chances; got {self.chances!r}.")
            if self.solver != "exact":
                raise InvalidInput(f"integrated gaps need the exact solver; got {self.solver!r}.")
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
        return CountingState(
            state.estimate, state.shape, game, state.parts, seen, joined_parts(state), plans
        )

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
        known = self._everywhere(state)
        each = np.arange(len(own))
        offered = np.array(np.broadcast_to(state.lists.offered, known.gaps.shape))
        if available is not None:
            offered[each, own, : len(available)] &= np.asarray(available, dtype=bool)
            some_action(offered[each, own])
        distribution, ratio, basis = self._distribution(
            state, known, offered, own, whole=available is None
        )
        shown = slice(context.k if isinstance(context, Game) else state.game.k)
        return Choices(
            draw(distribution, uniforms),
            distribution[:, shown],
            np.where(offered[each, own], known.gaps[each, own], np.inf)[:, shown],
            np.where(offered[each, own], known.information[each, own], 0.0)[:, shown],
            ratio,
            known.beta,
            known.center,
            basis=basis,
        )

    def _distribution(
        self,
        state: CountingState,
        known: Everywhere,
        offered: NDArray[np.bool_],
        own: Indices,
        *,
        whole: bool,
    ) -> tuple[Array, Array, str]:
        """Return distributions (n, k) in the contexts that came, their ratios, and what decided.

        Plans decide if there are any and nothing was left out (``whole``).
        """
        planned = np.zeros(len(own), dtype=bool)
        if state.plans is not None and whole:
            planned = np.isin(own, state.plans.contexts)
            shares, ratios = self._planned(state, state.plans, known, own)
            if planned.all():
                return shares, ratios, "plans"
        chi = np.array(chances(state, own, kind=self.chances))
        solve = self._iterated if self.solver == "frank_wolfe" else self._exactly
        distribution, ratio = solve(state, known, chi, offered, own)
        if planned.any():
            distribution[planned], ratio[planned] = shares[planned], ratios[planned]
        return distribution, ratio, "contexts"

    def _exactly(
        self,
        state: CountingState,
        known: Everywhere,
        chi: Array,
        offered: NDArray[np.bool_],
        own: Indices,
    ) -> tuple[Array, Array]:
        """Return the rows of the best kernels, and the ratios of the kernels."""
        from partial_monitoring.numerics.compiled.contexts import minimize_rows_jointly
        from partial_monitoring.numerics.compiled.ratio import spread_rows

        first, second, share, ratio = minimize_rows_jointly(
            known.gaps, known.information, chi, offered, own, self.kappa, ZERO_GAP
        )
        rows = spread_rows(first, second, share, known.gaps.shape[2])
        return np.asarray(rows), np.asarray(ratio)

    def _iterated(
        self,
        state: CountingState,
        known: Everywhere,
        chi: Array,
        offered: NDArray[np.bool_],
        own: Indices,
    ) -> tuple[Array, Array]:
        """Return the rows of the kernels of Frank-Wolfe, and the ratios of the kernels."""
        distribution, ratio = np.zeros(offered[:, 0].shape), np.zeros(len(own))
        for row, z in enumerate(own):
            gaps, information = known.gaps[row], known.information[row]
            problem = Contexts(gaps, information, chi[row], offered[row], self.kappa)
            kernel = iterated_kernel(problem, self._iteration(int(state.estimate.round[row])))
            distribution[row] = kernel[z]
            ratio[row] = joint_ratio(kernel, gaps, information, chi[row], kappa=self.kappa)
        return distribution, ratio

    def _iteration(self, t: int) -> Iteration:
        """Return how Frank-Wolfe goes in round t."""
        if self.smoothed:
            return Iteration(min(self.steps, t * t), step=self.step, smoothing=1.0 / t)
        return Iteration(self.steps, step=self.step)

    def _planned(
        self, state: CountingState, plans: Plans, known: Everywhere, own: Indices
    ) -> tuple[Array, Array]:
        """Return what the best two plans play in the contexts that came, and their ratio.

        A plan loses no more than its actions do on average.
        """
        rule = pair_rule(self.sampling)
        assert rule is not None
        gaps = plans.gaps(state.estimate, self.gap, self.confidence)
        gaps = np.minimum(gaps, plans.averaged(known.gaps))
        pairs = rule.pairs(gaps, plans.averaged(known.information))
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

    def _everywhere(self, state: CountingState) -> Everywhere:
        """Return gaps and information of all contexts."""
        return everywhere(
            state.lists, state.estimate, state.shape, self.gap, self.information, self.confidence
        )


def _plain(state: CountingState) -> ContextualState:
    return ContextualState(state.estimate, state.shape, state.game, state.parts)
