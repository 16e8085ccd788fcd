"""PEGE: phases of exploration, each followed by greedy exploitation.

Chaudhuri and Tewari, "Phased exploration with greedy exploitation in stochastic combinatorial
partial monitoring games" (NeurIPS 2016). Phase b = 1, 2, ... sweeps the observers ceil(b^beta)
times and then plays argmax <phi, theta_hat> for floor(exp C(b^alpha)) rounds, where theta_hat is
the mean over all sweeps so far, each with the same weight. C(x) = log x, alpha = 1/2, beta = 0
needs to know nothing about the gap; C(x) = x, alpha = beta = 1 gains from a gap that is not known.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from partial_monitoring.policies.card import Card
from partial_monitoring.policies.sweeping.observers import Plan
from partial_monitoring.policies.sweeping.sweeping import Sweeping
from partial_monitoring.validation import non_negative_number, one_of

MODES = ("worst_case", "gap")
"""Phases whose lengths grow like powers, or exponentially."""


@dataclass(frozen=True)
class PEGE(Sweeping):
    """Explore in phases, and play what looks best in between.

    Parameters
    ----------
    mode
        "worst_case": phase b plays what looks best for floor(b^alpha) rounds; "gap": for
        floor(exp(b^alpha)), which pays where one action is clearly better.
    alpha, beta
        Exponents of the lengths of phases and of their ceil(b^beta) sweeps; by default 1/2 and 0,
        and 1 and 1 in mode "gap".

    Notes
    -----
    Stochastic linear and finite games that can be learned. It asks for the best action only when a
    sweep ends, so that games with an oracle (:class:`partial_monitoring.OracleGame`) need not list
    their actions. What greedy rounds show is not used.

    Examples
    --------
    >>> import partial_monitoring as pm
    >>> result = pm.simulate("label_efficient", "pege", [0.9, 0.1], horizon=100, seeds=4)
    >>> bool((result.regret["pege"] < 60).all())
    True
    """

    card: ClassVar[Card] = Card(
        setting="stochastic",
        games="linear and finite, globally observable; also with an oracle",
        guarantee="O(n^(2/3) log(n)^(1/2)); O(log(n)^2) in mode gap",
        cost="O(1) operations, O(k d) at the end of a sweep",
        reference="Chaudhuri and Tewari (NeurIPS 2016)",
    )

    mode: str = "worst_case"
    alpha: float | None = None
    beta: float | None = None

    def __post_init__(self) -> None:
        one_of("mode", self.mode, MODES)
        for name in ("alpha", "beta"):
            if getattr(self, name) is not None:
                non_negative_number(name, getattr(self, name))

    def rule(self, plan: Plan, actions: Any) -> Any:
        from partial_monitoring.numerics.compiled.sweeps import PHASES, Rule

        grows = self.mode == "gap"
        alpha = (1.0 if grows else 0.5) if self.alpha is None else float(self.alpha)
        beta = (1.0 if grows else 0.0) if self.beta is None else float(self.beta)
        return Rule(PHASES, alpha, beta, float(grows))
