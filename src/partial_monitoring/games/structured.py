"""Combinatorial games whose actions are not listed: sets, paths, matchings, trees.

Each has an oracle for the best action, so that their number does not matter.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike

from partial_monitoring.games.linear_bandit import unit_ball
from partial_monitoring.model.oracle import OracleGame
from partial_monitoring.model.oracles import (
    ItemSets,
    Matchings,
    Paths,
    SpanningTrees,
    TopItems,
    checked_edges,
)
from partial_monitoring.parameter_sets import Box, ParameterSet

SQUARE = ((0, 1), (0, 2), (1, 3), (2, 3), (1, 4), (2, 4), (3, 5), (4, 5))
"""Six places between which there are four ways from the first to the last."""

COMPLETE = ((0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3))
"""All connections of four places."""


def m_sets(
    items: int = 6,
    size: int = 3,
    *,
    feedback: str = "semi-bandit",
    parameters: ParameterSet | None = None,
    noise_std: float = 1.0,
    observers: ArrayLike | None = None,
) -> OracleGame:
    """Choose some of many items: earn their sum, with an oracle instead of a list.

    Model: phi_a is 1 for the items of a and 0 for the others. With "semi-bandit" feedback each
    chosen item is seen, with "bandit" feedback their sum. Theta is the unit ball unless given, as
    in ``combinatorial_bandit``, which lists the same actions.

    Example
    -------
    >>> game = m_sets(1000, 10)
    >>> game.action_label(game.best_for(np.arange(1000)))[:10]
    '{990, 991,'

    Reference: example 5; Lin et al. (2014).
    """
    oracle = TopItems(items, size)
    theta = unit_ball(np.eye(items)) if parameters is None else parameters
    return OracleGame(oracle, theta, noise_std, shows=feedback, observers=observers)


def shortest_path(
    edges: Iterable[tuple[int, int]] = SQUARE,
    source: int = 0,
    target: int | None = None,
    *,
    feedback: str = "semi-bandit",
    parameters: ParameterSet | None = None,
    noise_std: float = 0.1,
    observers: ArrayLike | None = None,
) -> OracleGame:
    """Find the way: choose a path, pay for its edges, with an oracle instead of a list.

    Model: theta_e is what edge e earns, minus its length, between -1 and 0 unless given; a path
    earns the sum over its edges, and shows each of them ("semi-bandit") or the sum ("bandit"). The
    graph must have no cycles; the target is the largest node unless given.

    Example
    -------
    >>> game = shortest_path([(0, 1), (1, 2), (0, 2)])
    >>> game.action_label(game.best_for([-0.2, -0.1, -0.4]))
    '{0, 1}'

    Reference: example 5; Cesa-Bianchi and Lugosi (2012).
    """
    listed = checked_edges(edges)
    end = max(max(edge) for edge in listed) if target is None else target
    oracle = Paths(listed, source, end)
    return _with_costs(oracle, feedback, parameters, noise_std, observers)


def matching(
    left: int = 3,
    right: int | None = None,
    *,
    feedback: str = "semi-bandit",
    parameters: ParameterSet | None = None,
    noise_std: float = 0.1,
    observers: ArrayLike | None = None,
) -> OracleGame:
    """Assign tasks to workers: a matching earns the sum over its pairs, with an oracle.

    Model: item i right + j is the pair of i on the left and j on the right; each on the left gets a
    partner of its own. theta lies between 0 and 1 unless given. All pairs are seen ("semi-bandit"),
    or the sum ("bandit").

    Example
    -------
    >>> game = matching(2)
    >>> game.action_label(game.best_for([0.1, 0.9, 0.8, 0.7]))
    '{1, 2}'

    Reference: Lin et al. (2014), crowdsourcing.
    """
    oracle = Matchings(left, left if right is None else right)
    box = Box([0.0] * oracle.d, [1.0] * oracle.d) if parameters is None else parameters
    return OracleGame(oracle, box, noise_std, shows=feedback, observers=observers)


def spanning_tree(
    edges: Iterable[tuple[int, int]] = COMPLETE,
    *,
    feedback: str = "semi-bandit",
    parameters: ParameterSet | None = None,
    noise_std: float = 0.1,
    observers: ArrayLike | None = None,
) -> OracleGame:
    """Build a network: choose a spanning tree, pay for its edges, with an oracle.

    Model: as for ``shortest_path``; the actions are the spanning trees of a connected graph.

    Example
    -------
    >>> game = spanning_tree([(0, 1), (1, 2), (0, 2)])
    >>> game.action_label(game.best_for([-0.5, -0.1, -0.2]))
    '{1, 2}'

    Reference: example 5; Cesa-Bianchi and Lugosi (2012).
    """
    return _with_costs(
        SpanningTrees(checked_edges(edges)), feedback, parameters, noise_std, observers
    )


def _with_costs(
    oracle: ItemSets,
    feedback: str,
    parameters: ParameterSet | None,
    noise_std: float,
    observers: ArrayLike | None,
) -> OracleGame:
    """Return the game in which items cost between 0 and 1 unless a set is given."""
    box = Box([-1.0] * oracle.d, [0.0] * oracle.d) if parameters is None else parameters
    return OracleGame(oracle, box, noise_std, shows=feedback, observers=observers)
