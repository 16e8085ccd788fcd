"""The page, if there is one; see ``page``."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any


def page_of(service: Any) -> Any:
    """Return the application that answers all that is not of the interface."""
    from starlette.applications import Starlette
    from starlette.exceptions import HTTPException
    from starlette.requests import Request
    from starlette.responses import Response

    async def refused(request: Request, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else 500
        from partial_monitoring.service.app_answer import refusal
        from partial_monitoring.service.problems import Problem

        answer = refusal(Problem(status, f"there is no page {request.url.path[:60]!r}; see /api."))
        return Response(answer.body, status, media_type="application/problem+json")

    name = "partial_monitoring.service.page"
    found = import_module(name) if find_spec(name) is not None else None
    routes = getattr(found, "routes", None)
    own = Starlette(
        routes=[] if routes is None else routes(service),
        exception_handlers={HTTPException: refused, 404: refused},
    )
    own.state.service = service
    return own
