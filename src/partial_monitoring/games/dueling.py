"""Dueling bandits: two items are shown, only their comparison is seen (examples 3 and 4)."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from partial_monitoring.errors import InvalidInput
from partial_monitoring.games.feedback_graph import Edges, read_graph
from partial_monitoring.games.linear_bandit import unit_ball
from partial_monitoring.model.dueling import DuelingGame
from partial_monitoring.model.game import Game
from partial_monitoring.parameter_sets import AllParameters, Ball, ParameterSet
from partial_monitoring.validation import Array, boolean, one_of, real_array

FEEDBACK = ("quantitative", "sign")
"""Kinds of feedback of a duel."""


def dueling(
    features: ArrayLike = ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    *,
    feedback: str = "quantitative",
    parameters: ParameterSet | None = None,
    items: Iterable[object] | None = None,
) -> DuelingGame:
    """Dueling bandit: choose two items, see only how they compare.

    Model: actions are all ordered pairs (a, b) of items, phi_ab = phi_a + phi_b and
    M_ab = (phi_a - phi_b)'.

    Parameters
    ----------
    features
        Item features, shape (items, d).
    feedback
        "quantitative": the utility difference with Gaussian noise (rho = 1); "sign": which of the
        two won, +1 or -1, with mean equal to the utility difference (rho = 1).
    parameters
        The unit ball unless given; for "sign" feedback a ball that keeps all means in [-1, 1].
    items
        Labels of the items.

    Example
    -------
    >>> dueling(items=["tea", "coffee", "milk"]).actions[:3]
    ('tea | tea', 'tea | coffee', 'tea | milk')

    Reference: example 3; Gajane and Urvoy (2015), Kirschner and Krause (2021).
    """
    phi = real_array("features", features, ("items", "d"))
    theta, noise = _theta_and_noise(phi, feedback, parameters)
    return DuelingGame(phi, theta, 1.0, items, noise=noise)


def graph_dueling(
    edges: Edges | Any = ((0, 1), (1, 2)),
    *,
    items: Sequence[Hashable] | None = None,
    features: ArrayLike | None = None,
    self_pairs: bool = True,
    feedback: str = "quantitative",
    parameters: ParameterSet | None = None,
) -> Game:
    """Graph dueling: only some pairs of items can be compared.

    Model: as :func:`dueling`, restricted to the pairs on the edges of a graph and (unless
    ``self_pairs`` is off) each item with itself. Items that are not connected have to be compared
    along a path. Features are the unit vectors and Theta is all of R^d unless given.

    Example
    -------
    A path of three items, whose ends can only be compared through the middle:

    >>> graph_dueling([("a", "b"), ("b", "c")]).actions
    ('a | a', 'b | b', 'c | c', 'a | b', 'b | c')

    Reference: example 4, with E18 and E36 of the paper notes.
    """
    boolean("self_pairs", self_pairs)
    nodes, listed = read_graph(edges, items)
    position = {node: i for i, node in enumerate(nodes)}
    pairs = [(position[a], position[b]) for a, b in dict.fromkeys(listed)]
    if not (hasattr(edges, "is_directed") and edges.is_directed()):
        pairs = _unordered(pairs)
    if self_pairs:
        own = [(i, i) for i in range(len(nodes))]
        pairs = own + [pair for pair in pairs if pair[0] != pair[1]]
    n = len(nodes)
    phi = np.eye(n) if features is None else real_array("features", features, (n, "d"))
    one_of("feedback", feedback, FEEDBACK)
    if parameters is None and feedback == "quantitative":
        parameters = AllParameters(phi.shape[1])
    if not pairs:
        raise InvalidInput("a dueling game needs at least one pair; got none.")
    theta, noise = _theta_and_noise(phi, feedback, parameters)
    first, second = np.array(pairs).T
    maps = (phi[first] - phi[second])[:, None, :]
    actions = [f"{nodes[a]} | {nodes[b]}" for a, b in pairs]
    return Game(phi[first] + phi[second], maps, theta, 1.0, actions, noise=noise)


def _theta_and_noise(
    phi: Array, feedback: str, parameters: ParameterSet | None
) -> tuple[ParameterSet, str]:
    """Return Theta and the noise of a kind of feedback."""
    one_of("feedback", feedback, FEEDBACK)
    if feedback == "quantitative":
        return (unit_ball(phi) if parameters is None else parameters), "gaussian"
    if parameters is None:
        parameters = Ball(np.zeros(phi.shape[1]), 1.0 / max(1.0, _widest(phi)))
    return parameters, "sign"


def _widest(phi: Array) -> float:
    """Return the largest distance of two items (a bound of it if there are very many)."""
    if len(phi) <= 3000:
        return max(float(np.linalg.norm(phi - own, axis=1).max()) for own in phi)
    return 2 * float(np.linalg.norm(phi - phi.mean(axis=0), axis=1).max())


def _unordered(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Keep the first of (a, b) and (b, a)."""
    kept = {frozenset(pair): pair for pair in reversed(pairs)}
    return [pair for pair in pairs if kept[frozenset(pair)] == pair]
