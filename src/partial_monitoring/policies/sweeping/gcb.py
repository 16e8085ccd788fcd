"""GCB: sweep until the best action is clearly ahead of the second best.

Lin, Abrahao, Kleinberg, Lui and Chen, "Combinatorial partial monitoring game with linear feedback
and its applications" (ICML 2014). After N sweeps, in round t, with the best action a and the best b
that is no duplicate of it, f(t) = log t + 2 log k,

    a is played if  <phi_a - phi_b, theta_hat> > (alpha f(t) / N)^(1/2)  or  N > t^(2/3) f(t),

and else the observers are swept once more. Their alpha is for bounded outcomes. Here noise is
sub-Gaussian: one sweep estimates a difference with the constant spread = max over pairs of |M^+'
(phi_a - phi_b)| times the noise, so that alpha = 4 spread^2 makes the width hold for all k^2 pairs
in round t with probability 1 - 1/t^2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from partial_monitoring.policies.card import Card
from partial_monitoring.policies.sweeping.observers import Plan
from partial_monitoring.policies.sweeping.sweeping import Sweeping
from partial_monitoring.validation import positive_number


@dataclass(frozen=True)
class GCB(Sweeping):
    """Sweep a set of observers until one action is clearly ahead.

    Parameters
    ----------
    alpha
        Of the width (alpha f(t) / N)^(1/2); by default 4 times the squared noise of one sweep in
        the difference of two actions, for which the bound is proven. Smaller ones, such as 1, often
        have several times less regret.

    Notes
    -----
    Stochastic linear and finite games that can be learned. Duplicates of the best action are no
    rivals of it. In a game with an oracle (:class:`partial_monitoring.OracleGame`) the second best
    action comes from its ``second``, or is found by leaving out the items of the best one in turn,
    which takes one more call of the oracle for each; k is then the number of actions or an upper
    bound of it, and the noise of a sweep is bounded along each of its rows.

    Examples
    --------
    >>> import partial_monitoring as pm
    >>> result = pm.simulate("apple_tasting", "gcb", [0.9, 0.1], horizon=200, seeds=4)
    >>> bool((result.regret["gcb"] < 120).all())
    True
    """

    card: ClassVar[Card] = Card(
        setting="stochastic",
        games="linear and finite, globally observable; also with an oracle",
        guarantee="O(n^(2/3) log n); O(log n) if one action is best",
        cost="O(1) operations, O(k d) at the end of a sweep",
        reference="Lin, Abrahao, Kleinberg, Lui and Chen (ICML 2014)",
    )
    compares: ClassVar[bool] = True

    alpha: float | None = None

    def __post_init__(self) -> None:
        if self.alpha is not None:
            positive_number("alpha", self.alpha)

    def rule(self, plan: Plan, actions: Any) -> Any:
        from partial_monitoring.numerics.compiled.sweeps import CONFIDENT, Rule

        alpha = 4.0 * actions.spread(plan) ** 2 if self.alpha is None else float(self.alpha)
        return Rule(CONFIDENT, alpha, actions.log_count, 0.0)
