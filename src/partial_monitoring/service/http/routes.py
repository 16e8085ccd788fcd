"""The paths of the interface: what answers them, and which role it takes."""

from __future__ import annotations

import re
from typing import Any, Final

from partial_monitoring.errors import brief, listed
from partial_monitoring.service.arguments import LONGEST_KEY, key_of, only
from partial_monitoring.service.http.answer import Answer, data
from partial_monitoring.service.http.body import an_object, read, rows_of
from partial_monitoring.service.http.call import Call, Handler, Route
from partial_monitoring.service.http.routes_admin import ADMIN
from partial_monitoring.service.http.routes_read import READS, summary_of
from partial_monitoring.service.problems import Problem
from partial_monitoring.service.study.hosted import SETTINGS

STUDY: Final = "/v1/studies/{study}"
PATCHED: Final = ("state", "settings", "reason")
TAG: Final = re.compile(r'(?:W/)?"([0-9]{1,18})(?:-[a-z_]+)?"')
"""The ETag of a study, which begins with its version."""
WARMING: Final = 3.0
"""Seconds that a new study may compile before the answer."""
STATES: Final = {"paused": "pause", "running": "resume"}


async def given(service: Any, call: Call) -> dict[str, Any]:
    """Return the object that the body of a request is, with the key of its header."""
    found = an_object(await read(call.receive, call.headers, service.limits.body), service.limits)
    return with_key(found, call)


def with_key(found: dict[str, Any], call: Call) -> dict[str, Any]:
    """Return the entries of a request, with the key of its header."""
    given = call.headers.get(b"idempotency-key")
    if given is None:
        return found
    key = given.decode("latin-1")
    if not 0 < len(key) <= LONGEST_KEY or not key.isascii() or not key.isprintable():
        said = f"Idempotency-Key must be a text of 1 to {LONGEST_KEY} letters"
        raise Problem(422, f"{said}; got {brief(key)}.")
    if found.setdefault("key", key) != key:
        raise Problem(422, f"key must be that of the header; got {brief(found['key'])}.")
    return found


def verb(name: str) -> Handler:
    """Return what answers a verb of a study."""

    async def handle(service: Any, call: Call) -> Answer:
        return data(await service.done(call, name, await given(service, call)))

    return handle


async def tell(service: Any, call: Call) -> Answer:
    """Take answers, and count what became of them."""
    found = await service.done(call, "tell", await given(service, call))
    service.metrics.told(found["answers"])
    return data(found)


async def history(service: Any, call: Call) -> Answer:
    """Take answers of a time before, as one object or a line for each."""
    body = await read(call.receive, call.headers, service.limits.history)
    rows = await service.delivery.called(
        rows_of, body, call.header(b"content-type"), service.limits
    )
    return data(await service.done(call, "history", with_key(rows, call)))


async def edit(service: Any, call: Call) -> Answer:
    """Let a study go on with another game or policy, if it is as the caller knows it."""
    found = await given(service, call)
    if b"if-match" in call.headers and (given_tag := call.header(b"if-match")) != "*":
        match = TAG.fullmatch(given_tag)
        if match is None:
            raise Problem(422, f"If-Match must be the ETag of a study; got {brief(given_tag)}.")
        found.setdefault("if_version", int(match[1]))
    return data(await service.done(call, "edit", found))


async def create(service: Any, call: Call) -> Answer:
    """Create a study, and compile what it needs."""
    found = await given(service, call)

    def created() -> Any:
        hosted = service.engine.create(found, call.actor)
        service.warmed(hosted, WARMING)
        return summary_of(hosted)

    made = await service.delivery.called(created, longer=True)
    return data(made, 201, {"location": f"/v1/studies/{found['name']}"})


async def patch(service: Any, call: Call) -> Answer:
    """Change the settings of a study, pause it or let it go on."""
    found = await given(service, call)
    more = {name: found.pop(name) for name in ("reason",) if found.get(name) is not None}
    key_of(found)
    found.pop("key", None)  # to do it twice changes nothing
    unknown = [name for name in found if name not in PATCHED]
    if unknown or not found:
        got = "nothing" if not found else listed(unknown)
        raise Problem(
            422, f"the body must have state or settings, and may have a reason; got {got}."
        )
    state = found.get("state")
    if state is not None and (not isinstance(state, str) or state not in STATES):
        raise Problem(422, f"state must be running or paused; got {brief(state)}.")
    if found.get("settings") is not None:
        only("settings", found["settings"], tuple(SETTINGS))
        await service.done(call, "settings", found["settings"] | more)
    if state is not None:
        await service.done(call, STATES[state], more)
    hosted = service.engine.hosted(call.study)
    return data(await service.delivery.called(summary_of, hosted))


ROUTES: Final[tuple[Route, ...]] = (
    Route("POST", f"{STUDY}/ask", "play", "ask", verb("ask")),
    Route("POST", f"{STUDY}/tell", "play", "tell", tell),
    Route("POST", f"{STUDY}/activate", "play", "activate", verb("activate")),
    Route("POST", f"{STUDY}/cancel", "play", "cancel", verb("cancel")),
    Route("POST", f"{STUDY}/history", "play", "history", history),
    Route("POST", f"{STUDY}/void", "admin", "void", verb("void")),
    Route("POST", f"{STUDY}/amend", "admin", "amend", verb("amend")),
    Route("POST", f"{STUDY}/edit", "admin", "edit", edit),
    Route("POST", f"{STUDY}/reset", "admin", "reset", verb("reset")),
    Route("POST", f"{STUDY}/clear", "admin", "clear", verb("clear")),
    Route("PATCH", STUDY, "admin", "patch", patch),
    Route("POST", "/v1/studies", "admin", "create", create),
    *READS,
    *ADMIN,
)
"""All of them."""
