"""A policy whose kernel is fitted to the data now and then."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from partial_monitoring.errors import InvalidInput
from partial_monitoring.estimation.kernel.append_only import AppendOnly
from partial_monitoring.estimation.kernel.design import KernelDesign
from partial_monitoring.estimation.kernel.marginal_likelihood import fit_kernel
from partial_monitoring.estimation.state import Pending
from partial_monitoring.kernels.base import Kernel
from partial_monitoring.model.any_game import AnyGame
from partial_monitoring.model.function_game import FunctionGame
from partial_monitoring.policies.card import Card
from partial_monitoring.policies.ids import gaps
from partial_monitoring.policies.ids.ids import IDS
from partial_monitoring.policies.needs import Needs, refuse
from partial_monitoring.policies.policy import (
    Choices,
    Policy,
    draws_needed,
    expecting,
    is_policy,
    joined,
)
from partial_monitoring.policies.promise import Promise, practical
from partial_monitoring.policies.units import Units, units_of
from partial_monitoring.validation import Array, Indices, brief, real_number, whole_number

MOST_FITTED = 400
"""Of more different actions than this the ones that were played last are fitted to."""


@dataclass(frozen=True, eq=False)
class Fitted:
    """What one replicate knows: its game with the kernel of the last fit, and all it has seen."""

    game: FunctionGame
    state: Any
    actions: AppendOnly
    shown: AppendOnly
    due: int
    """The round before which the kernel is fitted again."""


@dataclass(frozen=True, eq=False)
class RefittedState:
    """What a refitted policy knows after some rounds."""

    runs: tuple[Fitted, ...]
    start: Kernel
    """The kernel of the game, from which every search starts."""
    most_draws: int
    """No kernel needs more uniform numbers in a round than this."""

    @property
    def replayed(self) -> bool:
        """The state is saved as what was observed."""
        return True

    @property
    def design(self) -> KernelDesign:
        """The design of the first replicate, with its kernel."""
        found: KernelDesign = self.runs[0].state.design
        return found


@dataclass(frozen=True)
class Refitted:
    """Play a kernel game with another policy, and fit the kernel to the data now and then.

    The regret bounds need a kernel that is known beforehand: with one that was fitted to the same
    data nothing is guaranteed, though it often learns faster than with a poor guess.

    Parameters
    ----------
    inner
        The policy, ``pm.IDS`` with the mean gap unless given.
    first
        The round before which the kernel is fitted for the first time.
    growth
        It is fitted again whenever the number of rounds has grown by this factor.

    Examples
    --------
    >>> import partial_monitoring as pm
    >>> game = pm.games.kernelized_bandit(kernel=pm.kernels.Matern(2.5, lengthscale=1.0))
    >>> learner = pm.Learner(game, pm.Refitted(first=5), seed=0)
    >>> for _ in range(5):
    ...     decision = learner.ask()
    ...     learner.tell(decision, [np.sin(9 * game.point(decision.action)[0])])
    >>> print(learner.status().warnings[0])
    the kernel was fitted to the data, so that nothing is guaranteed.
    """

    card: ClassVar[Card] = Card(
        "stochastic",
        "kernel games",
        "none: the kernel is fitted to the data",
        "that of the policy inside, and fits of the kernel now and then",
        "none",
    )

    needs: ClassVar[Needs] = Needs(listed=False, function=True, contexts=False)

    inner: Policy[Any] = field(default_factory=lambda: IDS(gap=gaps.mean))
    first: int = 10
    growth: float = 1.5

    caveat = "the kernel was fitted to the data, so that nothing is guaranteed."
    """What a learner's status warns of."""

    def promise(self, game: AnyGame | None = None) -> Promise:
        """Return that nothing is proven."""
        return practical("the kernel is fitted to the data")

    def __post_init__(self) -> None:
        if not is_policy(self.inner) or isinstance(self.inner, Refitted):
            raise InvalidInput(f"inner must be a policy such as IDS(); got {brief(self.inner)}.")
        whole_number("first", self.first, at_least=2)
        if not real_number("growth", self.growth) > 1:
            raise InvalidInput(f"growth must be above 1; got {brief(self.growth)}.")

    def init(self, game: Any, replicates: int) -> RefittedState:
        refuse(self, game)
        kernel = game.computed.kernel
        if not kernel.parameters:
            raise InvalidInput(
                f"game must have a kernel with parameters to fit; got {brief(kernel)}."
            )
        state = self.inner.init(game, 1)
        if not isinstance(getattr(state, "design", None), KernelDesign):
            raise InvalidInput(
                f"inner must be a policy that estimates the function, such as IDS(); got "
                f"{brief(self.inner)}."
            )
        actions, shown = AppendOnly.empty(1, dtype=np.int64), AppendOnly.empty(max(game.m, 1))
        blank = Fitted(game, state, actions, shown, self.first)
        return RefittedState((blank,) * replicates, kernel, 2 * game.d)

    def draws(self, state: RefittedState) -> int:
        """Return the number of uniform numbers that a round needs."""
        return 1 if draws_needed(self.inner, state.runs[0].state) is None else state.most_draws

    def decide(
        self, state: RefittedState, uniforms: Array, available: Array | None = None
    ) -> Choices:
        each = []
        for run, own in zip(state.runs, uniforms, strict=True):
            width = draws_needed(self.inner, run.state)
            numbers = own[:1] if width is None else own[None, :width]
            each.append(self.inner.decide(run.state, numbers, available))
        return joined(each)

    def update(self, state: RefittedState, action: Indices, observation: Array) -> RefittedState:
        runs = []
        for i, run in enumerate(state.runs):
            own = slice(i, i + 1)
            full = np.zeros(run.shown.buffer.shape[1])
            full[: observation.shape[1]] = observation[i]
            moved = replace(
                run,
                state=self.inner.update(run.state, action[own], observation[own]),
                actions=run.actions.added(action[own]),
                shown=run.shown.added(full),
            )
            due = moved.actions.count + 1 >= moved.due
            runs.append(self._fitted(moved, state.start) if due else moved)
        return replace(state, runs=tuple(runs))

    def expecting(self, state: RefittedState, pending: Pending) -> RefittedState:
        """Return the state in which the policy inside expects open decisions."""
        runs = []
        for run, count in zip(state.runs, pending.often, strict=True):
            own = pending._replace(often=count[None])
            runs.append(replace(run, state=expecting(self.inner, run.state, [(None, own)])))
        return replace(state, runs=tuple(runs))

    def units(self, state: RefittedState) -> Units:
        """Return what the policy inside measures gaps and information in."""
        return units_of(self.inner, state.runs[0].state)

    def confidence_set(self, state: RefittedState) -> Any:
        """Return E_t of the first replicate, with its kernel."""
        found = getattr(self.inner, "confidence_set", None)
        if not callable(found):
            raise InvalidInput(f"{type(self.inner).__name__} has no confidence set.")
        return found(state.runs[0].state)

    def _fitted(self, run: Fitted, start: Kernel) -> Fitted:
        """Fit the kernel to all that was seen, and play everything again with it."""
        design = run.state.design
        often, means, different = _grouped(run)
        sizes = np.asarray(run.game.noise_std)
        noise = sizes[different] if sizes.ndim else sizes
        kernel = fit_kernel(
            start,
            run.game.reading(different),
            means,
            noise_std=noise / np.sqrt(often),
            scale=design.noise_std**2 / design.regularization,
        )
        game = run.game.with_kernel(kernel)
        state = self.inner.init(game, 1)
        for action, shown in zip(run.actions.rows, run.shown.rows, strict=True):
            state = self.inner.update(state, action, shown[None])
        due = max(run.due + 1, int(np.ceil(self.growth * run.due)))
        return replace(run, game=game, state=state, due=due)


def _grouped(run: Fitted) -> tuple[Array, Array, Indices]:
    """Return how often actions were played, the means of what they showed, and which they are."""
    actions = run.actions.rows[:, 0]
    different, last, place, often = np.unique(
        actions[::-1], return_index=True, return_inverse=True, return_counts=True
    )
    shown = run.shown.rows[::-1]
    sums = np.zeros((len(different), shown.shape[1]))
    np.add.at(sums, np.ravel(place), shown)
    kept = np.sort(np.argsort(last)[:MOST_FITTED])
    means = sums[kept] / often[kept, None]
    return often[kept].astype(float), means, different[kept]
