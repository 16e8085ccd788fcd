"""Explore, then commit: on any game that can be learned, by sweeps of a global observer set.

Robbins (1952) for two arms; Perchet, Rigollet, Chassang and Snowberg (2016), Lattimore and
Szepesvari, "Bandit Algorithms" (2020), chapter 6. On a bandit the observers are the arms, so that
the first m k rounds play each of k arms m times.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from partial_monitoring.policies.card import Card
from partial_monitoring.policies.sweeping.observers import Plan
from partial_monitoring.policies.sweeping.sweeping import Sweeping
from partial_monitoring.validation import positive_number, whole_number


@dataclass(frozen=True)
class ETC(Sweeping):
    """Explore for a share of the rounds, then commit to what looks best.

    Parameters
    ----------
    rounds
        The number of rounds to explore, made up to whole sweeps; then the action that looks best is
        played for good. About n^(2/3) is right for n rounds. Without it no horizon is needed: the
        observers are swept again whenever less than ``share`` t^(2/3) of t rounds explored, and
        what looks best may change.
    share
        Of the rounds to explore, if their number is not given.

    Examples
    --------
    The classical form on a bandit with two arms: ten rounds of each.

    >>> import partial_monitoring as pm
    >>> game = pm.games.bernoulli_bandit_linear(2)
    >>> result = pm.simulate(game, pm.ETC(rounds=20), [0.9, 0.1], horizon=100, seeds=3)
    >>> result.plays["etc"][:, -1].tolist()
    [[90, 10], [90, 10], [90, 10]]
    """

    card: ClassVar[Card] = Card(
        setting="stochastic",
        games="linear and finite, globally observable; also with an oracle",
        guarantee="O(n^(2/3)), up to logarithms",
        cost="O(1) operations, O(k d) at the end of a sweep",
        reference="Robbins (1952); Lattimore and Szepesvari (2020), chapter 6",
    )

    rounds: int | None = None
    share: float = 1.0

    def __post_init__(self) -> None:
        positive_number("share", self.share)
        if self.rounds is not None:
            whole_number("rounds", self.rounds, at_least=1)

    def rule(self, plan: Plan, actions: Any) -> Any:
        from partial_monitoring.numerics.compiled.sweeps import COMMITTED, FORCED, Rule

        if self.rounds is None:
            return Rule(FORCED, float(self.share), 0.0, 0.0)
        sweeps = -(-int(self.rounds) // max(1, len(plan.observers)))
        return Rule(COMMITTED, float(sweeps), 0.0, 0.0)
