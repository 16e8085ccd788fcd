"""Thompson sampling with functions drawn from their posterior: bandits and duels.

Chowdhury and Gopalan (2017) for bandits, Sui, Zhuang, Burdick and Yue (2017) for duels. A draw is

    f = f_hat + c lambda^(-1/2) U z,    U U' = C,  z standard normal,

at all candidates together. GP-TS plays where it is largest; for a duel two functions are drawn, and
the best item of one meets the best item of the other. Draws are exact, from a root of C that is
brought along from round to round (``estimation.kernel_root``).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from partial_monitoring import randomness
from partial_monitoring.errors import InvalidInput
from partial_monitoring.estimation import confidence as schedules
from partial_monitoring.estimation.confidence import Schedule, confidence_set
from partial_monitoring.estimation.kernel import posterior as kernel
from partial_monitoring.estimation.kernel.design import KernelModel, kernel_model, refuse_loud
from partial_monitoring.estimation.kernel.ellipsoid import KernelConfidence
from partial_monitoring.estimation.kernel.posterior import KernelEstimate
from partial_monitoring.estimation.kernel.root import Root, prior_root
from partial_monitoring.estimation.linear.contextual import Context
from partial_monitoring.estimation.linear.design import checked_options
from partial_monitoring.kernels.gram import Functionals
from partial_monitoring.model.box import KernelBoxGame
from partial_monitoring.model.contextual import AnyGame
from partial_monitoring.model.kernel_dueling import KernelDuelingGame
from partial_monitoring.policies.bandit.improvement import GaussianProcessPolicy
from partial_monitoring.policies.estimating import AnyState, KernelState
from partial_monitoring.policies.ids.dueling import compared_by
from partial_monitoring.policies.ids.gaps import through_greedy
from partial_monitoring.policies.ids.ratio import information_ratio
from partial_monitoring.policies.policy import Choices, all_on
from partial_monitoring.validation import Array, Indices, one_of, positive_number

WIDTHS = ("posterior", "confidence")
"""How widely functions are drawn: c is rho, the size of the noise, or beta_t^(1/2)."""


@dataclass(frozen=True, eq=False)
class DrawnState(KernelState):
    """What a policy knows that draws functions."""

    roots: tuple[Root, ...] = ()
    """U of each replicate."""

    @classmethod
    def first(cls, estimate: KernelEstimate) -> DrawnState:
        """Return the state before the first round."""
        root = prior_root(estimate.model)
        return cls(estimate, roots=(root,) * estimate.replicates)

    @property
    def model(self) -> KernelModel:
        """The game as the estimate sees it."""
        return self.estimate.model

    @property
    def columns(self) -> int:
        """How many numbers a draw needs."""
        return int(self.roots[0].prior.shape[1])

    def after(self, seen: list[tuple[Functionals, Array]]) -> DrawnState:
        """Return the state when each replicate has seen rows."""
        lam = self.model.regularization
        roots = [root.after(rows, lam) for root, (rows, _) in zip(self.roots, seen, strict=True)]
        return DrawnState(kernel.updated_by_rows(self.estimate, seen), roots=tuple(roots))

    def drawn(self, uniforms: Array, c: Array) -> Array:
        """Return the rewards of one draw per replicate with c (n,), shape (n, k)."""
        normals = randomness.normals(uniforms)
        away = np.stack([root.times(z) for root, z in zip(self.roots, normals, strict=True)])
        scale = c[:, None] / np.sqrt(self.model.regularization)
        return np.asarray(self.estimate.means + scale * self.model.game.reward.of(away))


@dataclass(frozen=True)
class GPTS(GaussianProcessPolicy):
    """Thompson sampling for functions: draw one from the posterior, play where it is largest.

    Parameters
    ----------
    confidence, regularization, norm_bound, allow_partial
        As for :class:`partial_monitoring.GPUCB`.
    width
        "posterior": c = rho, a draw from the posterior itself; "confidence": c = beta_t^(1/2), for
        which there are bounds of the regret.
    factor
        c is multiplied with it.

    Notes
    -----
    The index of a decision are the rewards of the draw; its distribution is given the draw, all on
    one action.

    Examples
    --------
    >>> import partial_monitoring as pm
    >>> game = pm.games.kernelized_bandit()
    >>> result = pm.simulate(game, "gp_ts", "random", horizon=20, seeds=2)
    >>> result.regret["gp_ts"].shape == (2, len(result.checkpoints))
    True
    """

    width: str = "posterior"
    factor: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("width", self.width, WIDTHS)
        positive_number("factor", self.factor)

    def init(self, game: AnyGame, replicates: int) -> DrawnState:
        """Return the state before the first round."""
        if isinstance(game, KernelBoxGame):
            raise InvalidInput("GPTS draws functions at listed candidates, not over a box.")
        state = super().init(game, replicates)
        assert isinstance(state, KernelState)
        return DrawnState.first(state.estimate)

    def draws(self, state: DrawnState) -> int:
        """Return the number of uniform numbers per round."""
        return state.columns

    def decide(
        self,
        state: AnyState,
        uniforms: Array,
        available: Array | None = None,
        context: Context | None = None,
    ) -> Choices:
        """Choose actions."""
        assert isinstance(state, DrawnState)
        confidence = confidence_set(state.estimate, state.shape, self.confidence)
        index = state.drawn(uniforms, self.factor * _c(confidence, self.width))
        return self._choices(confidence, index, available)

    def update(
        self, state: AnyState, action: Indices, observation: Array, context: Context | None = None
    ) -> DrawnState:
        """Return the state after one more observation."""
        assert isinstance(state, DrawnState)
        return state.after(kernel.shown_by(state.model, action, observation))


@dataclass(frozen=True)
class DuelingTS:
    """Thompson sampling for duels: draw two utilities, let their best items meet.

    Parameters
    ----------
    confidence, regularization, norm_bound, width, factor
        As for :class:`partial_monitoring.GPTS`.

    Notes
    -----
    It plays ``pm.games.kernelized_dueling`` and never lists the pairs. The distribution, gaps and
    information of a decision are those of the duels of the first item with every item, given the
    draws.

    Examples
    --------
    >>> import partial_monitoring as pm
    >>> learner = pm.Learner(pm.games.kernelized_dueling(), pm.DuelingTS(), seed=0)
    >>> decision = learner.ask()
    >>> learner.tell(decision, [0.3])
    """

    confidence: Schedule = field(default_factory=schedules.paper)
    regularization: float | None = None
    norm_bound: float | None = None
    width: str = "posterior"
    factor: float = 1.0

    def __post_init__(self) -> None:
        checked_options(self, ("confidence",))
        one_of("width", self.width, WIDTHS)
        positive_number("factor", self.factor)

    def init(self, game: AnyGame, replicates: int) -> DrawnState:
        """Return the state before the first round."""
        if not isinstance(game, KernelDuelingGame):
            raise InvalidInput(
                f"DuelingTS plays kernelized duels (pm.games.kernelized_dueling); got {game!r}."
            )
        items = kernel_model(
            game.as_items(), regularization=self.regularization, norm_bound=self.norm_bound
        )
        refuse_loud(float(items.distances(0).max()) / items.regularization)
        return DrawnState.first(kernel.initial(items, replicates, width=2))

    def draws(self, state: DrawnState) -> int:
        """Return the number of uniform numbers per round."""
        return 2 * state.columns

    def decide(self, state: DrawnState, uniforms: Array, available: Array | None = None) -> Choices:
        """Choose duels."""
        if available is not None:
            raise InvalidInput("available cannot be given with DuelingTS, which chooses items.")
        confidence = self.confidence_set(state)
        c = self.factor * _c(confidence, self.width)
        one, two = (state.drawn(part, c) for part in np.split(uniforms, 2, axis=1))
        first, second = one.argmax(axis=1), two.argmax(axis=1)
        count = state.model.game.k
        base = np.minimum(through_greedy(confidence, through_mean=True)[0], state.model.largest_gap)
        gaps = base + np.take_along_axis(base, first[:, None], axis=1)
        psi = [confidence.distances(row, int(a)) for row, a in enumerate(first)]
        information = 0.5 * np.log1p(np.array(psi))
        distribution = all_on(second, count)
        return Choices(
            first * count + second,
            distribution,
            gaps,
            information,
            information_ratio(distribution, gaps, information),
            confidence.beta,
            confidence.estimate,
            position=second,
            candidates=first[:, None] * count + np.arange(count),
            index=two,
        )

    def update(self, state: DrawnState, action: Indices, observation: Array) -> DrawnState:
        """Return the state after the outcomes of duels."""
        return state.after(compared_by(state.model.game.k, action, observation))

    def confidence_set(self, state: DrawnState) -> KernelConfidence:
        """Return E_t of the utilities."""
        return confidence_set(state.estimate, state.shape, self.confidence)


def _c(confidence: KernelConfidence, width: str) -> Array:
    """Return how widely to draw, rho or beta_t^(1/2), shape (n,)."""
    if width == "confidence":
        return np.asarray(np.sqrt(confidence.beta))
    return np.full(len(confidence.beta), confidence.data.model.noise_std)
