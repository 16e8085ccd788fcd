"""The application: every request passes here, is checked, answered and counted.

Host, route, origin, token, rate, role: in this order, before anything is read of a body. The paths
of the interface are found in a table, for which a request needs no more than two look-ups; all
others belong to the page, which is a Starlette application of its own.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from time import perf_counter
from typing import Any

from partial_monitoring.errors import brief, visible
from partial_monitoring.service.http.answer import SECURITY, Answer, refusal
from partial_monitoring.service.http.body import Gone, Receive
from partial_monitoring.service.http.call import Call, Route, Scope
from partial_monitoring.service.http.delivery import Delivery, result
from partial_monitoring.service.http.limits import (
    ARCHIVED,
    SAFE,
    Buckets,
    Hosts,
    Limits,
    check_origin,
)
from partial_monitoring.service.http.metrics import Metrics
from partial_monitoring.service.http.routes import ROUTES
from partial_monitoring.service.http.tokens import Token, Tokens, check_form, text_of
from partial_monitoring.service.http.warm import warm
from partial_monitoring.service.problems import Problem, problem_of

Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

FORM: bytes = b"x-form-token"
"""Where a script of the page says that it is one, see ``tokens.form_token``."""

HEAVY = frozenset({"amend", "void", "edit", "history"})
"""Verbs that may take as long as to learn everything again."""

access = logging.getLogger("partial_monitoring.access")


class Service:
    """What those who answer requests use."""

    def __init__(
        self, engine: Any, tokens: Tokens, limits: Limits, hosts: Hosts, database: Any
    ) -> None:
        self.engine, self.tokens, self.limits, self.hosts = engine, tokens, limits, hosts
        self.database = database
        self.metrics = Metrics(engine)
        self.delivery = Delivery(limits.answer, limits.reading, self.metrics.batched)
        self.rates, self.failures = Buckets(limits.rate), Buckets(limits.failures)
        self._warming = ThreadPoolExecutor(1, "pm warming")
        self.begun, self.warm, self.stopping = False, True, False

    def begin(self) -> None:
        """Answer in the loop that runs."""
        self.begun = True
        self.engine.timed = self.metrics.committed
        self.delivery.begin(self.engine)

    @property
    def why_not_ready(self) -> str:
        """Why no requests should come; "" if they may."""
        if self.stopping:
            return "the server is stopping."
        if not self.warm:
            return "the studies are being loaded."
        return "" if self.engine.ready else str(self.engine.why_not or "the engine is not ready.")

    async def done(self, call: Call, verb: str, given: dict[str, Any]) -> Any:
        """Return the result of a verb of the study of a request."""
        found = self.engine.submit(call.study, verb, given, call.actor)
        if verb in HEAVY:
            self.delivery.prolong(found)
        return result(await found)

    async def study(self, call: Call) -> Any:
        """Return the study of a request, which is read if it is not in use."""
        found = self.engine.studies.get(call.study)
        return found or await self.delivery.called(self.engine.hosted, call.study)

    def warmed(self, hosted: Any, seconds: float | None = None) -> None:
        """Compile what a study needs to decide, so that nobody waits for it; go on meanwhile."""
        with suppress(TimeoutError):
            self._warming.submit(warm, hosted).result(seconds)

    def close(self) -> None:
        """Begin nothing any more."""
        self.stopping = True
        self.delivery.close()
        self._warming.shutdown(wait=False, cancel_futures=True)

    async def identified(self, text: bytes, client: str) -> Token:
        """Return the token of a text, or refuse."""
        found = self.tokens.known(text)
        if found is None and self.tokens.is_stale(text):
            await self.delivery.called(self.tokens.refresh)
            found = self.tokens.known(text)
        if found is None:
            self.failures.take(client)
            said = (
                "the token is not valid."
                if text
                else "a token is needed: Authorization: Bearer pm_..."
            )
            raise Problem(401, said, WWW_Authenticate="Bearer")
        return found


class Application:
    """The ASGI application."""

    def __init__(self, service: Service, page: Any, *, access_log: bool = False) -> None:
        self.service, self._page, self._logs = service, page, access_log
        self._routes = table(ROUTES)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._live(scope, receive, send)
            return
        if not self.service.begun:
            self.service.begin()
        began, call = perf_counter(), Call(scope, receive)
        try:
            answer = await self._answered(call, send)
        except Gone:
            return
        except Problem as problem:
            answer = refusal(problem)
        except Exception as error:
            answer = refusal(problem_of(error))
        if isinstance(answer, Answer):
            await _sent(answer, call, send)
            status, other = answer.status, "none"
        else:
            status, other = answer, "page"
        verb, seconds = call.route.verb if call.route else other, perf_counter() - began
        self.service.metrics.counted(verb, status, seconds)
        if self._logs:
            self._log(call, status, seconds)

    async def _answered(self, call: Call, send: Send) -> Answer | int:
        """Return the answer, or the status with which the page has answered."""
        service, scope, headers = self.service, call.scope, call.headers
        service.hosts.check(headers.get(b"host", b""))
        method = scope["method"]
        route = self._route(method, scope["path"], call)
        if route is None:
            return await self._paged(call, send)
        call.route = route
        if method not in SAFE:
            check_origin(method, headers)
        if route.role is not None:
            text, in_cookie = text_of(headers)
            token = service.tokens.known(text)
            if token is None:
                token = await service.identified(text, client_of(scope))
            if in_cookie and method not in SAFE:
                check_form(text, headers.get(FORM))
            call.token = token
            service.rates.take(token.id)
            token.may(route.role, token.study if route.scoped else call.study)
        return await route.handle(service, call)

    def _route(self, method: str, path: str, call: Call) -> Route | None:
        """Return the route of a path; None if the page may have it."""
        parts = path.split("/")
        count = len(parts)
        if count > 3 and parts[1] == "v1":
            if parts[2] == "studies":
                call.study, parts[3] = parts[3], "*"
                if count > 5:
                    call.item, parts[5] = parts[5], "*"
            elif count == 4:
                call.item, parts[3] = parts[3], "*"
        methods = self._routes.get("/".join(parts))
        if methods is None:
            if parts[1] in ("v1", "health"):
                raise Problem(404, f"there is no path {brief(path)}; see /api.")
            return None
        found = methods.get("GET" if method == "HEAD" else method)
        if found is None:
            allowed = ", ".join([*methods, *(["HEAD"] if "GET" in methods else [])])
            raise Problem(405, f"{path[:60]} takes {allowed}.", Allow=allowed)
        if call.study is not None and ARCHIVED.fullmatch(call.study) is None:
            raise Problem(404, f"there is no study {brief(call.study)}.")
        return found

    async def _paged(self, call: Call, send: Send) -> int:
        """Let the page answer, with headers that let it load nothing from elsewhere."""
        status = 0

        async def secured(message: MutableMapping[str, Any]) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status, own = message["status"], list(message.get("headers", []))
                has = {name.lower() for name, _ in own}
                message["headers"] = own + [pair for pair in SECURITY if pair[0] not in has]
            await send(message)

        try:
            await self._page(call.scope, call.receive, secured)
        except Exception as error:
            if not status:
                raise
            problem_of(error)  # it is logged; the answer has begun
        return status

    async def _live(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Begin, and say so."""
        while scope["type"] == "lifespan":
            message = await receive()
            if message["type"] == "lifespan.startup" and not self.service.begun:
                self.service.begin()
            await send({"type": f"{message['type']}.complete"})
            if message["type"] == "lifespan.shutdown":
                return

    def _log(self, call: Call, status: int, seconds: float) -> None:
        """Write a line without a query, a header or a body: neither secrets nor what was told."""
        scope = call.scope
        path = visible(scope["path"][:200])
        who, ms = call.actor or "-", 1000 * seconds
        access.info(
            "%s %s %s %s %d %.1f ms", client_of(scope), who, scope["method"], path, status, ms
        )


