"""The registry of policies, and their options by name, for files and the command line."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from types import MappingProxyType
from typing import Any

import numpy as np

from partial_monitoring.errors import InvalidInput, entry, unknown_name
from partial_monitoring.estimation import confidence
from partial_monitoring.policies.bandit.arms import UCB1, Thompson
from partial_monitoring.policies.bandit.greedy import EpsilonGreedy, Greedy, SquareCB
from partial_monitoring.policies.bandit.improvement import ExpectedImprovement
from partial_monitoring.policies.bandit.optimism import GPUCB, LinUCB
from partial_monitoring.policies.bandit.thompson import GPTS, DuelingTS, LinTS
from partial_monitoring.policies.bandit.tsallis_inf import TsallisINF
from partial_monitoring.policies.bandit.uniform import Random
from partial_monitoring.policies.calibrated.calibrated import Calibrated
from partial_monitoring.policies.card import Card, card_of
from partial_monitoring.policies.contextual.cbpside import CBPside, RandCBPside
from partial_monitoring.policies.contextual.polya_gamma import PGIDS, PGTS
from partial_monitoring.policies.finite.bpm import BPMTS, BPMLeast
from partial_monitoring.policies.finite.cbp import CBP, RandCBP
from partial_monitoring.policies.finite.exp_by_opt import ExpByOpt
from partial_monitoring.policies.finite.feedexp3 import FeedExp3
from partial_monitoring.policies.finite.mario import Mario
from partial_monitoring.policies.finite.neighborhood_watch import (
    NeighborhoodWatch,
    NeighborhoodWatch2,
)
from partial_monitoring.policies.finite.pm_dmed import PMDMED, PMDMEDHinge
from partial_monitoring.policies.finite.tspm import TSPM, TSPMGaussian
from partial_monitoring.policies.ids import gaps, information, sampling
from partial_monitoring.policies.ids.asymptotic import AsymptoticIDS
from partial_monitoring.policies.ids.bayesian import BayesianIDS
from partial_monitoring.policies.ids.contextual import ContextualIDS
from partial_monitoring.policies.ids.dueling import DuelingIDS
from partial_monitoring.policies.ids.e2d import E2D
from partial_monitoring.policies.ids.ids import IDS
from partial_monitoring.policies.policy import Policy
from partial_monitoring.policies.probing import Probing
from partial_monitoring.policies.promise import Promise, promise_of
from partial_monitoring.policies.refitted import Refitted
from partial_monitoring.policies.sweeping.etc import ETC
from partial_monitoring.policies.sweeping.gcb import GCB
from partial_monitoring.policies.sweeping.pege import PEGE
from partial_monitoring.policies.units import Units
from partial_monitoring.validation import brief

__all__ = [
    "DEFAULT",
    "POLICIES",
    "Card",
    "Promise",
    "Units",
    "card",
    "make",
    "name_of",
    "options_of",
    "policy_from_dict",
    "policy_to_dict",
    "promise",
    "summary",
]


def __dir__() -> list[str]:
    return __all__


POLICIES: Mapping[str, Callable[..., Policy[Any]]] = MappingProxyType(
    {
        "calibrated": Calibrated,
        "ids": IDS,
        "e2d": E2D,
        "contextual_ids": ContextualIDS,
        "dueling_ids": DuelingIDS,
        "asymptotic_ids": AsymptoticIDS,
        "cbp": CBP,
        "randcbp": RandCBP,
        "pege": PEGE,
        "gcb": GCB,
        "etc": ETC,
        "tspm": TSPM,
        "tspm_gaussian": TSPMGaussian,
        "mario": Mario,
        "bayesian_ids": BayesianIDS,
        "bpm_ts": BPMTS,
        "bpm_least": BPMLeast,
        "exp_by_opt": ExpByOpt,
        "cbpside": CBPside,
        "randcbpside": RandCBPside,
        "pg_ts": PGTS,
        "pg_ids": PGIDS,
        "pm_dmed": PMDMED,
        "pm_dmed_hinge": PMDMEDHinge,
        "linucb": LinUCB,
        "lints": LinTS,
        "greedy": Greedy,
        "epsilon_greedy": EpsilonGreedy,
        "squarecb": SquareCB,
        "refitted": Refitted,
        "probing": Probing,
        "gp_ucb": GPUCB,
        "gp_ts": GPTS,
        "expected_improvement": ExpectedImprovement,
        "dueling_ts": DuelingTS,
        "ucb1": UCB1,
        "thompson": Thompson,
        "random": Random,
        "tsallis_inf": TsallisINF,
        "feedexp3": FeedExp3,
        "neighborhood_watch": NeighborhoodWatch,
        "neighborhood_watch2": NeighborhoodWatch2,
    }
)
"""Every policy by name."""

DEFAULT = "calibrated"
"""What learners, simulations and experiments use when no policy is named."""

PARTS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "gap": {
            "exact": gaps.exact,
            "relaxed": gaps.relaxed,
            "mean": gaps.mean,
            "improvement": gaps.improvement,
        },
        "information": {
            "log_det": information.log_det,
            "directed": information.directed,
            "directed_relaxed": information.directed_relaxed,
            "improvement": information.improvement,
        },
        "sampling": {
            "exact": sampling.exact,
            "approximate": sampling.approximate,
            "deterministic": sampling.deterministic,
            "anytime_e2d": sampling.AnytimeE2D(),
        },
        "confidence": {"paper": confidence.paper(), "calibrated": confidence.calibrated()},
    }
)
"""The parts of IDS that have a name of their own."""

BUILT: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "sampling": {"generalized": sampling.Generalized, "e2d": sampling.E2D},
        "confidence": {
            "fixed": confidence.Fixed,
            "likelihood_ratio": confidence.LikelihoodRatio,
            "deviations": confidence.Deviations,
            "calibrated": confidence.Calibrated,
        },
    }
)
"""Parts with arguments, written as [name, argument, ...]."""


def make(name: str, **options: Any) -> Policy[Any]:
    """Build a policy by name; parts of IDS may be given by name too.

    >>> make("ids", gap="relaxed").gap is gaps.relaxed
    True
    """
    build = _builder(name)
    known = [field.name for field in fields(build)]  # type: ignore[arg-type]
    for option in options:
        if option not in known:
            raise unknown_name(f"option of {name}", option, known)
    return build(**{key: _part(key, value) for key, value in options.items()})


def _builder(name: str) -> Callable[..., Policy[Any]]:
    """Return the class of a policy by its name."""
    return entry("policy", name, POLICIES)


def summary(name: str) -> str:
    """Return one line on what a policy does.

    >>> summary("ids")
    'Play the distribution that trades least regret for most information.'
    """
    return (_builder(name).__doc__ or "").strip().splitlines()[0]


def promise(name: str) -> Promise | None:
    """Return what a policy promises with its default options; None if it does not say.

    >>> promise("ids").mode, promise("calibrated").mode, promise("greedy")
    ('certified', 'practical', None)
    """
    return promise_of(make(name))


def card(name: str) -> Card | None:
    """Return what a policy assumes, promises and costs.

    >>> card("cbp").games
    'finite, globally observable'
    """
    return card_of(_builder(name))


def options_of(name: str) -> dict[str, Any]:
    """Return the options of a policy with their defaults, as they are written in files."""
    chosen: dict[str, Any] = {}
    for field in fields(_builder(name)):  # type: ignore[arg-type]
        default = field.default if field.default_factory is MISSING else field.default_factory()
        chosen[field.name] = _name(field.name, default)
    return chosen


def name_of(policy: Policy[Any]) -> str:
    """Return the name under which a policy's kind is registered, or that of its class."""
    names = {build: name for name, build in POLICIES.items()}
    return names.get(type(policy), type(policy).__name__.lower())


