"""The game library: every example of the paper as a function, one family a file (section 2.1)."""

from __future__ import annotations

from collections.abc import Callable
from inspect import getdoc, signature
from types import MappingProxyType

from partial_monitoring.errors import InvalidInput, entry, unknown_name
from partial_monitoring.games import functions as functions
from partial_monitoring.games.combinatorial import combinatorial_bandit
from partial_monitoring.games.contextual import (
    contextual_apple_tasting,
    contextual_dueling,
    contextual_label_efficient,
    contextual_linear_bandit,
    greedy_exploration,
    segment_pricing,
    survey,
)
from partial_monitoring.games.dueling import dueling, graph_dueling
from partial_monitoring.games.feedback_graph import (
    feedback_graph,
    full_information,
    loopless_clique,
    revealing_action,
)
from partial_monitoring.games.finite import (
    bernoulli_bandit,
    finite,
    finite_versus_linear,
    matching_pennies,
)
from partial_monitoring.games.kernelized import (
    kernelized_bandit,
    kernelized_dueling,
    kernelized_localized_dueling,
    kernelized_transductive,
)
from partial_monitoring.games.linear_bandit import (
    bernoulli_bandit_linear,
    heteroscedastic_linear_bandit,
    linear_bandit,
)
from partial_monitoring.games.pricing import dynamic_pricing
from partial_monitoring.games.structured import m_sets, matching, shortest_path, spanning_tree
from partial_monitoring.games.transductive import (
    apple_tasting,
    inspection,
    label_efficient,
    spam_filter,
    transductive,
)
from partial_monitoring.model.any_game import AnyGame
from partial_monitoring.model.contextual import ContextualGame
from partial_monitoring.model.game import Game
from partial_monitoring.model.oracle import OracleGame
from partial_monitoring.validation import brief

__all__ = [  # noqa: RUF022  (in the order of the paper's examples)
    "linear_bandit",
    "heteroscedastic_linear_bandit",
    "feedback_graph",
    "full_information",
    "loopless_clique",
    "revealing_action",
    "dueling",
    "graph_dueling",
    "combinatorial_bandit",
    "transductive",
    "apple_tasting",
    "label_efficient",
    "inspection",
    "spam_filter",
    "finite",
    "finite_versus_linear",
    "bernoulli_bandit",
    "bernoulli_bandit_linear",
    "dynamic_pricing",
    "matching_pennies",
    "survey",
    "greedy_exploration",
    "contextual_linear_bandit",
    "contextual_dueling",
    "segment_pricing",
    "contextual_apple_tasting",
    "contextual_label_efficient",
    "kernelized_bandit",
    "kernelized_dueling",
    "kernelized_localized_dueling",
    "kernelized_transductive",
]

GAMES: MappingProxyType[str, Callable[..., Game | ContextualGame]] = MappingProxyType(
    {name: globals()[name] for name in __all__}
)
"""Every game by name, in the order of the paper's examples."""

STRUCTURED: MappingProxyType[str, Callable[..., OracleGame]] = MappingProxyType(
    {build.__name__: build for build in (m_sets, shortest_path, matching, spanning_tree)}
)
"""Games by name whose actions are not listed."""

__all__ += [*STRUCTURED, "GAMES", "STRUCTURED", "make", "named", "options_of", "summary"]


def __dir__() -> list[str]:
    return __all__


def make(name: str, **options: object) -> AnyGame:
    """Build a game by name.

    >>> make("dynamic_pricing", prices=[1, 2, 3, 4], cost=2)
    FiniteGame(k=4, d=4, m=2, parameters=Simplex)
    """
    known = options_of(name)
    for option in options:
        if option not in known:
            raise unknown_name(f"option of {name}", option, known)
    return _builder(name)(**options)


def named(game: AnyGame | str) -> AnyGame:
    """Return a game as it is, and that of a name with its default options.

    >>> named("dynamic_pricing")
    FiniteGame(k=3, d=3, m=2, parameters=Simplex)
    """
    if isinstance(game, str):
        return make(game)
    if not isinstance(game, AnyGame):
        raise InvalidInput(
            f"game must be a Game or a ContextualGame, or a name in pm.games; got {brief(game)}."
        )
    return game


def options_of(name: str) -> dict[str, object]:
    """Return the parameters of a game with their defaults.

    >>> options_of("inspection")
    {'cost': 0.25, 'missed_fault': 1.0, 'false_alarm': 1.0}
    """
    return {option.name: option.default for option in signature(_builder(name)).parameters.values()}


def summary(name: str) -> str:
    """Return in one line what a game is about.

    >>> summary("dynamic_pricing")
    'offer a price, learn only whether the customer bought'
    """
    first = (getdoc(_builder(name)) or "").splitlines()[0]
    return first.partition(": ")[2].rstrip(".")


def _builder(name: str) -> Callable[..., AnyGame]:
    """Return the function that builds a game."""
    return entry("game", name, {**GAMES, **STRUCTURED})
