"""Contextual IDS: one kernel for all contexts, chosen in every round (section 6, Algorithm 3)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from partial_monitoring.errors import InvalidInput
from partial_monitoring.estimation.linear.ellipsoid import Ellipsoid
from partial_monitoring.estimation.state import Context, Pending, is_unlisted, some_action
from partial_monitoring.model.any_game import AnyGame
from partial_monitoring.policies.card import Card
from partial_monitoring.policies.ids.context_counts import AllContexts, CountingState, chances
from partial_monitoring.policies.ids.context_kernel import Contexts, joint_ratio
from partial_monitoring.policies.ids.frank_wolfe import STEPS, Iteration, iterated_kernel
from partial_monitoring.policies.ids.ids import IDS, asked
from partial_monitoring.policies.ids.information import log_det
from partial_monitoring.policies.ids.plans import Plans, plans_of
from partial_monitoring.policies.ids.ratio import ZERO_GAP, refuse_misfits
from partial_monitoring.policies.ids.sampling import Generalized, as_rule
from partial_monitoring.policies.needs import Needs
from partial_monitoring.policies.policy import Choices, draw
from partial_monitoring.validation import Array, Indices, boolean, brief, one_of, whole_number

SOLVERS = ("exact", "frank_wolfe")
CHANCES = ("known", "estimated", "growing")


@dataclass(frozen=True)
class ContextualIDS(IDS):
    """Trade regret in one context for information that serves all of them.

    Parameters
    ----------
    gap, information, confidence, regularization, prior_mean, norm_bound, half_life
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
        it when they come, the last 100 of them; if it is known, in them the kernel is that of
        conditional IDS.
    integrated
        Estimate the gaps of whole plans, one action for each context, which is tighter; for games
        with few plans, known chances and the exact solver. A round in which not all actions are
        available is decided without; the ``decided_by`` of a decision says so.

    Examples
    --------
    >>> import partial_monitoring as pm
    >>> result = pm.simulate(pm.games.survey(), pm.ContextualIDS(), [0.3, 0.7], horizon=20, seeds=2)
    >>> result.policies
    ['contextual_ids']
    """

    card: ClassVar[Card] = Card(
        "stochastic",
        "games with listed contexts",
        "O~(n^(1/2)) or O~(n^(2/3)), by the class of the game as a whole",
        "a linear program over contexts and actions",
        "Kirschner, Lattimore and Krause (2023)",
    )

    needs: ClassVar[Needs] = Needs(contexts=True)

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
                raise InvalidInput(
                    f"integrated gaps need known chances; got {brief(self.chances)}."
                )
            if self.solver != "exact":
                raise InvalidInput(
                    f"integrated gaps need the exact solver; got {brief(self.solver)}."
                )
        if not as_rule(self.sampling).minimizes_ratio:
            raise InvalidInput(
                f"sampling of ContextualIDS must be exact or generalized(kappa); got "
                f"{brief(self.sampling)}."
            )

    def uncovered(self, game: AnyGame | None = None) -> list[str]:
        found = super().uncovered(game)
        if self.information is not log_det and "this information" not in found:
            found.append("this information")
        if self.chances != "known":
            found.append("a context distribution that is learned")
        return found if self.solver == "exact" else [*found, "this solver"]

    @property
    def _rule(self) -> Generalized:
        rule: Any = as_rule(self.sampling)
        return rule  # type: ignore[no-any-return]

    def init(self, game: AnyGame, replicates: int) -> CountingState:
        if game.traits.finite and getattr(self.confidence, "counts_signals", False):
            raise InvalidInput(
                "confidence likelihood_ratio is not for ContextualIDS in finite games; use IDS."
            )
        state = super().init(game, replicates)
        seen = np.zeros((replicates, len(state.parts)), dtype=np.int64)
        plans = plans_of(state.game, state.design) if self.integrated else None
        return CountingState(
            state.estimate, state.game, state.parts, seen, AllContexts.of(state), plans
        )

    def decide(
        self,
        state: Any,
        uniforms: Array,
        available: Array | None = None,
        context: Context | None = None,
    ) -> Choices:
        """Choose the kernel, and an action from its row of the context that came."""
        if self._alone(context):
            return super().decide(state, uniforms, available, context)
        state, own = state.find_context(context)
        chi = np.array(chances(state, own, kind=self.chances))
        each, shape = np.arange(len(own)), (len(own), *state.contexts.offered.shape)
        offered = np.array(np.broadcast_to(state.contexts.offered, shape))
        if available is not None:
            offered[each, own, : len(available)] &= np.asarray(available, dtype=bool)
            some_action(offered[each, own])
        whole = available is None
        known = self._everywhere(state, chi, None if whole else offered)
        distribution, ratio, decided_by = self._distribution(
            state, known, chi, offered, own, whole=whole
        )
        shown = slice(context.k if is_unlisted(context) else state.game.k)
        return Choices(
            draw(distribution, uniforms),
            distribution[:, shown],
            np.where(offered[each, own], known.gaps[each, own], np.inf)[:, shown],
            np.where(offered[each, own], known.information[each, own], 0.0)[:, shown],
            ratio,
            known.beta,
            known.center,
            decided_by=decided_by,
        )

    def program(self, state: Any) -> Any:
        from partial_monitoring.policies.ids.contextual_program import contextual_program

        return contextual_program(self, state)

    def _alone(self, context: Context | None) -> bool:
        """Whether a context is outside the distribution, so that conditional IDS decides in it."""
        return is_unlisted(context) and self.chances == "known"

    def _distribution(
        self,
        state: CountingState,
        known: Everywhere,
        chi: Array,
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
        if self.solver == "exact":
            distribution, ratio = self._exactly(known, chi, offered, own)
        else:
            distribution, ratio = self._iterated(state.estimate.round, known, chi, offered, own)
        if planned.any():
            distribution[planned], ratio[planned] = shares[planned], ratios[planned]
        return distribution, ratio, "contexts"

    def _exactly(
        self, known: Everywhere, chi: Array, offered: NDArray[np.bool_], own: Indices
    ) -> tuple[Array, Array]:
        """Return the rows of the best kernels, and the ratios of the kernels."""
        from partial_monitoring.numerics.compiled.contexts import minimize_replicates
        from partial_monitoring.numerics.compiled.ratio import spread_rows

        *pairs, ratio = minimize_replicates(
            known.gaps, known.information, chi, offered, self._rule.kappa, ZERO_GAP
        )
        mine = (each[np.arange(len(own)), own] for each in pairs)
        rows = spread_rows(*mine, known.gaps.shape[2])
        return np.asarray(rows), np.asarray(ratio)

    def _iterated(
        self,
        rounds: Indices,
        known: Everywhere,
        chi: Array,
        offered: NDArray[np.bool_],
        own: Indices,
    ) -> tuple[Array, Array]:
        """Return the rows of the kernels of Frank-Wolfe, and the ratios of the kernels."""
        kappa = self._rule.kappa
        distribution, ratio = np.zeros(offered[:, 0].shape), np.zeros(len(own))
        for row, (t, z) in enumerate(zip(rounds.tolist(), own, strict=True)):
            how = Iteration(self.steps, step=self.step)
            if self.smoothed:
                how = how._replace(steps=min(self.steps, t * t), smoothing=1.0 / t)
            gaps, information = known.gaps[row], known.information[row]
            kernel = iterated_kernel(
                Contexts(gaps, information, chi[row], offered[row], kappa), how
            )
            distribution[row] = kernel[z]
            ratio[row] = joint_ratio(kernel, gaps, information, chi[row], kappa=kappa)
        return distribution, ratio

    def _planned(
        self, state: CountingState, plans: Plans, known: Everywhere, own: Indices
    ) -> tuple[Array, Array]:
        """Return what the best two plans play in the contexts that came, and their ratio.

        A plan loses no more than its actions do on average.
        """
        gaps = plans.gaps(state.estimate, self.gap, self.confidence)
        gaps = np.minimum(gaps, plans.averaged(known.gaps))
        pairs = self._rule.pairs(gaps, plans.averaged(known.information))
        column = np.minimum(np.searchsorted(plans.contexts, own), len(plans.contexts) - 1)
        each = np.arange(len(own))
        mu = np.zeros((len(own), state.game.k))
        mu[each, plans.actions[pairs.first, column]] = 1.0 - pairs.share
        mu[each, plans.actions[pairs.second, column]] += pairs.share
        return mu, pairs.ratio

    def update(
        self, state: Any, action: Indices, observation: Array, context: Context | None = None
    ) -> Any:
        following = state.after(action, observation, context)
        if self._alone(context):
            return following
        known, own = following.find_context(context)
        return known.counted(own)

    def update_often(
        self,
        state: Any,
        action: Indices,
        observation: Array,
        often: Indices,
        weight: Array,
        context: Context | None = None,
    ) -> Any:
        following = super().update_often(state, action, observation, often, weight, context)
        if following is None or self._alone(context):
            return following
        known, own = following.find_context(context)
        return known.counted(own, often)

    def expecting(self, state: Any, pending: Pending, context: Context | None = None) -> Any:
        """Return the state as if open decisions had been answered with what is expected."""
        following = state.expecting(pending, context)
        if self._alone(context):
            return following
        known, own = following.find_context(context)
        return known.counted(own, pending.often.sum(axis=1))

    def _everywhere(
        self,
        state: CountingState,
        chi: Array | None = None,
        offered: NDArray[np.bool_] | None = None,
    ) -> Everywhere:
        """Return gaps and information of all contexts; what is always best has no gap.

        ``offered`` (n, contexts, actions) is None if nothing is left out.
        """
        listed = None if offered is None else offered[:, *state.contexts.where]
        whole = replace(state.everywhere(self.confidence), chances=chi, offered=listed)
        gained = _of_all("information", self.information, whole)
        lost = _of_all("gap", self.gap, whole)
        refuse_misfits(lost, gained)
        best = whole.always_best
        if best.any():
            lost = np.where(best, 0.0, lost)
        table = state.contexts.table
        return Everywhere(table(lost), table(gained), whole.beta, whole.center)


@dataclass(frozen=True, eq=False)
class Everywhere:
    """What is known about all contexts, for n replicates."""

    gaps: Array
    """Shape (n, contexts, actions); zero where not offered."""
    information: Array
    beta: Array
    center: Array


def _of_all(name: str, function: Callable[[Any, Any], Array], whole: Ellipsoid) -> Array:
    """Return what a function says about all actions (n, N): at once, or group by group."""
    if getattr(function, "compares_in_groups", False):
        return asked(name, function, whole)
    groups = range(len(whole.groups) - 1)
    return np.concatenate([asked(name, function, whole.group(z)) for z in groups], axis=1)
