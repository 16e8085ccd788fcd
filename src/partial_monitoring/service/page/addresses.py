"""Which address shows what."""

from __future__ import annotations

from typing import Any

from starlette.routing import Route

from partial_monitoring.service.page import acting, showing
from partial_monitoring.service.page.site import Handler, Site, shown


def routes(service: Any) -> list[Route]:
    """Return the addresses of the page of a service, and what they show."""
    site = Site(service)
    own = "/studies/{name}"
    table: list[tuple[str, str, str | None, Handler]] = [
        ("GET", "/static/{file}", None, showing.static),
        ("GET", "/login", None, showing.login),
        ("POST", "/login", None, showing.login),
        ("POST", "/logout", "read", showing.logout),
        ("GET", "/", "read", showing.index),
        ("GET", "/new", "admin", showing.new),
        ("POST", "/new", "admin", acting.create),
        ("POST", "/new/classify", "admin", showing.classify),
        ("GET", own, "read", showing.one),
        ("GET", f"{own}/chart", "read", showing.chart),
        ("GET", f"{own}/cells.svg", "read", showing.cells),
        ("GET", f"{own}/export", "read", showing.export),
        ("GET", f"{own}/decisions/{{decision}}", "read", showing.decision),
        ("GET", f"{own}/change", "admin", showing.change),
        ("GET", f"{own}/history", "play", showing.history),
        ("POST", f"{own}/history", "play", acting.history),
        ("POST", f"{own}/ask", "play", acting.ask),
        ("POST", f"{own}/tell", "play", acting.tell),
        ("GET", "/{path:path}", None, showing.missing),
        *((("POST", f"{own}/{verb}", "admin", act) for verb, act in acting.CHANGES.items())),
    ]
    return [Route(path, shown(site, role, act), methods=[way]) for way, path, role, act in table]
