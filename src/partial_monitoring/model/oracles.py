"""Sets of actions that are described, not listed, with the best of them for given weights.

An oracle is a function theta (d,) -> phi (d,), the action with the largest <phi, theta>. Those of
the library choose items: phi is 1 for the items of a set and 0 for the others. They know the
logarithm of the number of their actions, and that none of them contains another, which makes the
second best one easy to find. Ties go to the lowest items.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from math import comb, lgamma, log
from typing import Any, ClassVar

import numpy as np

from partial_monitoring.errors import InvalidInput
from partial_monitoring.validation import (
    Array,
    Indices,
    brief,
    is_whole,
    known_keys,
    one_of,
    set_fields,
    whole_number,
)

Oracle = Callable[[Array], Any]
"""theta (d,) -> the features (d,) of the best action."""

MOST_ITEMS = 1_000_000
"""Largest number of items."""

Edge = tuple[int, int]


class ItemSets(ABC):
    """Sets of items, none of which contains another."""

    name: ClassVar[str]
    """In game files."""
    antichain: ClassVar[bool] = True

    @property
    @abstractmethod
    def d(self) -> int:
        """The number of items."""

    @property
    @abstractmethod
    def log_count(self) -> float:
        """The logarithm of the number of sets."""

    @abstractmethod
    def best(self, weights: Array) -> Iterable[int] | Indices:
        """Return the items of the set with the largest sum of weights (d,)."""

    def __call__(self, theta: Array) -> Array:
        phi = np.zeros(self.d)
        phi[list(self.best(theta))] = 1.0
        return phi

    def to_dict(self) -> dict[str, Any]:
        """Return it as in a game file."""
        own = asdict(self)  # type: ignore[call-overload]
        return {"type": self.name} | {key: _plain(value) for key, value in own.items()}


@dataclass(frozen=True)
class TopItems(ItemSets):
    """All sets of some size: the items with the largest weights are the best."""

    name: ClassVar[str] = "m_sets"

    items: int
    size: int

    def __post_init__(self) -> None:
        whole_number("items", self.items, at_least=1, at_most=MOST_ITEMS)
        whole_number("size", self.size, at_least=1, at_most=self.items)

    @property
    def d(self) -> int:
        return int(self.items)

    @property
    def log_count(self) -> float:
        return log(comb(self.items, self.size))

    def best(self, weights: Array) -> Indices:
        return np.argsort(-weights, kind="stable")[: self.size]


@dataclass(frozen=True)
class Matchings(ItemSets):
    """All ways to give each on the left a partner of its own; item i right + j is a pair."""

    name: ClassVar[str] = "matchings"

    left: int
    right: int

    def __post_init__(self) -> None:
        whole_number("right", self.right, at_least=1, at_most=1000)
        whole_number("left", self.left, at_least=1, at_most=self.right)

    @property
    def d(self) -> int:
        return int(self.left * self.right)

    @property
    def log_count(self) -> float:
        return lgamma(self.right + 1) - lgamma(self.right - self.left + 1)

    def best(self, weights: Array) -> Indices:
        from scipy.optimize import linear_sum_assignment

        one, two = linear_sum_assignment(weights.reshape(self.left, self.right), maximize=True)
        return np.asarray(one * self.right + two)


@dataclass(frozen=True)
class Paths(ItemSets):
    """All paths from a source to a target in a graph without cycles; the items are its edges.

    One pass over the edges in topological order finds the best one.
    """

    name: ClassVar[str] = "paths"

    edges: tuple[Edge, ...]
    source: int
    target: int

    def __post_init__(self) -> None:
        set_fields(self, edges=checked_edges(self.edges))
        nodes = {node for edge in self.edges for node in edge}
        for name in ("source", "target"):
            if not is_whole(getattr(self, name)) or getattr(self, name) not in nodes:
                raise InvalidInput(
                    f"{name} must be a node of an edge; got {brief(getattr(self, name))}."
                )
        if self.source == self.target or self._count == 0:
            raise InvalidInput(
                f"edges must lead from source {self.source} to target {self.target}; no path does."
            )

    @property
    def d(self) -> int:
        return len(self.edges)

    @cached_property
    def _order(self) -> list[tuple[int, list[tuple[int, int]]]]:
        """The nodes in topological order, each with its incoming edges (number, start)."""
        into: dict[int, list[tuple[int, int]]] = {n: [] for edge in self.edges for n in edge}
        for number, (start, end) in enumerate(self.edges):
            into[end].append((number, start))
        missing = {node: len(edges) for node, edges in into.items()}
        out: dict[int, list[int]] = {node: [] for node in into}
        for start, end in self.edges:
            out[start].append(end)
        ready = sorted(node for node, count in missing.items() if count == 0)
        order = []
        for node in ready:  # which grows
            order.append((node, into[node]))
            for end in out[node]:
                missing[end] -= 1
                if missing[end] == 0:
                    ready.append(end)
        if len(order) < len(into):
            raise InvalidInput("edges must not form a cycle.")
        return order

    @cached_property
    def _count(self) -> int:
        """The number of paths."""
        ways = {self.source: 1}
        for node, edges in self._order:
            ways[node] = ways.get(node, 0) + sum(ways.get(start, 0) for _, start in edges)
        return ways[self.target]

    @property
    def log_count(self) -> float:
        return log(self._count)

    def best(self, weights: Array) -> list[int]:
        value = {self.source: 0.0}
        last: dict[int, tuple[int, int]] = {}
        for node, edges in self._order:
            for number, start in edges:
                if start in value and node != self.source:
                    total = value[start] + float(weights[number])
                    if node not in last or total > value[node]:
                        value[node], last[node] = total, (number, start)
        chosen, node = [], self.target
        while node != self.source:
            number, node = last[node]
            chosen.append(number)
        return chosen


@dataclass(frozen=True)
class SpanningTrees(ItemSets):
    """All spanning trees of a connected graph; the items are its edges (Kruskal)."""

    name: ClassVar[str] = "spanning_trees"

    edges: tuple[Edge, ...]

    def __post_init__(self) -> None:
        set_fields(self, edges=checked_edges(self.edges))
        if len(self.best(np.zeros(self.d))) < len(self._nodes) - 1:
            raise InvalidInput(f"edges must connect all nodes; got {brief(list(self.edges))}.")

    @property
    def d(self) -> int:
        return len(self.edges)

    @cached_property
    def _nodes(self) -> dict[int, int]:
        """Nodes and their positions."""
        found = sorted({node for edge in self.edges for node in edge})
        return {node: place for place, node in enumerate(found)}

    @property
    def log_count(self) -> float:
        """By the theorem of Kirchhoff: a minor of the Laplacian."""
        laplacian = np.zeros((len(self._nodes),) * 2)
        for edge in self.edges:
            i, j = (self._nodes[node] for node in edge)
            laplacian[[i, j], [i, j]] += 1.0
            laplacian[[i, j], [j, i]] -= 1.0
        return max(0.0, float(np.linalg.slogdet(laplacian[1:, 1:])[1]))

    def best(self, weights: Array) -> list[int]:
        root = list(range(len(self._nodes)))
        chosen = []
        for number in np.argsort(-weights, kind="stable").tolist():
            i, j = (self._nodes[node] for node in self.edges[number])
            while root[i] != i:
                root[i] = i = root[root[i]]
            while root[j] != j:
                root[j] = j = root[root[j]]
            if i != j:
                root[i] = j
                chosen.append(number)
        return chosen


ORACLES: Mapping[str, type[ItemSets]] = {
    kind.name: kind for kind in (TopItems, Matchings, Paths, SpanningTrees)
}
"""The oracles of the library by name."""


def oracle_from_dict(data: Any) -> ItemSets:
    """Return an oracle from its entry in a game file."""
    if not isinstance(data, Mapping) or "type" not in data:
        raise InvalidInput(f"oracle must be a table with the key 'type'; got {brief(data)}.")
    kind = ORACLES[one_of("type of an oracle", data["type"], tuple(ORACLES))]
    own = {key: value for key, value in data.items() if key != "type"}
    names = [field.name for field in fields(kind)]  # type: ignore[arg-type]
    known_keys(f"oracle {kind.name}", own, names, names)
    return kind(**own)


def checked_edges(edges: Any) -> tuple[Edge, ...]:
    """Return edges as pairs of different nodes, numbers from 0."""
    try:
        found = tuple(tuple(edge) for edge in edges)
    except TypeError:
        raise InvalidInput(f"edges must be pairs of nodes; got {brief(edges)}.") from None
    for edge in found:
        whole = len(edge) == 2 and all(is_whole(node) and node >= 0 for node in edge)
        if not whole or edge[0] == edge[1]:
            raise InvalidInput(
                f"edges must be pairs of different nodes, whole numbers; got {brief(edge)}."
            )
    if not 0 < len(found) <= MOST_ITEMS:
        raise InvalidInput(f"edges must hold 1 to {MOST_ITEMS} pairs; got {len(found)}.")
    return tuple((int(start), int(end)) for start, end in found)


def _plain(value: Any) -> Any:
    return [list(edge) for edge in value] if isinstance(value, tuple) else int(value)
