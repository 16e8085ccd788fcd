"""What a caller may use: sizes, requests a second, names of the server, where a form comes from."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from time import monotonic
from typing import Final

from partial_monitoring.errors import brief
from partial_monitoring.service.problems import Problem

NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
"""What studies may be called."""

ARCHIVED: Final = re.compile(rf"{NAME.pattern}(~[0-9]{{1,9}})?")
"""What studies are called when they can be read: an edited one is kept as NAME~1."""

LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")
"""Names of this machine, for itself."""

SAFE: Final = frozenset({"GET", "HEAD"})
"""Methods that change nothing."""

OWN_SITE: Final = frozenset({b"same-origin", b"none"})
"""Where a browser says that a request comes from, if it is not from another site."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a server; those of time are in seconds."""

    body: int = 64 * 1024
    """Bytes of a body."""
    history: int = 4 * 1024 * 1024
    """Bytes of a body with earlier answers."""
    items: int = 1_000
    """Entries of a list of decisions or answers."""
    rows: int = 10_000
    """Earlier answers in one request."""
    depth: int = 32
    """Levels of JSON."""
    rate: float = 2_000.0
    """Requests a second of one token."""
    failures: float = 20.0
    """Requests a second of one address that show no valid token."""
    receive: float = 10.0
    """To receive a request."""
    answer: float = 10.0
    """To answer it."""
    idle: float = 60.0
    """Until a connection is closed on which nothing is requested, or read."""
    connections: int = 1_000
    """Connections at once."""
    reading: int = 64
    """GETs that wait for their answers at once."""


class Buckets:
    """A bucket for each name, filled at a rate up to a second's worth; a request takes one out."""

    def __init__(self, rate: float, most: int = 10_000) -> None:
        self._rate, self._most = rate, most
        self._levels: dict[str, tuple[float, float]] = {}

    def take(self, name: str) -> None:
        """Take one out, or refuse."""
        now = monotonic()
        level, before = self._levels.get(name, (self._rate, now))
        level = min(self._rate, level + (now - before) * self._rate) - 1.0
        if level < 0.0:
            raise Problem(
                429,
                f"at most {self._rate:g} requests a second are answered.",
                Retry_After="1",
            )
        if len(self._levels) >= self._most and name not in self._levels:
            self._levels.clear()
        self._levels[name] = level, now


class Hosts:
    """The names under which this server is reached; a page of another name must not talk to it.

    Addresses are names that no other site can have, so they are all accepted.
    """

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._names = {name.lower().rstrip(".") for name in (*LOOPBACK, *names)}
        self._good: set[bytes] = set()

    def check(self, given: bytes) -> None:
        """Refuse the header of a request to another server."""
        if given in self._good:
            return
        host = given.decode("latin-1")
        name = host.rpartition(":")[0] if re.search(r":[0-9]{1,5}$", host) else host
        name = name.removeprefix("[").removesuffix("]").lower().rstrip(".")
        if name not in self._names and not _is_address(name):
            raise Problem(
                421,
                f"this server is not {brief(host)}; start it with --allow-host if it is.",
            )
        if len(self._good) < 1000:
            self._good.add(given)


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def check_origin(method: str, headers: Mapping[bytes, bytes]) -> None:
    """Refuse what a browser sends to change something, if a page of another site asked for it."""
    if method in SAFE:
        return
    site, origin = headers.get(b"sec-fetch-site"), headers.get(b"origin")
    foreign = site is not None and site not in OWN_SITE
    if origin is not None and origin.partition(b"://")[2] != headers.get(b"host"):
        foreign = True
    if foreign:
        raise Problem(403, "a page of another site must not change anything here.")


def study_name(given: object) -> str:
    """Return the name of a new study, if it is one."""
    if not isinstance(given, str) or NAME.fullmatch(given) is None:
        raise Problem(
            422,
            "name must be 1 to 64 letters, digits, dots, hyphens and underscores, the first one a "
            f"letter or digit; got {brief(given)}.",
        )
    return given
