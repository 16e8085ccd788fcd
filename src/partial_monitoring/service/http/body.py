"""Bodies of requests: read up to a limit, and parsed as JSON of limited size and depth.

What their entries must be is checked by the verbs.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any

import orjson

from partial_monitoring.errors import brief
from partial_monitoring.service.http.limits import Limits
from partial_monitoring.service.problems import Problem

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]


class Gone(Exception):
    """The caller has closed the connection."""


async def read(receive: Receive, headers: Mapping[bytes, bytes], most: int) -> bytes:
    """Return the body of a request, of which no more than the limit is kept."""
    length = headers.get(b"content-length")
    if length is not None and (len(length) > 12 or not length.isdigit() or int(length) > most):
        raise _too_long(most)
    message = await receive()
    if not message.get("more_body", False) and message["type"] == "http.request":
        body: bytes = message.get("body", b"")
    else:
        parts, size = [], 0
        while True:
            if message["type"] == "http.disconnect":
                raise Gone
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            if size > most:
                raise _too_long(most)
            if not message.get("more_body", False):
                break
            message = await receive()
        body = b"".join(parts)
    if len(body) > most:
        raise _too_long(most)
    return body


def _too_long(most: int) -> Problem:
    return Problem(413, f"the body must have at most {most:,} bytes.")


def parsed(body: bytes, limits: Limits) -> Any:
    """Return what a body says in JSON; nothing at all is an object without entries."""
    if not body:
        return {}
    try:
        found = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise Problem(400, f"the body must be JSON; {_said(error)}.") from None
    if body.count(b"[") + body.count(b"{") > limits.depth:
        check_depth(found, limits.depth)
    return found


def an_object(body: bytes, limits: Limits) -> dict[str, Any]:
    """Return the object that a body is."""
    found = parsed(body, limits)
    if type(found) is not dict:
        raise Problem(422, f"the body must be an object; got {brief(found)}.")
    return found


def check_depth(found: Any, most: int) -> None:
    """Refuse lists and objects inside each other beyond a number of levels."""
    level = [found]
    for _ in range(most):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if type(outer) is dict else outer)
            if type(inner) in (dict, list)
        ]
        if not level:
            return
    raise Problem(422, f"the body must have at most {most} levels of lists and objects.")


def rows_of(body: bytes, kind: str, limits: Limits) -> dict[str, Any]:
    """Return the entries of a history, which is an object with ``rows``, or a line for each."""
    if "ndjson" not in kind:
        found = an_object(body, limits)
        given = found.get("rows")
        if type(given) is list and len(given) > limits.rows:
            raise _too_many("rows", limits.rows, len(given))
        return found
    if (count := body.count(b"\n")) > limits.rows:
        raise _too_many("rows", limits.rows, count)
    lines = body.split(b"\n")
    rows = []
    for number, line in enumerate(lines, 1):
        try:
            row = orjson.loads(line) if line.strip() else None
        except orjson.JSONDecodeError as error:
            raise Problem(400, f"line {number} must be JSON; {_said(error)}.") from None
        if row is None:
            continue
        if line.count(b"[") + line.count(b"{") > limits.depth:
            check_depth(row, limits.depth - 1)
        rows.append(row)
    return {"rows": rows}


def _said(error: Exception) -> str:
    """Return what the parser says, without the body."""
    return str(error).rstrip(".")


def _too_many(name: str, most: int, count: int) -> Problem:
    return Problem(422, f"{name} must have at most {most:,} entries; got {count:,}.")
