"""Probes: a recorded share of uniform actions, mixed into any policy.

A policy that always plays one action says nothing about what another one would have earned. With
probes every action that is available has probability at least probe / k, so that weights of one
over the probability estimate the value of any other policy from the log, without bias.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from partial_monitoring.errors import InvalidInput
from partial_monitoring.estimation.linear.weighted import Rows
from partial_monitoring.estimation.state import Context, Pending, is_unlisted
from partial_monitoring.model.any_game import AnyGame
from partial_monitoring.policies.calibrated.calibrated import Calibrated
from partial_monitoring.policies.card import Card
from partial_monitoring.policies.needs import Needs, initial_state_of
from partial_monitoring.policies.policy import (
    Choices,
    Policy,
    check_choices,
    draws_needed,
    expecting,
    is_policy,
    seen,
)
from partial_monitoring.policies.program import NotCompiled, program_of
from partial_monitoring.policies.promise import Promise, practical
from partial_monitoring.policies.units import Units, units_of
from partial_monitoring.validation import Array, Indices, brief, real_number


@dataclass(frozen=True, eq=False)
class ProbingState:
    """What the policy knows, and the game, which says what is available."""

    known: Any
    """The state of the policy."""
    game: AnyGame

    @property
    def design(self) -> Any:
        """The game as the estimate of the policy sees it; None if it has no estimate."""
        return getattr(self.known, "design", None)

    @property
    def replayed(self) -> bool:
        """Whether it is saved as its observations."""
        return bool(getattr(self.known, "replayed", False))


@dataclass(frozen=True)
class Probing:
    """Mix a recorded share of uniform actions into another policy.

    With probability ``probe`` a round is a probe: its action is drawn uniformly from the k actions
    that are available (in the context of the round). Where a policy considers candidates among
    very many actions, points of a box or duels of one item, it is drawn from these. Decisions have
    the probabilities of the mixture (1 - probe) mu_t + probe / k, and say whether they are probes;
    gaps, information and their ratio are those of the policy. It learns from probes, too.

    ``probe=`` of :class:`partial_monitoring.Learner`, :func:`partial_monitoring.simulate` and
    :class:`partial_monitoring.Experiment` wraps policies in this one.

    Parameters
    ----------
    inner
        The policy, ``pm.Calibrated()`` unless given.
    probe
        The share of probes, above 0 and at most 1.

    Examples
    --------
    >>> import partial_monitoring as pm
    >>> learner = pm.Learner("apple_tasting", pm.Probing(pm.IDS(), 0.1), seed=0)
    >>> decision = learner.ask()
    >>> bool(decision.distribution.min() >= 0.05), decision.probed
    (True, False)
    """

    card: ClassVar[Card] = Card(
        "stochastic",
        "those of the policy inside",
        "none: probes cost linear regret, a share that is chosen",
        "that of the policy inside",
        "none",
    )

    needs: ClassVar[Needs] = Needs(listed=False)
    """Those of the policy inside, which refuses what it is not made for."""

    inner: Policy[Any] = field(default_factory=Calibrated)
    probe: float = 0.02

    def __post_init__(self) -> None:
        if not is_policy(self.inner) or isinstance(self.inner, Probing):
            raise InvalidInput(
                f"inner must be a policy without probes such as IDS(); got {brief(self.inner)}."
            )
        if checked_probe(self.probe) == 0:
            raise InvalidInput("probe must be above 0; without probes, play the policy itself.")

    def promise(self, game: AnyGame | None = None) -> Promise:
        """Return that nothing is proven: what probes lose grows with the rounds."""
        return practical(f"{100 * self.probe:.3g} % of the actions are uniform probes")

    @property
    def weighted(self) -> bool:
        """Whether the policy inside weights by the probabilities of its actions."""
        return bool(getattr(self.inner, "weighted", False))

    @property
    def caveat(self) -> str | None:
        """What a learner's status warns of with the policy inside."""
        return getattr(self.inner, "caveat", None)

    def init(self, game: AnyGame, replicates: int) -> ProbingState:
        return ProbingState(initial_state_of(self.inner, game, replicates), game)

    def draws(self, state: ProbingState) -> int:
        """Return the number of uniform numbers of a round: those of the policy, and one more."""
        own = draws_needed(self.inner, state.known)
        return 2 if own is None else 1 + own

    def decide(
        self,
        state: ProbingState,
        uniforms: Array,
        available: Array | None = None,
        context: Context | None = None,
    ) -> Choices:
        one = draws_needed(self.inner, state.known) is None
        own, last = uniforms[:, 0] if one else uniforms[:, :-1], uniforms[:, -1]
        choice = self.inner.decide(state.known, own, available, **seen(context))
        k = context.k if is_unlisted(context) else state.game.k
        check_choices(choice, k, len(uniforms))
        return mixed(choice, _offered(state.game, choice, available, context), self.probe, last)

    def program(self, state: ProbingState) -> Any:
        """Return the compiled rounds of the policy with probes, or say why there are none."""
        probing = getattr(program_of(self.inner, state.known), "probing", None)
        if probing is None:
            raise NotCompiled(f"probes of {type(self.inner).__name__} are not compiled")
        return probing(self.probe)

    def update(
        self,
        state: ProbingState,
        action: Indices,
        observation: Array,
        context: Context | None = None,
        probability: Array | None = None,
    ) -> ProbingState:
        options = seen(context) | ({} if probability is None else {"probability": probability})
        known = self.inner.update(state.known, action, observation, **options)
        return replace(state, known=known)

    def update_often(
        self,
        state: ProbingState,
        action: Indices,
        observation: Array,
        often: Indices,
        weight: Array,
        context: Context | None = None,
    ) -> ProbingState | None:
        """Return the state after each observation came often (n,) times with a weight (n,)."""
        own = getattr(self.inner, "update_often", None)
        each = action, observation, often, weight
        known = None if own is None else own(state.known, *each, **seen(context))
        return None if known is None else replace(state, known=known)

    def update_rows(
        self, state: ProbingState, shown: Rows, observed: Array, often: Indices, weight: Array
    ) -> ProbingState | None:
        """Return the state after rows of theta showed values (m,); None if it cannot take them."""
        own = getattr(self.inner, "update_rows", None)
        known = None if own is None else own(state.known, shown, observed, often, weight)
        return None if known is None else replace(state, known=known)

    def expecting(
        self, state: ProbingState, pending: Pending, context: Context | None = None
    ) -> ProbingState:
        """Return the state in which the policy inside expects open decisions."""
        return replace(state, known=expecting(self.inner, state.known, [(context, pending)]))

    def units(self, state: ProbingState) -> Units:
        """Return what the policy measures gaps and information in."""
        return units_of(self.inner, state.known)

    def confidence_set(self, state: ProbingState, context: Context | None = None) -> Any:
        """Return E_t of the policy, which ``Learner.status`` reports; None if it has none."""
        found = getattr(self.inner, "confidence_set", None)
        return found(state.known, **seen(context)) if callable(found) else None


