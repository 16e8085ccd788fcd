"""Contexts that the game does not list, as the log and the counts of a learner have them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from functools import cache, cached_property
from hashlib import sha256
from json import dumps
from typing import Any

import numpy as np

from partial_monitoring.model.contextual import CONTEXT_KEYS
from partial_monitoring.model.files import game_to_dict
from partial_monitoring.model.game import Game
from partial_monitoring.storage.base import Unwritten


class Unlisted(Unwritten):
    """An unlisted context, given by its game; equal to others with the same content."""

    def __init__(self, game: Any) -> None:
        self.game = game
        # Of eight or more actions, which tell most contexts apart. One does not: many contexts
        # have an action that is always the same, often the first one.
        features = game.features
        self._hash = hash(features[:: max((len(features) - 1) // 8, 1)].tobytes())

    def __reduce__(self) -> Any:
        """Keep what the game was made of, without what was computed from it; arrays as bytes."""
        kind: Any = type(self.game)
        computed = _computed(kind)
        own: dict[str, Any] = {}
        arrays: dict[str, Any] = {}
        same: dict[bytes, bytes] = {}
        for name, value in vars(self.game).items():
            if name in computed:
                continue
            if type(value) is np.ndarray and value.dtype == np.float64:
                data = value.tobytes()
                arrays[name] = same.setdefault(data, data), value.shape  # equal ones are kept once
            else:
                own[name] = value
        return _unlisted, (kind, own, arrays)

    def written(self) -> dict[str, Any]:
        """Return it as users describe it, or as in a game file if it is of another kind."""
        found = self.whole()
        if type(self.game) is Game:
            del found["parameters"]  # all contexts have the same
        return found

    def whole(self) -> dict[str, Any]:
        """Return it as in a game file."""
        return game_to_dict(self.game)

    @cached_property
    def key(self) -> str:
        """By which it is found in files."""
        return key_of(self.whole())

    @cached_property
    def content(self) -> bytes:
        """A hash of its game, the parameters excepted, which all contexts share.

        It takes a small part of the time of ``key``, for which all numbers are written as text.
        """
        found, kind = sha256(), self.game.__class__
        for name in _names(kind):
            value = getattr(self.game, name)
            if isinstance(value, np.ndarray):
                found.update(np.ascontiguousarray(value).data)
                value = value.shape
            if name != "parameters":
                found.update(repr(value).encode())
        return found.digest()

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Unlisted) and self.content == other.content)

    def __hash__(self) -> int:
        return self._hash


@cache
def _computed(kind: Any) -> frozenset[str]:
    """Return the names of what a kind of game computes when it is first asked for."""
    each = (vars(parent).items() for parent in kind.__mro__)
    return frozenset(name for own in each for name, x in own if isinstance(x, cached_property))


@cache
def _names(kind: Any) -> tuple[str, ...]:
    """Return the names of the fields of a kind of game."""
    return tuple(field.name for field in fields(kind))


def _unlisted(kind: type, own: dict[str, Any], arrays: Mapping[str, Any] | None = None) -> Unlisted:
    """Return what ``__reduce__`` has taken apart, earlier versions with the arrays in ``own``."""
    game: Any = object.__new__(kind)
    game.__dict__.update(own)
    for name, (data, shape) in (arrays or {}).items():
        game.__dict__[name] = np.frombuffer(data).reshape(shape)
    return Unlisted(game)


def key_of(written: Mapping[str, Any]) -> str:
    """Return a hash of a context as plain data."""
    return sha256(dumps(written, sort_keys=True).encode()).hexdigest()


def is_described(written: Mapping[str, Any]) -> bool:
    """Whether a context as plain data is one as users describe it, without the parameters."""
    return set(written) <= set(CONTEXT_KEYS)


def of_log(given: Any, context: Any) -> str | Unlisted | None:
    """Return a context for the counts: as an event has it, or as an unlisted one if it was read."""
    if given is None:
        return None
    return Unlisted(context.name) if isinstance(given, Mapping) else given
