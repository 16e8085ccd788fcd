"""Who may do what: a token for each caller, of which the database has only a hash.

``pm_<id>_<secret>``: the id is public, names the caller in the log of events, and finds the row.
Rows are read again every half second by a thread of its own, so that a token that is revoked, by
whichever process, is refused within a second, and no request waits for the database.
"""

from __future__ import annotations

import hmac
import logging
import re
import secrets
from collections.abc import Callable, Mapping
from hashlib import sha256
from threading import Event, Lock, Thread
from time import monotonic, time
from typing import Any, Final, Protocol

from partial_monitoring.errors import PartialMonitoringError, brief
from partial_monitoring.service.http.limits import study_name
from partial_monitoring.service.problems import Problem
from partial_monitoring.storage.tokens import ROLES, TokenRow

RANK: Final = {role: rank for rank, role in enumerate(ROLES)}

SHAPE: Final = re.compile(rb"pm_([0-9a-f]{12})_([A-Za-z0-9_-]{43})")

REFRESH: Final = 0.5
"""Seconds between two readings of all tokens."""

SOONEST: Final = 0.05
"""Seconds between two readings that a token asks for which is not known."""

CACHED: Final = 10_000
"""Largest number of verified tokens that are remembered."""

COOKIE: Final = "pm_token"
"""The cookie of a browser that is logged in: it has the token."""

log = logging.getLogger(__name__)


class Token(TokenRow):
    """A row of the table, and what it allows."""

    __slots__ = ()

    def public(self) -> dict[str, Any]:
        """Return what may be shown of it."""
        names = ("id", "role", "study", "label", "created_at", "expires_at", "revoked_at")
        return {name: getattr(self, name) for name in names}

    def may(self, role: str, study: str | None) -> None:
        """Refuse what this token must not do."""
        if self.study is not None and (study is None or study.partition("~")[0] != self.study):
            raise Problem(403, f"this token is for the study {brief(self.study)} only.")
        if RANK[self.role] < RANK[role]:
            raise Problem(
                403, f"this needs a token with the role {role}; this one may {self.role}."
            )


class Table(Protocol):
    """Where tokens are stored, as those of a database are."""

    def create(self, token: TokenRow) -> None:
        """Add a row."""

    def list(self) -> list[TokenRow]:
        """Return all rows."""

    def revoke(self, name: str, at: float) -> bool:
        """Say that a token counts no longer."""


