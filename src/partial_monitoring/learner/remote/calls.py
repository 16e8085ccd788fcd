"""Calls of a service: each is tried until it is answered or its time is over.

A call that changes something carries a key that is made once, so that the service carries it out
once however often it arrives: an answer that is lost on the way can safely be asked for again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from random import uniform
from time import monotonic, sleep, time
from typing import Any

import numpy as np

from partial_monitoring.errors import InvalidInput, StorageError
from partial_monitoring.learner.remote.address import Address, Secret
from partial_monitoring.learner.remote.breaker import Breaker
from partial_monitoring.learner.remote.connection import Answer, Connections, Lost
from partial_monitoring.validation import brief

TIMEOUT = 10.0
"""Seconds that a call may take, unless it says otherwise."""

AGAIN = (408, 429, 502, 503, 504)
"""Answers after which the same request may succeed."""

UNKNOWN = (502, 503, 504)
"""Those of them after which nobody knows whether the service has acted."""

FORBIDDEN = (401, 403)

FIRST_WAIT, LONGEST_WAIT = 0.05, 2.0
"""Seconds between two tries: at most the first number, then twice as many, up to the second."""

LONGEST_DETAIL = 500
"""Letters of what a service says that are shown."""

HEADERS = {"Accept": "application/json", "User-Agent": "partial-monitoring"}


class Away(StorageError):
    """A service that does not answer, or not as it should; ``sent`` if it may have acted."""

    def __init__(self, message: str, *, sent: bool = False) -> None:
        super().__init__(message)
        self.sent = sent


class Refused(InvalidInput):
    """What a service refuses in one sentence; nothing was changed."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class Service:
    """A service at an address; threads share it, each with a connection of its own."""

    def __init__(self, address: Address, token: Secret) -> None:
        self.address, self._token = address, token
        self.reopen()

    def reopen(self) -> None:
        """Begin with connections and a breaker of its own, as after a fork."""
        self._connections = Connections(self.address)
        self.breaker = Breaker()

    def get(self, path: str, *, timeout: float = TIMEOUT) -> Any:
        """Return what is at a path, as plain data."""
        return self._call("GET", path, None, monotonic() + timeout)

    def post(self, path: str, content: Mapping[str, Any], deadline: float) -> dict[str, Any]:
        """Return the answer to a request that changes something, before a time."""
        found = self._call("POST", path, encoded(content), deadline)
        if not isinstance(found, dict):
            raise self.unexpected(path, found)
        return found

    def close(self) -> None:
        """Close the connection of this thread."""
        self._connections.own.close()

    def unexpected(self, path: str, found: object) -> Away:
        """Return the error for an answer that is none of those the service gives."""
        return Away(
            f"{self.address} gave an answer that {path.rpartition('/')[2]} cannot have: "
            f"{brief(found)}.",
            sent=True,
        )

    def _call(self, method: str, path: str, body: bytes | None, deadline: float) -> Any:
        try:
            answer = self._answer(method, path, body, deadline)
        except Away:
            self.breaker.failed()
            raise
        self.breaker.succeeded()
        return self._read(answer, path)

    def _answer(self, method: str, path: str, body: bytes | None, deadline: float) -> Answer:
        """Return the first answer that is final; retry until the deadline."""
        headers = HEADERS | {"Authorization": f"Bearer {self._token!s}"}
        if body is not None:
            headers["Content-Type"] = "application/json"
        own, full = self._connections.own, self.address.prefix + path
        longest, sent, reason = FIRST_WAIT, False, "no answer in time"
        while True:
            wait = uniform(0.5, 1.0) * longest
            try:
                answer = own.request(method, full, body, headers, deadline)
                if answer.status not in AGAIN or _is_final(answer):
                    return answer
                sent = sent or answer.status in UNKNOWN
                reason = _detail(answer) or f"it answers {answer.status}"
                wait = max(wait, _retry_after(answer))
            except Lost as error:
                sent, reason = sent or error.sent, str(error)
                if error.final:
                    raise self._away(reason, sent=sent) from None
                if error.stale:  # the service closed a connection that was not in use
                    wait = 0.0
            if monotonic() + wait >= deadline:
                raise self._away(reason, sent=sent)
            if wait:
                sleep(wait)
                longest = min(2 * longest, LONGEST_WAIT)

    def _away(self, reason: str, *, sent: bool) -> Away:
        return Away(f"{self.address} cannot be used now: {reason.rstrip('.')}.", sent=sent)

    def _read(self, answer: Answer, path: str) -> Any:
        """Return the content of an answer; what is refused or not understood raises."""
        status, said = answer.status, _detail(answer)
        if 200 <= status < 300:
            try:
                return json.loads(answer.body, parse_constant=_no_number)
            except (ValueError, RecursionError):
                raise self.unexpected(path, answer.body[:100]) from None
        if status in FORBIDDEN:
            raise StorageError(said or f"{self.address} refuses this token.")
        if 400 <= status < 500 and said:
            raise Refused(said, status)
        if 300 <= status < 400:
            raise Away(
                f"{self.address} answers with a redirect ({status}), which is not followed, since "
                f"the token is for this address alone.",
                sent=True,
            )
        rest = f": {said}" if said else "."
        raise Away(f"{self.address} answers {status}{rest}", sent=True)


def encoded(content: Mapping[str, Any]) -> bytes:
    """Return what is sent, as JSON."""
    try:
        return json.dumps(content, allow_nan=False, default=_plain).encode()
    except (ValueError, TypeError, RecursionError) as error:
        raise InvalidInput(f"what is sent must be plain data: {str(error)[:100]}.") from None


def _plain(value: Any) -> Any:
    """Return arrays and numbers of numpy as those of Python."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    raise TypeError(f"got {brief(value)}")


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is no number")


def _detail(answer: Answer) -> str:
    """Return the sentence in which a service says what is wrong; nothing if there is none."""
    if answer.status < 400:
        return ""
    try:
        found = json.loads(answer.body)["detail"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return ""
    return found[:LONGEST_DETAIL] if isinstance(found, str) else ""


def _is_final(answer: Answer) -> bool:
    """Whether waiting does not help, as when a study has as many open decisions as it may have."""
    return answer.status == 429 and "retry-after" not in answer.headers


def _retry_after(answer: Answer) -> float:
    """Return after how many seconds a service wants to be asked again."""
    given = answer.headers.get("retry-after", "")
    if given.isdecimal():
        return float(given[:9])
    try:
        return max(0.0, parsedate_to_datetime(given).timestamp() - time())
    except (ValueError, TypeError):
        return 0.0
