"""What a request is answered with that cannot be done: a status of HTTP and one sentence."""

from __future__ import annotations

import logging
from secrets import token_hex
from time import monotonic

from partial_monitoring.errors import InvalidInput, StorageError, visible
from partial_monitoring.service.words import in_words

log = logging.getLogger("partial_monitoring.service")

OFTEN = 10.0
"""Seconds after which the same sentence is logged again."""

FULL = "the database's disk is full."

AWAY = "the database server (PostgreSQL) cannot be reached."

KNOWN = {
    "disk is full": FULL,
    "No space left": FULL,
    "disk I/O error": "the database's disk fails.",
    "connection was lost": AWAY,
    "server closed the connection": AWAY,
    "terminating connection due to admin": AWAY,
    "terminating connection because of": AWAY,
    "system is": AWAY,  # starting up, shutting down
    "connection failed": AWAY,
    "connection to server": AWAY,
}
"""What callers are told of errors of a database, by what it says."""

TITLES = {
    404: "Not found",
    409: "Conflict",
    412: "Changed in between",
    422: "Not possible",
    429: "Too many",
    500: "Error",
    503: "Not now",
}


class Problem(Exception):
    """A request that is refused, or failed.

    Attributes
    ----------
    status
        Of HTTP.
    detail
        One sentence.
    headers
        Of the answer.
    """

    def __init__(self, status: int, detail: str, **headers: str) -> None:
        super().__init__(detail)
        self.status, self.detail = status, visible(" ".join(detail.split()))
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}

    @property
    def title(self) -> str:
        """In two words."""
        return TITLES.get(self.status, "Refused")


def later(detail: str, seconds: int = 1) -> Problem:
    """Return that something cannot be done now; it may be tried again with the same key."""
    return Problem(503, detail, Retry_After=str(seconds))


def problem_of(error: BaseException) -> Problem:
    """Return an error as what its request is answered with.

    One that is unexpected is logged. So is one of the database, of which callers are told no more:
    neither a path nor an address.
    """
    match error:
        case Problem():
            return error
        case InvalidInput():
            return Problem(422, in_words(str(error)))
        case StorageError():
            _note(str(error))
            return later(next((KNOWN[own] for own in KNOWN if own in str(error)), error.said))
    incident = token_hex(4)
    log.error("incident %s", incident, exc_info=error)
    return Problem(500, f"An unexpected error, incident {incident}; the log of the service has it.")


_noted: dict[str, float] = {}


def _note(text: str) -> None:
    """Log a sentence, unless it was logged just now: while a database is away, all say the same."""
    now = monotonic()
    if now > _noted.get(text, -OFTEN) + OFTEN:
        _noted.clear()
        _noted[text] = now
        log.error("%s", text)