class Tokens:
    """The tokens of a service.

    Parameters
    ----------
    table
        Where they are stored.
    clock
        The time, in seconds since 1970.
    watch
        Whether they are read again and again.
    """

    def __init__(
        self, table: Table, *, clock: Callable[[], float] = time, watch: bool = True
    ) -> None:
        self._table, self._clock = table, clock
        self._now: tuple[dict[str, Token], dict[bytes, Token]] = {}, {}  # rows, and those verified
        self._lock, self._end = Lock(), Event()
        self._read_at = -1.0
        self.refresh()
        self._thread = Thread(target=self._watch, name="pm-tokens", daemon=True)
        if watch:
            self._thread.start()

    def create(
        self,
        role: str,
        *,
        study: str | None = None,
        label: str = "",
        expires_at: float | None = None,
    ) -> tuple[Token, str]:
        """Return a new token and its text, which is nowhere else."""
        token, text = new_token(role, study, label, expires_at, now=self._clock())
        self._table.create(token)
        self.refresh()
        return token, text

    def list(self) -> list[Token]:
        """Return all tokens, the oldest first."""
        self.refresh()
        return sorted(self._now[0].values(), key=lambda own: own.created_at)

    def revoke(self, name: str) -> Token:
        """Let a token count no longer."""
        self.refresh()
        if name not in self._now[0]:
            raise Problem(404, f"there is no token {brief(name)}.")
        if self._now[0][name].revoked_at is None:
            self._table.revoke(name, self._clock())
            self.refresh()
        return self._now[0][name]

    def known(self, text: bytes) -> Token | None:
        """Return a token that counts, as far as was last read; None if there is none."""
        rows, verified = self._now  # one reading, so that none is remembered in a later one
        digest = sha256(text).digest()
        found = verified.get(digest)
        if found is None:
            found = _matching(rows, text)
            if found is None:
                return None
            if len(verified) >= CACHED:
                verified.clear()
            verified[digest] = found
        if found.expires_at is not None and found.expires_at <= self._clock():
            return None
        return found

    def verify(self, text: bytes) -> Token:
        """Return a token that counts; one that is not known is looked for, and else refused."""
        found = self.known(text)
        if found is None and self.is_stale(text):
            self.refresh()
            found = self.known(text)
        if found is None:
            raise Problem(401, "the token is not valid.", WWW_Authenticate="Bearer")
        return found

    def is_stale(self, text: bytes) -> bool:
        """Whether a token that is not known may be a new one of another process."""
        match = SHAPE.fullmatch(text)
        fresh = monotonic() - self._read_at < SOONEST
        return match is not None and match[1].decode() not in self._now[0] and not fresh

    def refresh(self) -> None:
        """Read all tokens."""
        with self._lock:
            rows = {row.id: Token._make(row) for row in self._table.list()}
            if rows != self._now[0]:
                self._now = rows, {}
            self._read_at = monotonic()

    def close(self) -> None:
        """End the thread that reads."""
        self._end.set()
        if self._thread.ident is not None:
            self._thread.join()

    def _watch(self) -> None:
        while not self._end.wait(REFRESH):
            try:
                self.refresh()
            except PartialMonitoringError as error:  # those that are known count until it is back
                log.warning("The tokens cannot be read: %s", error)


def new_token(
    role: str, study: str | None, label: str, expires_at: float | None, *, now: float
) -> tuple[Token, str]:
    """Return a row and the text that it belongs to."""
    if role not in ROLES:
        raise Problem(422, f"role must be read, play or admin; got {brief(role)}.")
    if study is not None:
        study_name(study)
    if len(label) > 200 or not label.isprintable():
        raise Problem(422, f"label must have at most 200 letters; got {brief(label)}.")
    if expires_at is not None and not now < expires_at < 1e11:
        said = "expires_at must be a time to come, in seconds since 1970"
        raise Problem(422, f"{said}; got {brief(expires_at)}.")
    name, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
    row = Token(name, sha256(secret.encode()).digest(), role, study, label, now, expires_at)
    return row, f"pm_{name}_{secret}"


def _matching(rows: dict[str, Token], text: bytes) -> Token | None:
    """Return the row of a token, compared in constant time."""
    match = SHAPE.fullmatch(text)
    row = None if match is None else rows.get(match[1].decode())
    if match is None or row is None or row.revoked_at is not None:
        return None
    return row if hmac.compare_digest(row.hash, sha256(match[2]).digest()) else None


def text_of(headers: Mapping[bytes, bytes]) -> tuple[bytes, bool]:
    """Return the token that a request shows, and whether it is that of a cookie; b"" if none."""
    given = headers.get(b"authorization")
    if given is not None:
        if given.startswith(b"Bearer "):
            return given[7:], False
        kind, _, text = given.partition(b" ")
        return (text.strip() if kind.lower() == b"bearer" else b""), False
    for part in headers.get(b"cookie", b"").split(b";"):
        name, _, value = part.strip().partition(b"=")
        if name == COOKIE.encode():
            return value, True
    return b"", False


def form_token(text: bytes) -> str:
    """Return what forms of a page carry for the token of its cookie: other sites cannot know it."""
    return hmac.digest(text, b"form", "sha256").hex()


def check_form(text: bytes, given: bytes | None) -> None:
    """Refuse a form that is not from a page of this server."""
    if given is None or not hmac.compare_digest(form_token(text).encode(), given):
        raise Problem(403, "the form is from another server or login; load its page again.")
