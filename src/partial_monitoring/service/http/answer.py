"""What a request is answered with."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from http import HTTPStatus
from typing import Any, Final

import orjson

from partial_monitoring.service.problems import Problem

Headers = list[tuple[bytes, bytes]]

POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
"""What pages may load: what this server has, and nothing inline."""

SECURITY: Final[Headers] = [
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
]
"""Headers of every page."""

NO_STORE: Final = (b"cache-control", b"no-store")
PRIVATE: Final = (b"cache-control", b"private, no-cache")

DATA: Final[Headers] = [
    (b"content-type", b"application/json"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"x-content-type-options", b"nosniff"),
]
"""Headers of data, which is no page."""

FRESH: Final[Headers] = [*DATA, NO_STORE]
PROBLEM: Final[Headers] = [(b"content-type", b"application/problem+json"), *DATA[1:], NO_STORE]

NUMBERS: Final = orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS


class Answer:
    """A status, headers and a body, which may come in parts."""

    __slots__ = ("body", "headers", "parts", "status")

    def __init__(
        self,
        body: bytes,
        headers: Headers,
        status: int = 200,
        parts: AsyncIterator[bytes] | None = None,
    ) -> None:
        self.body, self.headers, self.status, self.parts = body, headers, status, parts


def data(found: Any, status: int = 200, more: Mapping[str, str] | None = None) -> Answer:
    """Return an answer in JSON."""
    headers = FRESH if more is None else [*FRESH, *_encoded(more)]
    return Answer(orjson.dumps(found, option=NUMBERS), headers, status)


def page(text: str, kind: str = "text/html") -> Answer:
    """Return a page, or a part of one."""
    start = (b"content-type", f"{kind}; charset=utf-8".encode())
    return Answer(text.encode(), [start, *SECURITY, PRIVATE])


def refusal(problem: Problem) -> Answer:
    """Return the answer to a request that is refused."""
    status = HTTPStatus(problem.status)
    found = {
        "type": "about:blank",
        "title": status.phrase,
        "status": problem.status,
        "detail": problem.detail,
    }
    headers = [*PROBLEM, *_encoded(problem.headers)]
    return Answer(orjson.dumps(found), headers, problem.status)


def _encoded(headers: Mapping[str, str]) -> Headers:
    return [(name.lower().encode(), own.encode("latin-1")) for name, own in headers.items()]
