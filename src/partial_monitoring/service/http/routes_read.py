"""What can be read of studies; see ``views`` for what it is."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from hashlib import blake2b
from importlib import import_module
from typing import Any, Final

import orjson

from partial_monitoring.service.http.answer import DATA, NUMBERS, PRIVATE, Answer, data
from partial_monitoring.service.http.call import (
    Call,
    Handler,
    Reader,
    Route,
    a_flag,
    a_time,
    a_whole,
    a_word,
    one_of,
)
from partial_monitoring.service.problems import Problem

STUDY: Final = "/v1/studies/{study}"
MOST: Final = 1_000
"""Largest number of rows of a list that are read at once."""

FORMATS: Final = {
    "ndjson": "application/x-ndjson",
    "csv": "text/csv; charset=utf-8",
    "parquet": "application/vnd.apache.parquet",
}

SOUGHT: Final[dict[str, Reader]] = {
    **{"before": a_whole(2**62), "open": a_flag, "action": a_word, "since": a_time},
    **{"until": a_time, "state": one_of("open", "answered", "late", "lapsed", "cancelled")},
}
"""Which decisions are listed."""

PAGE: Final[dict[str, Reader]] = {"after": a_whole(2**62), "limit": a_whole(MOST, 1)}


def view(name: str) -> Callable[..., Any]:
    """Return what reads something of a study; loaded when it is used."""
    found: Callable[..., Any] = getattr(import_module("partial_monitoring.service.views"), name)
    return found


def summary_of(hosted: Any) -> Any:
    """Return what a study is, as plain data."""
    return view("summary")(hosted)


def is_known(call: Call, etag: bytes) -> bool:
    """Whether the caller has what is there already."""
    given = call.headers.get(b"if-none-match")
    if given is None:
        return False
    names = [own.strip().removeprefix(b"W/") for own in given.split(b",")]
    return etag in names


def tagged(call: Call, body: bytes, etag: bytes) -> Answer:
    """Return data under a name, or that the caller has it already."""
    if is_known(call, etag):
        return unchanged(etag)
    return Answer(body, [*DATA, (b"etag", etag), PRIVATE])


def unchanged(etag: bytes) -> Answer:
    """Return that nothing has changed."""
    return Answer(b"", [*DATA[1:], (b"etag", etag), PRIVATE], 304)


def of_study(name: str, known: Mapping[str, Reader], by_content: bool = False) -> Handler:
    """Return what answers with a view of a study.

    What follows from the log alone has not changed if the log has not; other views are compared.
    """

    async def handle(service: Any, call: Call) -> Answer:
        query = call.query(known)
        hosted = await service.study(call)
        etag = f'"{hosted.version}-{name}"'.encode()
        if not by_content and is_known(call, etag):
            return unchanged(etag)
        named = (call.item,) if "*" in _last(call) else ()
        body = await service.delivery.called(lambda: dumped(view(name)(hosted, *named, **query)))
        return tagged(call, body, content_tag(body) if by_content else etag)

    return handle


def _last(call: Call) -> tuple[str, ...]:
    return () if call.route is None else call.route.parts[3:]


def dumped(found: Any) -> bytes:
    """Return plain data as JSON."""
    return orjson.dumps(found, option=NUMBERS)


def content_tag(body: bytes) -> bytes:
    """Return a name of what a body says."""
    return f'"{blake2b(body, digest_size=12).hexdigest()}"'.encode()


async def studies(service: Any, call: Call) -> Answer:
    """List the studies that a caller may read."""
    query = call.query(PAGE | {"archived": a_flag})
    scope = None if call.token is None else call.token.study

    def listed() -> bytes:
        names = service.engine.names() if scope is None else [scope]
        if not query.get("archived", False):
            names = [name for name in names if "~" not in name]
        first = query.get("after", 0)
        chosen = names[first : first + query.get("limit", MOST)]
        return dumped({"studies": [row for name in chosen if (row := _row(service, name))]})

    body = await service.delivery.called(listed)
    return tagged(call, body, content_tag(body))


def _row(service: Any, name: str) -> Any:
    """Return the summary of a study, or why there is none."""
    try:
        return summary_of(service.engine.hosted(name))
    except Problem as problem:
        if problem.status == 404:
            return None
        return {"name": name, "state": "quarantined", "detail": problem.detail}


async def export(service: Any, call: Call) -> Answer:
    """Send all decisions or events of a study, as they are read."""
    known = {"what": one_of("decisions", "events"), "format": one_of(*FORMATS)}
    query = {"what": "decisions", "format": "ndjson"} | call.query(known)
    hosted = await service.study(call)
    parts: Iterator[bytes] = await service.delivery.called(
        lambda: iter(view("export")(hosted, query["what"], query["format"]))
    )
    first = await service.delivery.called(next, parts, b"")  # what is refused is refused now
    kind, name = FORMATS[query["format"]], f"{call.study}-{query['what']}.{query['format']}"
    headers = [
        (b"content-type", kind.encode()),
        (b"content-disposition", f'attachment; filename="{name}"'.encode()),
        *DATA[1:],
        PRIVATE,
    ]
    return Answer(b"", headers, parts=_streamed(service, first, parts))


async def _streamed(service: Any, first: bytes, rest: Iterator[bytes]) -> AsyncIterator[bytes]:
    part = first
    while part:
        yield part
        part = await service.delivery.called(next, rest, b"")


async def off_policy(service: Any, call: Call) -> Answer:
    """Estimate what an action or a policy would have earned."""
    query = call.query({"action": a_word, "policy": a_word, "events": a_whole(200_000, 1)})
    if ("action" in query) == ("policy" in query):
        raise Problem(422, "the query must have either action or policy.")
    hosted = await service.study(call)
    found = await service.delivery.called(
        lambda: view("off_policy")(hosted, **query), longer="events" in query
    )
    return data(found)


def _read(name: str, **known: Reader) -> Route:
    return Route("GET", f"{STUDY}/{name}", "read", name, of_study(name, known))


READS: Final[tuple[Route, ...]] = (
    Route("GET", "/v1/studies", "read", "studies", studies, scoped=True),
    Route("GET", STUDY, "read", "summary", of_study("summary", {}, by_content=True)),
    Route(
        "GET",
        f"{STUDY}/decisions",
        "read",
        "decisions",
        of_study("decisions", {**PAGE, **SOUGHT}),
    ),
    Route("GET", f"{STUDY}/decisions/{{decision}}", "read", "decision", of_study("decision", {})),
    Route("GET", f"{STUDY}/decisions/{{decision}}/why", "read", "why", of_study("why", {})),
    _read("status", context=a_word),
    _read("estimate", context=a_word),
    Route("GET", f"{STUDY}/trace", "read", "trace", of_study("trace", {}, by_content=True)),
    _read("events", **PAGE),
    Route("GET", f"{STUDY}/alarms", "read", "alarms", of_study("alarms", {}, by_content=True)),
    _read("analysis"),
    _read("advice"),
    _read("regret"),
    _read("spec"),
    Route("GET", f"{STUDY}/off-policy", "read", "off_policy", off_policy),
    Route("GET", f"{STUDY}/export", "read", "export", export),
)
