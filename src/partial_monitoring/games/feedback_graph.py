"""Graph-structured feedback: playing an arm shows the rewards of its neighbours (example 2)."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from partial_monitoring.errors import InvalidInput
from partial_monitoring.model.game import Game
from partial_monitoring.parameter_sets import AllParameters, ParameterSet
from partial_monitoring.validation import boolean, brief, is_whole, real_array, whole_number

MOST_ARMS = 400
"""Largest number of arms of a graph that is given by their number; maps have arms^3 entries."""

Edges = Iterable[tuple[Hashable, Hashable]]


def feedback_graph(
    edges: Edges | Any = ((0, 1), (1, 2), (2, 0)),
    *,
    arms: Sequence[Hashable] | None = None,
    self_loops: bool = False,
    features: ArrayLike | None = None,
    parameters: ParameterSet | None = None,
    noise_std: float = 1.0,
) -> Game:
    """Feedback graph: playing an arm shows the rewards of its neighbours.

    Model: an edge (a, c) means that playing a shows the reward of c, so M_a has a row phi_c for
    each; an arm without edges shows nothing. Features are the unit vectors and Theta is all of R^d
    unless given.

    Parameters
    ----------
    edges
        Directed edges (a, c), or a networkx graph (an undirected one counts in both directions).
    arms
        The arms in order; without it, the nodes in order of appearance (sorted if they are
        integers).
    self_loops
        Whether every arm also shows its own reward.

    Example
    -------
    Three arms in a circle, each showing only the next one:

    >>> feedback_graph([(0, 1), (1, 2), (2, 0)]).rank
    3

    Reference: example 2; Mannor and Shamir (2011), Alon et al. (2015).
    """
    boolean("self_loops", self_loops)
    nodes, pairs = read_graph(edges, arms)
    position = {node: a for a, node in enumerate(nodes)}
    seen: list[set[int]] = [{a} if self_loops else set() for a in range(len(nodes))]
    for a, c in pairs:
        seen[position[a]].add(position[c])
    k = len(nodes)
    phi = np.eye(k) if features is None else real_array("features", features, (k, "d"))
    theta = AllParameters(phi.shape[1]) if parameters is None else parameters
    maps = [phi[sorted(shown)] for shown in seen]
    return Game(phi, maps, theta, noise_std, nodes)


def full_information(arms: int = 3) -> Game:
    """Full information: every arm shows the rewards of all arms.

    Model: the complete feedback graph with self-loops.

    Example
    -------
    >>> full_information(4).m
    4

    Reference: example 2.
    """
    k = whole_number("arms", arms, at_least=1, at_most=MOST_ARMS)
    return feedback_graph([(a, c) for a in range(k) for c in range(k)], arms=range(k))


def loopless_clique(arms: int = 3) -> Game:
    """Loopless clique: every arm shows the rewards of all the others.

    Model: the complete feedback graph without self-loops; still easy for three or more arms.

    Example
    -------
    >>> print(loopless_clique(3).rows(0))
    [[0. 1. 0.]
     [0. 0. 1.]]

    Reference: example 2; Alon et al. (2015).
    """
    k = whole_number("arms", arms, at_least=1, at_most=MOST_ARMS)
    edges = [(a, c) for a in range(k) for c in range(k) if a != c]
    return feedback_graph(edges, arms=range(k))


def revealing_action(arms: int = 3) -> Game:
    """Revealing action: the first arm shows all rewards, the others show nothing.

    Model: a star-shaped feedback graph; exploring costs the reward of the first arm.

    Example
    -------
    >>> revealing_action(3).row_counts
    (3, 0, 0)

    Reference: example 2; Alon et al. (2015), weakly observable graphs.
    """
    k = whole_number("arms", arms, at_least=1, at_most=MOST_ARMS)
    return feedback_graph([(0, c) for c in range(k)], arms=range(k))


def read_graph(
    edges: Any, nodes: Iterable[Hashable] | None
) -> tuple[list[Hashable], list[tuple[Hashable, Hashable]]]:
    """Return the nodes and the directed edges of an edge list or a networkx graph."""
    if hasattr(edges, "nodes") and hasattr(edges, "is_directed"):
        nodes = _in_order(list(edges.nodes)) if nodes is None else nodes
        pairs = [(a, c) for a, c, *_ in edges.edges]
        if not edges.is_directed():
            pairs += [(c, a) for a, c in pairs if a != c]
    else:
        pairs = [_pair(edge) for edge in _items("edges", edges)]
    found = list(dict.fromkeys(node for pair in pairs for node in pair))
    known = _in_order(found) if nodes is None else list(dict.fromkeys(_items("nodes", nodes)))
    strangers = [node for node in found if node not in set(known)]
    if strangers:
        raise InvalidInput(
            f"edges must connect known nodes; {brief(strangers[0])} is not among {brief(known)}."
        )
    if not known:
        raise InvalidInput("edges must name at least one node; got none.")
    return known, pairs


def _in_order(nodes: list[Hashable]) -> list[Hashable]:
    """Sort integers; keep other nodes in their order."""
    return sorted(nodes, key=lambda node: int(str(node))) if all(map(is_whole, nodes)) else nodes


def _items(name: str, value: Any) -> list[Hashable]:
    """Return the items of a list, all hashable unless they are edges."""
    try:
        items = list(value)
        if name != "edges":
            hash(tuple(items))
    except TypeError:
        raise InvalidInput(f"{name} must be a list; got {brief(value)}.") from None
    return items


def _pair(edge: Any) -> tuple[Hashable, Hashable]:
    try:
        start, end = edge
        hash((start, end))
    except (TypeError, ValueError):
        raise InvalidInput(f"edges must be pairs (from, to); got {brief(edge)}.") from None
    return start, end