async def _sent(answer: Answer, call: Call, send: Send) -> None:
    length, parts = len(answer.body), answer.parts
    if parts is not None:
        start = {"type": "http.response.start", "status": answer.status, "headers": answer.headers}
        await send(start)
        async for part in parts:
            await send({"type": "http.response.body", "body": part, "more_body": True})
        await send({"type": "http.response.body", "body": b""})
        return
    headers, has_body = answer.headers, answer.status != 304 and call.scope["method"] != "HEAD"
    if has_body and call.write is not None and call.write(answer):
        return
    if answer.status != 304:
        headers = [(b"content-length", b"%d" % length), *headers]
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": answer.body})


def client_of(scope: Scope) -> str:
    """Return the address of a caller."""
    client = scope.get("client")
    return str(client[0]) if client else "-"


def table(routes: Iterable[Route]) -> dict[str, dict[str, Route]]:
    """Return routes by their paths, with stars for parameters, and methods."""
    found: dict[str, dict[str, Route]] = {}
    for route in routes:
        found.setdefault("/" + "/".join(route.parts), {})[route.method] = route
    return found


def application(
    engine: Any,
    tokens: Tokens,
    limits: Limits | None = None,
    *,
    hosts: Hosts | None = None,
    page: Callable[[Service], Any],
    database: Any = None,
    access_log: bool = False,
) -> Application:
    """Return the application of an engine.

    Parameters
    ----------
    engine, tokens
        What is served, and to whom.
    limits, hosts
        What callers may use, and the names of the server.
    page
        Makes the application that answers all other paths.
    database
        That of the engine, unless given.
    access_log
        Whether every request is logged.
    """
    found = engine.database if database is None else database
    service = Service(engine, tokens, limits or Limits(), hosts or Hosts(), found)
    return Application(service, page(service), access_log=access_log)
