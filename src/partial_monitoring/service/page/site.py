"""What all pages share: who looks, what is refused, and the sentences after something was done."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import wraps
from time import time
from typing import Any, TypeVar

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from partial_monitoring.service.http.body import Gone
from partial_monitoring.service.page import forms, render
from partial_monitoring.service.page.guard import LoggedOut, User, to_login, user_of
from partial_monitoring.service.page.render import HEADERS
from partial_monitoring.service.problems import Problem, later, problem_of

T = TypeVar("T")

Handler = Callable[["Site", Request], Awaitable[Response]]

PATIENCE = 2.0
"""Seconds after which a page is shown without what is still being computed."""

MOST_WHYS = 32
"""Largest number of decisions that are computed again, or wait for it."""

DONE = {
    "created": "The study is there. Ask for a first decision below.",
    "asked": "Decided. Do it, and tell what it showed.",
    "told": "Told; what is known has been updated.",
    "waits": "Told; it counts when its window ends.",
    "late": "Noted as late.",
    "closed": "Closed without an answer; nothing was learned from it.",
    "duplicate": "That was told before.",
    "cancelled": "Cancelled: as if it had not been asked for.",
    "paused": "Paused: answers are still taken, decisions are not made.",
    "resumed": "Running again.",
    "amended": "Corrected.",
    "voided": "Voided.",
    "edited": "The study goes on with what was changed.",
    "reset": "What was learned is forgotten; the log stays.",
    "settings": "The settings are saved.",
    "history": "The rows were added.",
    "cleared": "The alarm is cleared; it comes again if the evidence grows by as much again.",
}
"""What was done, in a sentence; addresses carry only the word."""


class Site:
    """What the pages use.

    Parameters
    ----------
    service
        The engine, the tokens and the limits.
    """

    def __init__(self, service: Any) -> None:
        self.service = service
        self._thread = ThreadPoolExecutor(1, "pm page")
        self._whys: dict[tuple[Any, ...], Future[Any]] = {}
        self.place = place_of(getattr(service, "database", None))

    @property
    def engine(self) -> Any:
        """The studies."""
        return self.service.engine

    async def called(self, call: Callable[..., Any], *given: Any) -> Any:
        """Return the result of a function that takes a while."""
        return await self.service.delivery.called(call, *given)

    async def whys(self, key: tuple[Any, ...], call: Callable[[], T]) -> T | None:
        """Return the result of something that may take long, or None if it is not there yet.

        It goes on meanwhile, once however often it is asked for, and no faster than one at a time.
        """
        running = self._whys.get(key)
        if running is None:
            if len(self._whys) >= MOST_WHYS:
                done = [own for own, future in self._whys.items() if future.done()]
                if not done:
                    raise later("too many decisions are being computed again.")
                self._whys.pop(done[0])
            running = self._whys[key] = self._thread.submit(call)
        waiting = asyncio.wrap_future(running)
        try:
            return await asyncio.wait_for(asyncio.shield(waiting), PATIENCE)
        except TimeoutError:
            return None
        finally:
            if running.done():
                self._whys.pop(key, None)

    async def hosted(self, name: str) -> Any:
        """Return a study."""
        known = self.engine.studies.get(name)
        return known if known is not None else await self.called(self.engine.hosted, name)

    async def submitted(self, name: str, verb: str, given: dict[str, Any], user: User) -> Any:
        """Return the result of a verb, or raise what it is refused with."""
        found = await self.engine.submit(name, verb, given, user.token.id)
        if isinstance(found, Problem):
            raise found
        return found

    def page(
        self, template: str, request: Request, user: User | None, status: int = 200, **known: Any
    ) -> Response:
        """Return a page, with what all of them show."""
        done = DONE.get(request.query_params.get("done", ""), "")
        shared = {"user": user, "place": self.place, "done": done, "now": self.now}
        shared["origin"] = f"{request.url.scheme}://{request.url.netloc}"
        return render.page(template, status, **(shared | known))

    @property
    def now(self) -> float:
        """The time."""
        return time()


def shown(site: Site, role: str | None, handler: Handler) -> Callable[..., Any]:
    """Return a handler that sends to the login who is not logged in, and shows what is refused."""

    @wraps(handler)
    async def handle(request: Request) -> Response:
        request.state.user = None
        try:
            if role is not None:
                name = request.path_params.get("name")
                request.state.user = await user_of(site.service, request, role, name)
            return await handler(site, request)
        except (HTTPException, Gone):
            raise
        except LoggedOut:
            return to_login(request)
        except Exception as error:
            problem = problem_of(error)
            known = {"title": problem.title, "detail": forms.capital(problem.detail)}
            user = request.state.user
            if request.headers.get("sec-fetch-dest") == "empty":  # a script asks
                return Response(problem.detail, problem.status, HEADERS, "text/plain")
            return site.page("message", request, user, problem.status, **known)

    return handle


def place_of(database: Any) -> str:
    """Return where studies are, in a word that has no secret: the name of a file or database."""
    address = str(getattr(database, "address", ""))
    return address.rpartition("/")[2].partition("?")[0]
