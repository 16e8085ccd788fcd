"""Who may use the studies of a database through a service: rows of tokens, without the tokens."""

from __future__ import annotations

from typing import NamedTuple

from partial_monitoring.errors import InvalidInput, StorageError
from partial_monitoring.storage.handle import Handle, Row
from partial_monitoring.validation import brief

ROLES = ("read", "play", "admin")
"""What a token may do; each includes those before it."""

HASH = 32
"""Bytes of a SHA-256."""


class TokenRow(NamedTuple):
    """What is stored of a token; times are in seconds since 1970."""

    id: str
    hash: bytes
    """SHA-256 of its secret."""
    role: str
    study: str | None
    """The name of the only study that it is for."""
    label: str
    created_at: float
    expires_at: float | None = None
    revoked_at: float | None = None


class Tokens:
    """The tokens of a database.

    Parameters
    ----------
    handle
        The connection.
    """

    def __init__(self, handle: Handle) -> None:
        self._handle = handle

    def create(self, token: TokenRow) -> None:
        """Add one."""
        if not isinstance(token.hash, bytes) or len(token.hash) != HASH:
            raise InvalidInput("hash must be the SHA-256 of a token.")
        if token.role not in ROLES:
            raise InvalidInput(f"role must be one of {', '.join(ROLES)}; got {brief(token.role)}.")
        times = (token.created_at, token.expires_at, token.revoked_at)
        row = (token.id, token.hash, token.role, token.study, token.label, *map(_micros, times))
        with self._handle.transaction():
            sql = "INSERT INTO pm_token VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"
            if self._handle.run(sql, row) != 1:
                raise StorageError(
                    f"{self._handle.address}: has a token {brief(token.id)} already."
                )

    def find(self, name: str) -> TokenRow | None:
        """Return a token by its id, if there is one."""
        rows = self._handle.rows("SELECT * FROM pm_token WHERE id = ?", (name,))
        return _token(rows[0]) if rows else None

    def list(self) -> list[TokenRow]:
        """Return all, the oldest first."""
        sql = "SELECT * FROM pm_token ORDER BY created_at, id"
        return [_token(row) for row in self._handle.rows(sql)]

    def revoke(self, name: str, at: float) -> bool:
        """Say that a token counts no longer; return whether it did until now."""
        sql = "UPDATE pm_token SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL"
        with self._handle.transaction():
            return self._handle.run(sql, (_micros(at), name)) == 1


def _micros(seconds: float | None) -> int | None:
    return None if seconds is None else round(seconds * 1e6)


def _token(row: Row) -> TokenRow:
    name, digest, role, study, label, *times = row
    created, expires, revoked = (None if at is None else at / 1e6 for at in times)
    return TokenRow(name, bytes(digest), role, study, label, created or 0.0, expires, revoked)
