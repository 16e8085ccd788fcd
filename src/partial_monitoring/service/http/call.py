"""One request, as those who answer it see it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import parse_qsl

from partial_monitoring.errors import brief, listed
from partial_monitoring.service.http.answer import Answer
from partial_monitoring.service.http.body import Receive
from partial_monitoring.service.http.tokens import Token
from partial_monitoring.service.problems import Problem

WHOLE: Final = "partial_monitoring.whole"
"""The entry of a scope with what writes a whole answer; it says whether it could."""

LONGEST_TIME: Final = 40
"""Letters of a time in the address of a request."""

Scope = MutableMapping[str, Any]
Handler = Callable[[Any, "Call"], Awaitable[Answer]]
Reader = Callable[[str, str], Any]


@dataclass(frozen=True, slots=True)
class Route:
    """A path, who may use it, and what answers.

    ``role`` is None if everybody may. ``verb`` is its name in metrics and in the OpenAPI file. What
    is ``scoped`` answers a token of one study with what it may see.
    """

    method: str
    path: str
    role: str | None
    verb: str
    handle: Handler
    scoped: bool = False

    @property
    def parts(self) -> tuple[str, ...]:
        """The path between its slashes, with a star for each parameter."""
        own = self.path.split("/")[1:]
        return tuple("*" if part.startswith("{") else part for part in own)


class Call:
    """A request."""

    __slots__ = ("headers", "item", "receive", "route", "scope", "study", "token", "write")

    def __init__(self, scope: Scope, receive: Receive) -> None:
        self.scope, self.receive = scope, receive
        self.write = scope.pop(WHOLE, None)  # which knows the scope: it would wait for a collection
        self.headers: Mapping[bytes, bytes] = dict(scope["headers"])
        self.study: str | None = None
        self.item = ""
        self.token: Token | None = None
        self.route: Route | None = None

    @property
    def actor(self) -> str:
        """Who asks."""
        return "" if self.token is None else self.token.id

    def header(self, name: bytes) -> str:
        """Return a header; "" if it is not there."""
        return self.headers.get(name, b"").decode("latin-1")

    def query(self, known: Mapping[str, Reader]) -> dict[str, Any]:
        """Return what follows the path, read as it should be; what is not known is refused."""
        text = self.scope["query_string"].decode("latin-1")
        if not text:
            return {}
        try:
            pairs = parse_qsl(
                text,
                keep_blank_values=True,
                strict_parsing=True,
                max_num_fields=20,
                errors="strict",
            )
        except ValueError:
            raise Problem(422, f"the query must be NAME=VALUE&...; got {brief(text)}.") from None
        found: dict[str, Any] = {}
        for name, value in pairs:
            if name not in known or name in found:
                often = "twice" if name in found else f"; it may have {listed(known) or 'nothing'}"
                raise Problem(422, f"the query must not have {brief(name)} {often}.")
            found[name] = known[name](name, value)
        return found


def a_whole(at_most: int, at_least: int = 0) -> Reader:
    """Return what reads a whole number."""

    def read(name: str, text: str) -> int:
        small = text.isascii() and text.isdigit() and len(text) < 20
        if not small or not at_least <= int(text) <= at_most:
            said = f"a whole number from {at_least} to {at_most:,}"
            raise Problem(422, f"{name} must be {said}; got {brief(text)}.")
        return int(text)

    return read


def a_flag(name: str, text: str) -> bool:
    """Read true or false."""
    if text not in ("true", "false"):
        raise Problem(422, f"{name} must be true or false; got {brief(text)}.")
    return text == "true"


def a_word(name: str, text: str) -> str:
    """Read a short text."""
    if not 0 < len(text) <= 200 or not text.isprintable():
        raise Problem(422, f"{name} must be a text of 1 to 200 letters; got {brief(text)}.")
    return text


def a_time(name: str, text: str) -> float:
    """Read a time as seconds since 1970, which a date may stand for; UTC unless it says else."""
    try:
        if len(text) > LONGEST_TIME:
            raise ValueError
        if text.replace(".", "", 1).isdigit():
            return float(text)
        found = datetime.fromisoformat(text)
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        said = f"{name} must be seconds since 1970 or a date such as 2026-05-01"
        raise Problem(422, f"{said}; got {brief(text)}.") from None


def one_of(*words: str) -> Reader:
    """Return what reads one of several words."""

    def read(name: str, text: str) -> str:
        if text not in words:
            raise Problem(422, f"{name} must be {' or '.join(words)}; got {brief(text)}.")
        return text

    return read
