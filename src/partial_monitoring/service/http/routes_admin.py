"""Tokens, a copy of the database, health, metrics, and the description of the interface."""

from __future__ import annotations

import os
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Final

from partial_monitoring.errors import brief, listed
from partial_monitoring.service.http.answer import DATA, NO_STORE, Answer, data, page
from partial_monitoring.service.http.body import an_object, read
from partial_monitoring.service.http.call import Call, Route
from partial_monitoring.service.http.openapi_page import CSS, described, html
from partial_monitoring.service.http.routes_read import content_tag, tagged
from partial_monitoring.service.problems import Problem, later

CHUNK: Final = 256 * 1024

TOKEN: Final = ("role", "study", "label", "expires_at")


async def tokens(service: Any, call: Call) -> Answer:
    """List all tokens, without their secrets."""
    call.query({})
    found = await service.delivery.called(service.tokens.list)
    return data({"tokens": [own.public() for own in found]})


async def new_token(service: Any, call: Call) -> Answer:
    """Create a token, whose secret is shown this once."""
    given = an_object(await read(call.receive, call.headers, service.limits.body), service.limits)
    if unknown := [name for name in given if name not in TOKEN]:
        raise Problem(
            422, f"the body must have role, study, label, expires_at; got {listed(unknown)}."
        )
    for name, kinds in (("study", str), ("label", str), ("expires_at", (int, float))):
        if name in given and (not isinstance(given[name], kinds) or given[name] is True):
            what = "a text" if kinds is str else "a number"
            raise Problem(422, f"{name} must be {what}; got {brief(given[name])}.")
    role = given.pop("role", None)
    token, text = await service.delivery.called(lambda: service.tokens.create(role, **given))
    return data({**token.public(), "token": text}, 201)


async def revoke(service: Any, call: Call) -> Answer:
    """Let a token count no longer."""
    found = await service.delivery.called(service.tokens.revoke, call.item)
    return data(found.public())


async def backup(service: Any, call: Call) -> Answer:
    """Send a copy of the file of the database as it is now."""
    await read(call.receive, call.headers, service.limits.body)

    def copied() -> int:
        with tempfile.TemporaryDirectory(prefix="pm-backup-") as folder:
            path = Path(folder) / "copy.db"
            service.database.back_up(path)
            return os.open(path, os.O_RDONLY)  # nobody else can open what has no name any more

    if service.database.handle.dialect != "sqlite":
        raise Problem(409, "only a file can be sent; copy a PostgreSQL database with pg_dump.")
    held = await service.delivery.called(copied)
    headers = [
        (b"content-type", b"application/vnd.sqlite3"),
        (b"content-disposition", b'attachment; filename="partial-monitoring.db"'),
        (b"content-length", b"%d" % os.fstat(held).st_size),
        *DATA[1:],
        NO_STORE,
    ]
    return Answer(b"", headers, parts=_file(service, held))


async def _file(service: Any, held: int) -> AsyncIterator[bytes]:
    try:
        while part := await service.delivery.called(os.read, held, CHUNK):
            yield part
    finally:
        os.close(held)


async def live(service: Any, call: Call) -> Answer:
    """Say that the process answers."""
    return data({"status": "live"})


async def ready(service: Any, call: Call) -> Answer:
    """Say whether requests may come."""
    if why := service.why_not_ready:
        raise later(why)
    return data({"status": "ready"})


async def metrics(service: Any, call: Call) -> Answer:
    """Show the numbers of the process and of its studies, as Prometheus reads them."""
    call.query({})
    text = await service.delivery.called(service.metrics.text)
    kind = b"text/plain; version=0.0.4; charset=utf-8"
    return Answer(text.encode(), [(b"content-type", kind), *DATA[1:], NO_STORE])


async def openapi(service: Any, call: Call) -> Answer:
    """Show the description of the interface."""
    body = described()
    return tagged(call, body, content_tag(body))


async def api(service: Any, call: Call) -> Answer:
    """Show the same for people."""
    return page(html())


async def style(service: Any, call: Call) -> Answer:
    """Show what that page looks like."""
    return page(CSS, "text/css")


ADMIN: Final[tuple[Route, ...]] = (
    Route("GET", "/v1/tokens", "admin", "tokens", tokens),
    Route("POST", "/v1/tokens", "admin", "new_token", new_token),
    Route("DELETE", "/v1/tokens/{token}", "admin", "revoke", revoke),
    Route("POST", "/v1/backup", "admin", "backup", backup),
    Route("GET", "/health/live", None, "live", live),
    Route("GET", "/health/ready", None, "ready", ready),
    Route("GET", "/metrics", "read", "metrics", metrics),
    Route("GET", "/openapi.json", None, "openapi", openapi),
    Route("GET", "/api", None, "api", api),
    Route("GET", "/api/style.css", None, "style", style),
)
