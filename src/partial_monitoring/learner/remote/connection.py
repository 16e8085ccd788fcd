"""One connection to a service, kept alive from request to request.

``http.client`` bounds the time of a single read; here a whole request is bounded, so that a service
that answers letter by letter keeps nobody waiting. Redirects are not followed: the token is for the
address that was given.
"""

from __future__ import annotations

import io
import os
import threading
from collections.abc import Mapping
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple

from partial_monitoring.learner.remote.address import Address

if TYPE_CHECKING:
    from http.client import HTTPConnection
    from ssl import SSLContext

MOST_BYTES = 8_000_000
"""Largest answer that is read."""


class Lost(Exception):
    """A request that was not answered; ``sent`` if the service may have got it."""

    def __init__(self, reason: str, *, sent: bool, stale: bool = False, final: bool = False):
        super().__init__(reason)
        self.sent, self.stale, self.final = sent, stale, final


class Answer(NamedTuple):
    """What a service answered."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Connection:
    """A connection that is opened when it is needed, and again when it has broken."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._own: HTTPConnection | None = None
        self._socket: _Bounded | None = None
        self._process = os.getpid()
        self._trust: SSLContext | None = None

    def request(
        self, method: str, path: str, body: bytes | None, headers: dict[str, str], deadline: float
    ) -> Answer:
        """Send a request and return its answer, before a time of the monotonic clock."""
        if self._process != os.getpid():  # a fork shares the socket with its parent
            self._own, self._process = None, os.getpid()
        fresh = self._own is None
        try:
            own, bounded = self._connected(deadline)
        except OSError as error:
            self.close()
            raise Lost(_said(error), sent=False, final=_is_certificate(error)) from None
        except BaseException:
            self.close()
            raise
        from http.client import HTTPException

        bounded.deadline = deadline
        try:
            own.request(method, path, body, headers)
            return self._answer(own)
        except Lost:
            self.close()
            raise
        except (OSError, HTTPException, ValueError) as error:
            self.close()
            timed_out = isinstance(error, TimeoutError)
            raise Lost(_said(error), sent=True, stale=not fresh and not timed_out) from None
        except BaseException:  # an interruption: nobody reads the rest of the answer
            self.close()
            raise

    def close(self) -> None:
        """Close the connection; the next request opens another one."""
        own, self._own, self._socket = self._own, None, None
        if own is not None:
            with suppress(OSError):
                own.close()

    def __del__(self) -> None:
        self.close()

    def _connected(self, deadline: float) -> tuple[HTTPConnection, _Bounded]:
        if self._own is None or self._socket is None:
            from http.client import HTTPConnection, HTTPSConnection

            wait, address = _left(deadline), self._address
            if address.encrypted:
                self._trust = self._trust or _trust()
                self._own = HTTPSConnection(
                    address.host, address.port, timeout=wait, context=self._trust
                )
            else:
                self._own = HTTPConnection(address.host, address.port, timeout=wait)
            self._own.connect()
            self._socket = self._own.sock = _Bounded(self._own.sock, deadline)
        return self._own, self._socket

    def _answer(self, own: HTTPConnection) -> Answer:
        response = own.getresponse()
        length = response.length
        body = b"" if (length or 0) > MOST_BYTES else response.read(MOST_BYTES + 1)
        if (length or 0) > MOST_BYTES or len(body) > MOST_BYTES:
            raise Lost(f"its answer has more than {MOST_BYTES:,} bytes", sent=True, final=True)
        if length is not None and len(body) < length:
            raise Lost("its answer broke off", sent=True)
        response.read()  # the end of a body in chunks
        headers = {name.lower(): value for name, value in response.getheaders()}
        return Answer(response.status, headers, body)


class Connections(threading.local):
    """The connection of each thread."""

    def __init__(self, address: Address) -> None:
        self.own = Connection(address)


class _Bounded:
    """A socket whose reads and writes end before a time of the monotonic clock."""

    def __init__(self, own: Any, deadline: float) -> None:
        self._own, self.deadline = own, deadline

    def sendall(self, data: Any) -> None:
        self._own.settimeout(_left(self.deadline))
        self._own.sendall(data)

    def recv_into(self, buffer: Any) -> int:
        self._own.settimeout(_left(self.deadline))
        return int(self._own.recv_into(buffer))

    def makefile(self, mode: str) -> io.BufferedReader:
        return io.BufferedReader(_Reading(self))

    def close(self) -> None:
        self._own.close()


class _Reading(io.RawIOBase):
    """The bytes that arrive at a socket."""

    def __init__(self, own: _Bounded) -> None:
        super().__init__()
        self._own = own

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        return self._own.recv_into(buffer)


def _left(deadline: float) -> float:
    """Return the seconds until a time, at least some; a time that is over raises."""
    left = deadline - monotonic()
    if left <= 0:
        raise TimeoutError
    return left


def _trust() -> SSLContext:
    """Return whom to trust: what the system trusts, and the file in SSL_CERT_FILE."""
    from ssl import create_default_context

    return create_default_context()


def _is_certificate(error: OSError) -> bool:
    from ssl import SSLCertVerificationError

    return isinstance(error, SSLCertVerificationError)


def _said(error: Exception) -> str:
    """Say what went wrong, in a few words."""
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if isinstance(error, OSError) and _is_certificate(error):
        reason = getattr(error, "verify_message", "") or "it is not trusted"
        return f"its certificate is refused ({reason}; SSL_CERT_FILE names whom to trust)"
    return (getattr(error, "strerror", None) or str(error) or type(error).__name__).rstrip(".")
