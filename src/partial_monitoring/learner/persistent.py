"""A mapping that never changes: adding to it gives another one."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import Any, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

BUCKETS = 256
"""Largest number of pieces that a mapping is kept in."""


_NOTHING: dict[Any, Any] = {}


class PersistentMap(Mapping[K, V]):
    """A mapping that shares all but one of its pieces with the one that it was made from.

    With n keys another one costs the time of copying min(n, 256) + n / 256 entries: answers may
    come weeks after their decisions, and many decisions may be open at once.
    """

    __slots__ = ("_buckets", "_count")

    def __init__(self, buckets: dict[int, dict[K, V]] | None = None, count: int = 0) -> None:
        self._buckets = {} if buckets is None else buckets
        self._count = count

    @classmethod
    def of(cls, items: Iterable[tuple[K, V]]) -> PersistentMap[K, V]:
        """Return the mapping with given items, of which no two have the same key."""
        buckets: dict[int, dict[K, V]] = {}
        for key, value in items:
            buckets.setdefault(hash(key) % BUCKETS, {})[key] = value
        return cls(buckets, sum(map(len, buckets.values())))

    def __getitem__(self, key: K) -> V:
        return self._buckets[hash(key) % BUCKETS][key]

    def get(self, key: K, default: Any = None) -> Any:
        """Return the value of a key, or another one if it is not there."""
        return self._buckets.get(hash(key) % BUCKETS, _NOTHING).get(key, default)

    def __iter__(self) -> Iterator[K]:
        return (key for bucket in self._buckets.values() for key in bucket)

    def __len__(self) -> int:
        return self._count

    def __bool__(self) -> bool:
        return self._count > 0

    def all(self) -> list[V]:
        """Return all values, without looking up their keys as ``values`` does."""
        return [value for bucket in self._buckets.values() for value in bucket.values()]

    def with_item(self, key: K, value: V) -> PersistentMap[K, V]:
        """Return the mapping with one more item, or with another value of it."""
        place = hash(key) % BUCKETS
        if not self._count:
            return PersistentMap({place: {key: value}}, 1)
        old = self._buckets.get(place, _NOTHING)
        buckets = {**self._buckets, place: {**old, key: value}}
        return PersistentMap(buckets, self._count + (key not in old))

    def without(self, key: K) -> PersistentMap[K, V]:
        """Return the mapping without an item that it has."""
        if self._count == 1:
            return PersistentMap()
        place = hash(key) % BUCKETS
        bucket = self._buckets[place].copy()
        del bucket[key]
        buckets = {**self._buckets, place: bucket}
        if not bucket:
            del buckets[place]
        return PersistentMap(buckets, self._count - 1)
