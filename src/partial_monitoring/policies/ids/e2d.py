"""Estimation to decisions: IDS whose trade of regret for information has a fixed price."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from partial_monitoring.policies.card import Card
from partial_monitoring.policies.ids.ids import IDS
from partial_monitoring.policies.ids.sampling import AnytimeE2D, SamplingRule


@dataclass(frozen=True)
class E2D(IDS):
    """Play the distribution of least regret minus a multiple of what it shows (E2D).

    Parameters
    ----------
    gap, information, confidence, regularization, prior_mean, norm_bound, half_life
        As for :class:`partial_monitoring.IDS`.
    sampling
        ``pm.sampling.e2d("anytime")``, whose multiple follows the rounds, or
        ``pm.sampling.e2d(lambda)`` for a fixed one.

    Examples
    --------
    >>> import partial_monitoring as pm
    >>> result = pm.simulate("apple_tasting", "e2d", [0.9, 0.1], horizon=50, seeds=4)
    >>> bool((result.regret["e2d"] < 40).all())
    True
    """

    card: ClassVar[Card] = Card(
        "stochastic",
        "every kind of game that can be learned",
        "O~(n^(1/2)) on easy and O~(n^(2/3)) on hard games, where IDS has it",
        "that of IDS",
        "Foster, Kakade, Qian and Rakhlin (2021); Kirschner, Lattimore and Krause (2023)",
    )

    sampling: SamplingRule = field(default_factory=AnytimeE2D)
