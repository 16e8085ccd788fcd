"""Who is logged in, and that a form comes from a page of this server."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from partial_monitoring.service.http.body import read
from partial_monitoring.service.http.limits import check_origin
from partial_monitoring.service.http.tokens import (
    COOKIE,
    RANK,
    Token,
    check_form,
    form_token,
    text_of,
)
from partial_monitoring.service.page.forms import Form
from partial_monitoring.service.page.render import HEADERS, query

WEEK = 7 * 86400
"""Seconds after which a browser must log in again."""


class LoggedOut(Exception):
    """Nobody is logged in."""


@dataclass(frozen=True)
class User:
    """Who looks at a page."""

    token: Token
    text: bytes

    @property
    def label(self) -> str:
        """What the token is called."""
        return self.token.label or self.token.id

    @property
    def role(self) -> str:
        """What it may do."""
        return self.token.role

    @property
    def can_play(self) -> bool:
        """Whether it may ask and tell."""
        return RANK[self.role] >= RANK["play"]

    @property
    def can_change(self) -> bool:
        """Whether it may pause, change and create."""
        return RANK[self.role] >= RANK["admin"]

    @property
    def form_token(self) -> str:
        """What forms carry that other sites cannot know."""
        return form_token(self.text)

    def sees(self, study: str) -> bool:
        """Whether a study is one of those that the token is for."""
        return self.token.study in (None, study)


async def user_of(service: Any, request: Request, role: str, study: str | None) -> User:
    """Return who is logged in, if the token may do this; else ``LoggedOut`` or a ``Problem``."""
    text, _ = text_of(dict(request.scope["headers"]))
    token = service.tokens.known(text)
    if token is None and text and service.tokens.is_stale(text):
        await service.delivery.called(service.tokens.refresh)
        token = service.tokens.known(text)
    if token is None:
        raise LoggedOut
    service.rates.take(token.id)
    token.may(role, study)
    return User(token, text)


async def form_of(service: Any, request: Request, user: User | None) -> Form:
    """Return the form of a request, if it was sent by a page of this server."""
    headers = dict(request.scope["headers"])
    check_origin(request.method, headers)
    body = await read(request.receive, headers, service.limits.history)
    form = Form(body, request.headers.get("content-type", ""))
    if user is not None:
        check_form(user.text, form["form_token"].encode())
    return form


def to_login(request: Request) -> Response:
    """Send a browser to the login, and back again."""
    path = request.url.path
    back = path if request.method == "GET" and path != "/" else ""
    there = query(next=back)
    return RedirectResponse(f"/login?{there}" if there else "/login", 303, HEADERS)


def own_path(given: str) -> str:
    """Return an address of this server, the first one if it is another's.

    >>> own_path("/studies/a"), own_path("//evil.example"), own_path("https://evil.example")
    ('/studies/a', '/', '/')
    """
    plain = given.isascii() and given.isprintable() and "\\" not in given
    return given if plain and given.startswith("/") and not given.startswith("//") else "/"


def logged_in(request: Request, text: str, there: str) -> Response:
    """Give a browser its cookie: no script reads it, and no other site sends it."""
    answer = RedirectResponse(there, 303, HEADERS)
    answer.set_cookie(
        COOKIE,
        text,
        max_age=WEEK,
        path="/",
        secure=request.url.scheme == "https",
        httponly=True,
        samesite="strict",
    )
    return answer


def logged_out() -> Response:
    """Take the cookie back."""
    answer = RedirectResponse("/login", 303, HEADERS | {"Clear-Site-Data": '"cookies"'})
    answer.delete_cookie(COOKIE, path="/", httponly=True, samesite="strict")
    return answer
