"""Facts about a game that decide who can play and analyse it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Traits:
    """What a game offers; whether actions show their own reward is computed when asked for."""

    listed: bool = True
    """Whether its actions can be listed."""
    finite: bool = False
    """Whether finitely many outcomes decide rewards and signals."""
    contexts: bool = False
    """Whether a context is seen before each action."""
    function: bool = False
    """Whether the unknown is a function with bounded norm."""
    duels: bool = False
    """Whether actions are pairs of items, of which the difference is shown."""
