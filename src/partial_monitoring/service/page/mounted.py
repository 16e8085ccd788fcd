"""The page, as one application; see ``page``."""

from __future__ import annotations

from typing import Any


def page_of(service: Any) -> Any:
    """Return the application that answers all that is not of the interface."""
    from starlette.applications import Starlette
    from starlette.exceptions import HTTPException
    from starlette.requests import Request
    from starlette.responses import Response

    from partial_monitoring.service.http.answer import refusal
    from partial_monitoring.service.page import routes
    from partial_monitoring.service.problems import Problem

    async def refused(request: Request, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else 500
        path = request.url.path[:60]
        said = f"{path!r} takes no {request.method}." if status == 405 else f"there is no {path!r}."
        answer = refusal(Problem(status, said))
        return Response(answer.body, status, media_type="application/problem+json")

    return Starlette(routes=routes(service), exception_handlers={HTTPException: refused})
