"""Pages that are looked at: the list, a study, a decision, and where things are typed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from hashlib import sha256
from typing import Any

import orjson
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response, StreamingResponse

from partial_monitoring import policies
from partial_monitoring.errors import PartialMonitoringError
from partial_monitoring.service import views
from partial_monitoring.service.http.routes_read import FORMATS, view
from partial_monitoring.service.page import forms, gaming, render, rows, study
from partial_monitoring.service.page.forms import Again
from partial_monitoring.service.page.guard import User, form_of, logged_in, logged_out, own_path
from partial_monitoring.service.page.render import HEADERS
from partial_monitoring.service.page.site import Site
from partial_monitoring.service.problems import Problem, problem_of
from partial_monitoring.service.words import in_words

MOST_STUDIES = 200
"""Largest number of studies in the list."""

LARGEST_TABLE = 20
"""Largest number of rows and columns of a new table without a script."""


# -- coming and going --------------------------------------------------------------------------


async def login(site: Site, request: Request) -> Response:
    """Take a token, and give a cookie."""
    there = own_path(request.query_params.get("next", "/"))
    if request.method == "GET":
        return site.page("login", request, None, next=there)
    form = await form_of(site.service, request, None)
    there = own_path(form["next"] or "/")
    text = form.text("token")
    try:
        client = request.client.host if request.client else "-"
        await site.service.identified(text.encode(), client)
    except Problem as problem:
        said = forms.capital(problem.detail)
        return site.page("login", request, None, problem.status, next=there, problem=said)
    return logged_in(request, text, there)


async def logout(site: Site, request: Request) -> Response:
    """Take the cookie back."""
    await form_of(site.service, request, request.state.user)
    return logged_out()


# -- lists and studies -------------------------------------------------------------------------


async def index(site: Site, request: Request) -> Response:
    """Show all studies that the token is for."""
    user: User = request.state.user
    known = await site.called(_listed, site, user)
    return await _followed(site, request, known.pop("tag"), ("studies_live",), "studies", known)


def _listed(site: Site, user: User) -> dict[str, Any]:
    """Return a row for every study."""
    names = [name for name in site.engine.names() if user.sees(name) and "~" not in name]
    rows: list[dict[str, Any]] = []
    versions: list[Any] = []
    for name in names[:MOST_STUDIES]:
        try:
            hosted = site.engine.hosted(name)
            rows.append(study.row_of(views.summary(hosted)))
            versions.append((name, hosted.version, hosted.state))
        except (Problem, PartialMonitoringError) as error:
            problem = problem_of(error).detail
            rows.append({"name": name, "path": "", "problem": problem})
            versions.append((name, problem))
    more = len(names) - len(rows)
    return {"studies": rows, "more": more, "tag": versions}


async def one(site: Site, request: Request) -> Response:
    """Show a study."""
    name = request.path_params["name"]
    if name == "new" and name not in await site.called(site.engine.names):
        return RedirectResponse("/new", 303, HEADERS)
    hosted = await site.hosted(name)
    asked = dict(request.query_params)
    parts = ("study_top", "study_now", "study_latest")
    tag = [hosted.name, study.version(hosted), sorted(asked.items())]
    if _unchanged(request, tag):
        return _answered(request, tag, "")
    known = {"study": await site.called(study.full, hosted, asked)}
    return await _followed(site, request, tag, parts, "study", known)


async def _followed(
    site: Site, request: Request, tag: Any, parts: tuple[str, ...], whole: str, known: Any
) -> Response:
    """Return a page, or those of its parts that a script replaces, unless it has them."""
    user: User = request.state.user
    if not request.query_params.get("live"):
        return site.page(whole, request, user, **known)
    if _unchanged(request, tag):
        return _answered(request, tag, "")
    shared = {"user": user, "now": site.now}
    text = "".join(render.text_of(part, **(shared | known)) for part in parts)
    return _answered(request, tag, text)


def _tagged(request: Request, tag: Any) -> str:
    """Return the tag of what a user sees."""
    seen = repr((tag, request.state.user.token.id, request.state.user.role))
    return f'"{sha256(seen.encode()).hexdigest()[:24]}"'


def _unchanged(request: Request, tag: Any) -> bool:
    """Whether a script has already what it asks for."""
    given = request.headers.get("if-none-match")
    return given is not None and given == _tagged(request, tag)


def _answered(
    request: Request, tag: Any, content: str | bytes, kind: str = "text/html"
) -> Response:
    """Return something that a script follows, or that it has not changed."""
    headers = HEADERS | {"ETag": _tagged(request, tag)}
    if _unchanged(request, tag):
        return Response(None, 304, headers)
    return Response(content, 200, headers, kind)


async def chart(site: Site, request: Request) -> Response:
    """Return the numbers of the charts of a study."""
    hosted = await site.hosted(request.path_params["name"])
    found = await site.called(study.chart, hosted)
    tag = [hosted.name, study.version(hosted)]
    return _answered(request, tag, orjson.dumps(found), "application/json")


async def cells(site: Site, request: Request) -> Response:
    """Return the picture of the cells of a game."""
    hosted = await site.hosted(request.path_params["name"])
    drawn = await site.called(gaming.picture, hosted)
    headers = HEADERS | {"Content-Security-Policy": render.DRAWN}
    return Response(drawn, 200, headers, "image/svg+xml")


async def export(site: Site, request: Request) -> Response:
    """Return the decisions or events of a study as a file."""
    hosted = await site.hosted(request.path_params["name"])
    what = request.query_params.get("what", "decisions")
    kind = request.query_params.get("format", "csv")
    if what not in ("decisions", "events") or kind not in FORMATS:
        raise Problem(422, "only decisions and events are exported, as csv, parquet or ndjson.")
    parts = await site.called(lambda: iter(view("export")(hosted, what, kind)))
    first = await site.called(next, parts, b"")  # what is refused is refused now
    name = "".join(c if c.isascii() and (c.isalnum() or c in "._-") else "-" for c in hosted.name)
    headers = HEADERS | {"Content-Disposition": f'attachment; filename="{name}-{what}.{kind}"'}
    return StreamingResponse(_streamed(site, first, parts), 200, headers, FORMATS[kind])


async def _streamed(site: Site, part: bytes, rest: Any) -> AsyncIterator[bytes]:
    while part:
        yield part
        part = await site.called(next, rest, b"")


async def decision(site: Site, request: Request) -> Response:
    """Show a decision and why it was made, computed again."""
    hosted = await site.hosted(request.path_params["name"])
    own = await site.called(study.basis, hosted)
    row = await site.called(rows.decision, hosted, request.path_params["decision"])
    key = hosted.name, hosted.created_at, row["id"]
    why = await site.whys(key, lambda: views.why(hosted, row["id"]))
    known = {"study": own, "own": row | rows.reasons(why)}
    return site.page("decision", request, request.state.user, **known)


async def change(site: Site, request: Request) -> Response:
    """Show what can be changed of a study."""
    return await changing(site, request, Again(), [])


async def changing(
    site: Site, request: Request, typed: Again, preview: list[str], problem: str = ""
) -> Response:
    """Show what can be changed, with what was typed and what it would change."""
    hosted = await site.hosted(request.path_params["name"])
    own = await site.called(study.basis, hosted)
    own.game_file = await site.called(gaming.game_file, hosted)
    known = {"study": own, "typed": typed, "preview": preview, "problem": problem}
    status = 422 if problem else 200
    return site.page("change", request, request.state.user, status, **known)


async def history(site: Site, request: Request) -> Response:
    """Show where earlier answers are added."""
    return await remembering(site, request, Again())


async def remembering(site: Site, request: Request, typed: Again, problem: str = "") -> Response:
    """Show where earlier answers are added, with what was typed."""
    hosted = await site.hosted(request.path_params["name"])
    own = await site.called(study.basis, hosted)
    own.example_row = gaming.example_row(hosted)
    known = {"study": own, "typed": typed, "problem": problem}
    return site.page("history", request, request.state.user, 422 if problem else 200, **known)


# -- new studies -------------------------------------------------------------------------------


async def new(site: Site, request: Request) -> Response:
    """Show where a study is created."""
    asked = request.query_params
    source = asked.get("from", "table")
    source = source if source in ("table", "file", "name") else "table"
    sizes = [asked.get(name, "2") for name in ("rows", "columns")]
    rows, columns = (
        min(max(int(own), 2), LARGEST_TABLE) if own.isdecimal() and len(own) < 4 else 2
        for own in sizes
    )
    table = forms.sized_table(rows, columns)
    return creating(site, request, source, Again(), table, asked.get("game", ""))


def creating(
    site: Site,
    request: Request,
    source: str,
    typed: Again,
    table: dict[str, Any],
    game: str = "",
    problem: str = "",
) -> Response:
    """Show where a study is created, with what was typed."""
    known = {
        "source": source,
        "typed": typed,
        "table": forms.shown_table(table),
        "found": None,
        "chosen": forms.named_game(game, typed) if source == "name" and game else None,
        "games": forms.named_games() if source == "name" and not game else [],
        "policies": list(policies.POLICIES),
        "problem": problem,
    }
    return site.page("new", request, request.state.user, 422 if problem else 200, **known)


async def classify(site: Site, request: Request) -> Response:
    """Return the class of the table of a new game, while it is written."""
    form = await form_of(site.service, request, request.state.user)
    try:
        found = await site.called(gaming.classified, forms.table_of(form))
    except (PartialMonitoringError, Problem) as error:
        found = {"problem": forms.capital(in_words(str(error)))}
    return Response(render.text_of("found", found=found), 200, HEADERS, "text/html")


async def missing(site: Site, request: Request) -> Response:
    """Say that there is no such page, to people."""
    if "text/html" not in request.headers.get("accept", ""):
        raise HTTPException(404)
    return site.page(
        "message", request, None, 404, title="Not found", detail="There is no page here."
    )


async def static(site: Site, request: Request) -> Response:
    """Return a file that pages load."""
    name = request.path_params["file"]
    if name not in render.FILES:
        raise Problem(404, "there is no such file.")
    return render.static(name)
