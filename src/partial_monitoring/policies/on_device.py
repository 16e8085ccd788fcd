"""Catalogues: information-directed sampling among millions of actions, on a device."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import singledispatch
from typing import Any, ClassVar

import numpy as np

from partial_monitoring.errors import InvalidInput
from partial_monitoring.estimation.linear.catalogue import CatalogueState, catalogue_state
from partial_monitoring.estimation.linear.ellipsoid import Ellipsoid
from partial_monitoring.estimation.state import Context
from partial_monitoring.model.any_game import AnyGame, Traits
from partial_monitoring.numerics.cuda import check_device
from partial_monitoring.numerics.cuda.layout import LARGEST
from partial_monitoring.policies.calibrated.calibrated import Calibrated
from partial_monitoring.policies.calibrated.gaussian import gaussian_rule
from partial_monitoring.policies.ids import gaps, information
from partial_monitoring.policies.ids.ids import IDS
from partial_monitoring.policies.ids.sampling import Generalized, as_rule
from partial_monitoring.policies.needs import Needs, refuse
from partial_monitoring.policies.policy import Choices, Policy
from partial_monitoring.policies.promise import Promise, promise_of
from partial_monitoring.policies.units import Units, units_of
from partial_monitoring.validation import Array, Indices, brief

RULES = (
    (gaps.relaxed, information.log_det),
    (gaps.mean, information.log_det),
    (gaps.improvement, information.improvement),
)
"""Gaps and information that a device can compute, in the order of ``numerics.cuda.layout``."""

CAPPED = 1
"""Which of them are at most T."""


@dataclass(frozen=True, eq=False)
class PlacedState:
    """What is known, and the rule that decides from it."""

    known: CatalogueState
    rule: IDS
    number: int
    """Which of ``RULES`` it is."""
    kappa: float

    replayed = True
    """It is saved as its observations."""

    @property
    def design(self) -> Any:
        """The game as the estimate sees it."""
        return self.known.design


@dataclass(frozen=True)
class OnDevice:
    """Play information-directed sampling on a linear bandit whose features are on a device.

    A decision reads the features once, or twice if the action that looks best is a new one; with
    the default, improvement gaps, twice more, with 2 k d^2 operations. What a decision shows is
    that of the one or two actions that may be played.
    """

    needs: ClassVar[Needs] = Needs(listed=False)
    """What the policy inside does not play it refuses."""

    inner: Policy[Any]
    device: str

    def __post_init__(self) -> None:
        check_device(self.device)

    def init(self, game: Any, replicates: int) -> PlacedState:
        refuse(self.inner, game)
        plain = game.traits == Traits() and game.noise == "gaussian"
        if not plain or not game.shows_own_reward:
            raise InvalidInput(
                f"device {self.device!r} plays linear bandits, games without contexts whose "
                f"actions show their own reward with Gaussian noise; got {brief(game)}."
            )
        if game.d > LARGEST:
            raise InvalidInput(
                f"features on device {self.device!r} must be at most {LARGEST} per action; "
                f"got {game.d}."
            )
        if replicates != 1:
            raise InvalidInput(f"device {self.device!r} plays one run at a time; got {replicates}.")
        rule = rule_of(self.inner, game)
        if rule.half_life is not None:
            raise InvalidInput(f"half_life must be None on a device; got {rule.half_life:g}.")
        number = self._number(rule)
        state = catalogue_state(game, rule.prior, capped=number == CAPPED)
        if rule.gap is gaps.relaxed and not state.design.cut.whole:
            raise InvalidInput(
                f"relaxed gaps on device {self.device!r} need the parameters pm.AllParameters, "
                f"which do not cut confidence sets; got {brief(game.parameters)}."
            )
        return PlacedState(state, rule, number, as_rule(rule.sampling).kappa)

    def decide(
        self,
        state: PlacedState,
        uniforms: Array,
        available: Array | None = None,
        context: Context | None = None,
    ) -> Choices:
        if available is not None:
            raise InvalidInput(f"available cannot be given on device {self.device!r}.")
        uniform = float(uniforms.reshape(1)[0])  # the default policy is given rows
        best = state.known.shelf.always_best
        schedule = state.rule.confidence
        answer, confidence = state.known.decide(schedule, state.number, state.kappa)
        one, two, share = answer.first, answer.second, answer.share
        lost, told = answer.gaps, answer.information
        if best is not None:
            one = two = best
            lost, told = (0.0, 0.0), (0.0, 0.0)
        if one > two:
            one, two, share = two, one, 1.0 - share
            lost, told = lost[::-1], told[::-1]
        count = 1 if one == two else 2
        candidates = np.array([[one, two][:count]])
        distribution = np.array([[1.0 - share, share] if count == 2 else [1.0]])
        chosen = two if share > 0.0 and uniform >= 1.0 - share else one
        return Choices(
            np.array([chosen]),
            distribution,
            np.array([lost[:count]]),
            np.array([told[:count]]),
            np.array([0.0 if best is not None else answer.ratio]),
            confidence.beta,
            confidence.estimate,
            candidates,
        )

    def update(
        self,
        state: PlacedState,
        action: Indices,
        observation: Array,
        context: Context | None = None,
    ) -> PlacedState:
        return replace(state, known=state.known.after(action, observation))

    def draws(self, state: PlacedState) -> int:
        """Return that one uniform number decides in a round."""
        return 1

    def units(self, state: PlacedState) -> Units:
        """Return what the rule measures gaps and information in."""
        return units_of(state.rule)

    def promise(self, game: AnyGame | None = None) -> Promise | None:
        """Return what the policy inside promises, which does not depend on how many actions."""
        few: Any = game if game is None or game.k <= 2 else game.linear.restricted(range(2))
        return promise_of(self.inner, few)

    def confidence_set(self, state: PlacedState, context: Context | None = None) -> Ellipsoid:
        """Return E_t, which knows no actions."""
        return state.known.confidence(state.rule.confidence)

    def _number(self, rule: IDS) -> int:
        """Return which of the rules that a device can compute one is, or refuse it."""
        if type(as_rule(rule.sampling)) is not Generalized:
            raise InvalidInput(
                f"sampling on device {self.device!r} must be pm.sampling.exact or .generalized; "
                f"got {brief(rule.sampling)}."
            )
        if (rule.gap, rule.information) not in RULES:
            raise InvalidInput(
                f"gaps on device {self.device!r} must be pm.gaps.relaxed or .mean with "
                f"pm.information.log_det, or those of the default policy; got {brief(rule.gap)} "
                f"with {brief(rule.information)}."
            )
        return RULES.index((rule.gap, rule.information))


@singledispatch
def rule_of(policy: Any, game: AnyGame) -> IDS:
    """Return the rule with which a policy plays a linear bandit."""
    raise InvalidInput(
        f"policy on a device must be pm.IDS, or pm.Calibrated without a guard; got {brief(policy)}."
    )


@rule_of.register
def _(policy: IDS, game: AnyGame) -> IDS:
    return policy


@rule_of.register
def _(policy: Calibrated, game: AnyGame) -> IDS:
    if policy.guard is not None:
        raise InvalidInput(f"guard must be None on a device; got {policy.guard:g}.")
    return gaussian_rule(game, policy.half_life)  # type: ignore[return-value]


def on_device(policy: Policy[Any], device: str | None) -> Policy[Any]:
    """Return a policy that plays on a device; the policy itself if there is none."""
    return policy if device is None else OnDevice(policy, device)


def on_host(policy: Any) -> Policy[Any]:
    """Return the policy itself, without the device that it plays on."""
    inner: Policy[Any] = policy.inner if type(policy) is OnDevice else policy
    return inner
