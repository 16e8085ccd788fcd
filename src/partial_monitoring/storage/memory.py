"""Events in memory, which end with the process."""

from __future__ import annotations

import pickle
import zlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Any

from partial_monitoring.storage.base import HERE, Event, Snapshot, plain

BLOCK = 256
"""Number of events that are packed together."""

WORTHWHILE = 4096 * BLOCK
"""Largest number of bytes of a block that is compressed; the numbers of large contexts take long
and get hardly smaller."""


class Memory:
    """A storage in memory, in which an event takes 20 to 40 bytes, and its context.

    Parameters
    ----------
    events
        What it holds at the start, from event 1 on.
    """

    defers = True
    log = HERE

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self._held: tuple[tuple[bytes, ...], list[Event]] = (), []
        self._snapshot: Snapshot | None = None
        given = iter(events)
        while some := tuple(islice(given, BLOCK)):  # what is packed is copied
            self.append(some if len(some) == BLOCK else tuple(map(_copied, some)))

    def __getstate__(self) -> dict[str, Any]:
        blocks, latest = self._held  # to which another thread may be adding
        return self.__dict__ | {"_held": (blocks, tuple(latest))}

    def __setstate__(self, state: dict[str, Any]) -> None:
        blocks, latest = state["_held"]
        self.__dict__.update(state, _held=(blocks, list(latest)))

    def append(self, events: Sequence[Event]) -> None:
        blocks, latest = self._held
        some = tuple(events)
        if len(latest) + len(some) < BLOCK:
            latest.extend(some)
            return
        every = (*latest, *some)
        full = len(every) // BLOCK * BLOCK
        new = (_packed(every[first : first + BLOCK]) for first in range(0, full, BLOCK))
        self._held = (*blocks, *new), list(every[full:])  # all or none

    def after(self, seq: int = 0) -> Iterator[Event]:
        blocks, latest = self._held
        first, rest = divmod(seq, BLOCK)
        packed = chain.from_iterable(map(_unpacked, blocks[first:]))
        unpacked = (_copied(plain(event)) for event in tuple(latest))
        return islice(chain(packed, unpacked), rest + BLOCK * max(0, first - len(blocks)), None)

    def keep(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot

    def latest(self) -> Snapshot | None:
        return self._snapshot


def _packed(events: Sequence[Event]) -> bytes:
    """Return events as bytes, which never leave the process but in a pickle of it."""
    data = pickle.dumps(events, protocol=5)
    return zlib.compress(data, 1) if len(data) <= WORTHWHILE else data


def _unpacked(block: bytes) -> Iterator[Event]:
    """Yield the events of a block; a pickle begins with the byte 128, compressed data do not."""
    return map(plain, pickle.loads(block if block[0] == 128 else zlib.decompress(block)))


def _copied(value: Any) -> Any:
    """Return a copy of plain data."""
    if isinstance(value, dict):
        return {key: _copied(item) for key, item in value.items()}
    return list(map(_copied, value)) if isinstance(value, list) else value