def policy_to_dict(policy: Policy[Any]) -> dict[str, Any]:
    """Return a policy as plain data; parts without a name are refused."""
    if type(policy) not in POLICIES.values():
        raise InvalidInput(f"policy must be one of the library's to be saved; got {brief(policy)}.")
    options = {field.name: getattr(policy, field.name) for field in fields(policy)}  # type: ignore[arg-type]
    own = {key: _name(key, value) for key, value in options.items()}
    return {"policy": name_of(policy)} | own


def policy_from_dict(data: Mapping[str, Any]) -> Policy[Any]:
    """Build a policy from plain data."""
    if not isinstance(data, Mapping) or "policy" not in data:
        raise InvalidInput(f"a policy must be a table with the key 'policy'; got {brief(data)}.")
    options = {key: value for key, value in data.items() if key != "policy"}
    try:
        return make(data["policy"], **options)
    except RecursionError:
        raise InvalidInput("policies are nested too deeply.") from None


def _part(key: str, value: Any) -> Any:
    if key == "inner" and isinstance(value, Mapping | str):
        return make(value) if isinstance(value, str) else policy_from_dict(value)
    if isinstance(value, list) and key in BUILT:
        if len(value) < 2 or not isinstance(value[0], str):
            raise InvalidInput(f"{key} must be a name or [name, argument]; got {brief(value)}.")
        name, *arguments = value
        if name not in BUILT[key]:
            raise unknown_name(key, name, [*PARTS[key], *BUILT[key]])
        most = len(fields(BUILT[key][name]))
        if len(arguments) > most:
            raise InvalidInput(
                f"{key} {brief(name)} takes at most {most} numbers; got {len(arguments)}."
            )
        return BUILT[key][name](*arguments)
    if isinstance(value, str) and key in PARTS:
        if value in BUILT.get(key, ()) and value not in PARTS[key]:
            raise InvalidInput(
                f"{key} {brief(value)} needs an argument: write [{brief(value)}, number]."
            )
        if value not in PARTS[key]:
            raise unknown_name(key, value, [*PARTS[key], *BUILT.get(key, ())])
        return PARTS[key][value]
    return value


def _name(key: str, value: Any) -> Any:
    """Return the name of a part, or the plain value of another option."""
    if key == "inner":
        return policy_to_dict(value)
    if key not in PARTS:
        return _number(value)
    for name, part in PARTS[key].items():
        if value is part or value == part:
            return name
    for name, build in BUILT.get(key, {}).items():
        if type(value) is build:
            return [name, *(_number(getattr(value, field.name)) for field in fields(value))]
    raise InvalidInput(f"{key} must be one of the library's to be saved; got {brief(value)}.")


def _number(value: Any) -> Any:
    """Return numbers of any kind as plain ones; everything else as it is."""
    if value is None or isinstance(value, str | bool):
        return value
    numbers = np.asarray(value)
    return numbers.tolist() if numbers.dtype.kind in "iuf" else numbers.astype(float).tolist()
