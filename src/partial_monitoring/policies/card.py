"""What everyone asks about an algorithm before using it, in a few words."""

from __future__ import annotations

from dataclasses import dataclass

from partial_monitoring.validation import one_of, written

SETTINGS = ("stochastic", "adversarial", "Bayesian")
"""How outcomes arise: independently, chosen by an opponent, or from a prior."""


@dataclass(frozen=True)
class Card:
    """What an algorithm assumes, promises and costs; see ``pm policies``.

    A policy carries one as ``card``.
    """

    setting: str
    """Where its guarantee holds: "stochastic", "adversarial" or "Bayesian"."""
    games: str
    """What it plays, such as "finite, locally observable"."""
    guarantee: str
    """The regret that is proven, such as "O(n^(1/2) log n)"; or that nothing is."""
    cost: str
    """Of a round, such as "O(k) operations"."""
    reference: str
    """Where it comes from."""

    def __post_init__(self) -> None:
        one_of("setting", self.setting, SETTINGS)
        for name in ("games", "guarantee", "cost", "reference"):
            written(name, getattr(self, name))


def card_of(policy: object) -> Card | None:
    """Return the card of a policy or of its class; None if it has none."""
    found: Card | None = getattr(policy, "card", None)
    return found
