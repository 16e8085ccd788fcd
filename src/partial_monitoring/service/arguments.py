"""The arguments of verbs, as they come from outside: plain data of any shape."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from partial_monitoring.errors import InvalidInput
from partial_monitoring.validation import brief, is_text, known_keys

LONGEST_KEY = 200
LARGEST_META = 1000
"""In bytes, as JSON."""

MOST_ITEMS = 1000
"""Largest number of decisions or answers of a request."""

LONGEST_REASON = 1000


def only(verb: str, given: Any, known: Sequence[str], required: Sequence[str] = ()) -> None:
    """Refuse arguments that a verb does not have, or that are missing."""
    if not isinstance(given, Mapping):
        raise InvalidInput(f"{verb} must be an object; got {brief(given)}.")
    known_keys(verb, given, known, required)


def key_of(given: Mapping[str, Any]) -> str | None:
    """Return the key by which a request is recognized when it comes again, if it has one."""
    key = given.get("key")
    if key is None:
        return None
    if not is_key(key):
        raise InvalidInput(f"key must be a text of 1 to {LONGEST_KEY} letters; got {brief(key)}.")
    return str(key)


def is_key(given: Any) -> bool:
    """Whether something can be a key."""
    if not isinstance(given, str) or not 0 < len(given) <= LONGEST_KEY:
        return False
    return "\0" not in given and (given.isascii() or is_text(given))


def meta_of(given: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return what a caller wants to find again with a decision."""
    meta = given.get("meta")
    if meta is None:
        return None
    if not isinstance(meta, dict):
        raise InvalidInput(f"meta must be an object; got {brief(meta)}.")
    try:
        size = len(json.dumps(meta, allow_nan=False))
    except (ValueError, TypeError, RecursionError):
        raise InvalidInput("meta must be plain data.") from None
    if size > LARGEST_META:
        raise InvalidInput(f"meta must have at most {LARGEST_META} bytes; got {size}.")
    return meta


def reason_of(given: Mapping[str, Any], *, needed: bool = True) -> str | None:
    """Return why something is done."""
    reason = given.get("reason")
    if reason is None and not needed:
        return None
    if (
        not isinstance(reason, str)
        or not reason.strip()
        or len(reason) > LONGEST_REASON
        or not is_text(reason)
    ):
        raise InvalidInput(
            f"reason must say why, in 1 to {LONGEST_REASON} letters; got {brief(reason)}."
        )
    return reason


def several(name: str, given: Any, most: int = MOST_ITEMS) -> list[Any]:
    """Return a list that is not empty and not too long."""
    if not isinstance(given, list) or not 0 < len(given) <= most:
        got = f"{len(given):,}" if isinstance(given, list) else brief(given)
        raise InvalidInput(f"{name} must be a list of 1 to {most:,} items; got {got}.")
    return given