def probing(policy: Policy[Any], probe: object) -> Policy[Any]:
    """Return a policy with a share of probes; the policy itself if that is 0."""
    share = checked_probe(probe)
    return policy if share == 0 else Probing(policy, share)


def checked_probe(probe: object) -> float:
    """Return a share of probes, or refuse what is none."""
    share = real_number("probe", probe)
    if not 0 <= share <= 1:
        raise InvalidInput(f"probe must lie between 0 and 1; got {brief(probe)}.")
    return share


def mixed(choice: Choices, offered: NDArray[np.bool_], probe: float, uniforms: Array) -> Choices:
    """Return the choices of a policy, with a share of them replaced by uniform ones.

    Parameters
    ----------
    choice
        Of n replicates.
    offered
        What can be played, shape (n, k) as the distribution.
    probe
        The share of probes.
    uniforms
        One number (n,) each: below ``probe`` it is a probe, and where below says which action.
    """
    rows, count = np.arange(len(uniforms)), offered.sum(axis=1)
    probed = uniforms < probe
    share = np.where(probed, uniforms, 0.0) / probe  # below 1, however small the share of probes
    rank = np.minimum((share * count).astype(np.int64), count - 1)
    place = (offered.cumsum(axis=1) > rank[:, None]).argmax(axis=1)
    numbers = place if choice.candidates is None else choice.candidates[rows, place]
    floor = probe / count
    return replace(
        choice,
        action=np.where(probed, numbers, choice.action),
        distribution=(1 - probe) * choice.distribution + np.where(offered, floor[:, None], 0.0),
        probed=probed,
        floor=floor,
    )


def _offered(
    game: Any, choice: Choices, available: Array | None, context: Context | None
) -> NDArray[np.bool_]:
    """Return which actions each replicate can play, shape (n, k), among candidates (n, c)."""
    n, width = choice.distribution.shape
    if choice.candidates is not None:
        there = choice.candidates >= 0
        return (
            there
            if available is None
            else there & np.asarray(available, dtype=bool)[choice.candidates]
        )
    offered = np.ones((n, width), dtype=bool)
    if context is not None and not is_unlisted(context):
        offered &= game.available[context]
    return offered if available is None else offered & np.asarray(available, dtype=bool)
