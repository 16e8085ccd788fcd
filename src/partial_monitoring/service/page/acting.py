"""Forms that are sent: ask, tell, pause, void, edit, reset, history, and new studies."""

from __future__ import annotations

import json
from typing import Any

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from partial_monitoring.errors import InvalidInput, PartialMonitoringError
from partial_monitoring.service.page import forms, gaming, rows, showing
from partial_monitoring.service.page.forms import Again, Form
from partial_monitoring.service.page.guard import User, form_of
from partial_monitoring.service.page.render import HEADERS
from partial_monitoring.service.page.site import Site
from partial_monitoring.service.problems import Problem, problem_of

REFUSED = (Problem, PartialMonitoringError)
"""What is shown beside the form again."""


async def _sent(site: Site, request: Request) -> tuple[User, str, Form]:
    """Return who has sent a form of which study, and the form."""
    user: User = request.state.user
    return user, request.path_params["name"], await form_of(site.service, request, user)


def _there(path: str, done: str, place: str = "") -> Response:
    return RedirectResponse(f"{path}?done={done}{place}", 303, HEADERS)


def _said(error: Exception) -> str:
    return forms.capital(problem_of(error).detail)


async def ask(site: Site, request: Request) -> Response:
    """Ask for a decision, and show it."""
    user, name, form = await _sent(site, request)
    given = {"context": form["context"]} if form["context"] else {}
    found = (await site.submitted(name, "ask", given, user))["decisions"][0]
    if found["id"] is None:
        detail = f"the study is paused; until it runs again, {found['label']!r} is played."
        raise Problem(409, detail)
    return _there(rows.decision_path(name, found["id"]), "asked")


async def tell(site: Site, request: Request) -> Response:
    """Tell what a decision has shown; that no answer will come; or that it was not played."""
    user, name, form = await _sent(site, request)
    decision, verb = form["decision"], form["verb"]
    if verb == "cancel":
        await site.submitted(name, "cancel", {"decision": decision}, user)
        return _there(rows.path_of(name), "cancelled")
    seen = None if verb == "none" else forms.observation_of(form["observation"])
    given = {"decision": decision, "observation": seen}
    found = (await site.submitted(name, "tell", given, user))["answers"][0]
    return _there(rows.decision_path(name, decision), found["result"])


async def pause(site: Site, request: Request) -> Response:
    """Make no decisions for a while."""
    user, name, _ = await _sent(site, request)
    await site.submitted(name, "pause", {}, user)
    return _there(rows.path_of(name), "paused")


async def resume(site: Site, request: Request) -> Response:
    """Make decisions again."""
    user, name, _ = await _sent(site, request)
    await site.submitted(name, "resume", {}, user)
    return _there(rows.path_of(name), "resumed")


async def amend(site: Site, request: Request) -> Response:
    """Correct an answer."""
    user, name, form = await _sent(site, request)
    seen = forms.observation_of(form["observation"])
    given = {"decision": form["decision"], "observation": seen, "reason": form.text("reason")}
    await site.submitted(name, "amend", given, user)
    return _there(rows.decision_path(name, form["decision"]), "amended")


async def void(site: Site, request: Request) -> Response:
    """Void answers: one, or those of a range of numbers, perhaps only to see what that changes."""
    user, name, form = await _sent(site, request)
    given: dict[str, Any] = {"reason": form.text("reason")}
    if form["decision"]:
        await site.submitted(name, "void", given | {"decisions": [form["decision"]]}, user)
        return _there(rows.decision_path(name, form["decision"]), "voided")
    try:
        given |= {end: forms.whole(end, form.text(end)) for end in ("from", "to")}
        return await _changed(site, request, form, "void", given, "voided")
    except REFUSED as error:
        return await showing.changing(site, request, Again(form.typed()), [], _said(error))


async def edit(site: Site, request: Request) -> Response:
    """Go on with another game or policy, perhaps only to see what that carries over."""
    _, name, form = await _sent(site, request)
    try:
        given: dict[str, Any] = {"reason": form.text("reason")}
        hosted = await site.hosted(name)
        before = await site.called(gaming.game_file, hosted)
        if _plain(form["game"]) != _plain(before):
            given["game"] = forms.game_of_file("", form["game"])
        if form.text("policy"):
            given["policy"] = form.text("policy")
        if not given.keys() - {"reason"}:
            raise InvalidInput("neither the game nor the policy was changed.")
        return await _changed(site, request, form, "edit", given, "edited")
    except REFUSED as error:
        return await showing.changing(site, request, Again(form.typed()), [], _said(error))


def _plain(text: str) -> object:
    """Return what a game file says, however its lines are broken."""
    try:
        return json.loads(text)
    except ValueError:
        return text


async def _changed(
    site: Site, request: Request, form: Form, verb: str, given: dict[str, Any], done: str
) -> Response:
    """Change a study, or show what would change."""
    user, name = request.state.user, request.path_params["name"]
    dry = form["dry_run"] == "yes"
    found = await site.submitted(name, verb, given | ({"dry_run": True} if dry else {}), user)
    if dry:
        return await showing.changing(site, request, Again(form.typed()), preview_of(found))
    return _there(rows.path_of(name), done)


def preview_of(found: Any) -> list[str]:
    """Say what a change would do, from its result as plain data."""
    if not isinstance(found, dict):
        return [str(found)]
    lines = []
    for name, own in found.items():
        words = name.replace("_", " ").capitalize()
        if isinstance(own, list) and own and all(isinstance(x, str) for x in own):
            lines += own
        elif isinstance(own, list | dict) and own:
            lines.append(f"{words}: {json.dumps(own, ensure_ascii=False)[:2000]}")
        elif own not in (None, [], {}, "", True):
            lines.append(f"{words}: {own}")
    return lines or ["Nothing would change."]


async def reset(site: Site, request: Request) -> Response:
    """Forget what was learned."""
    user, name, form = await _sent(site, request)
    await site.submitted(name, "reset", {"reason": form.text("reason")}, user)
    return _there(rows.path_of(name), "reset")


async def settings(site: Site, request: Request) -> Response:
    """Change the settings of a study."""
    user, name, form = await _sent(site, request)
    given = {
        "fallback": form.text("fallback") or None,
        "max_open": forms.whole("max_open", form.text("max_open")),
        "alarm_level": forms.real("alarm_level", form.text("alarm_level")),
    }
    await site.submitted(name, "settings", given, user)
    return _there(rows.path_of(name), "settings")


async def clear(site: Site, request: Request) -> Response:
    """Note that an alarm was seen."""
    user, name, form = await _sent(site, request)
    await site.submitted(name, "clear", {"alarm": form["alarm"]}, user)
    return _there(rows.path_of(name), "cleared")


CHANGES = {
    "pause": pause,
    "resume": resume,
    "amend": amend,
    "void": void,
    "edit": edit,
    "reset": reset,
    "settings": settings,
    "clear": clear,
}
"""What only those may do who may change a study."""


async def history(site: Site, request: Request) -> Response:
    """Add earlier answers."""
    user, name, form = await _sent(site, request)
    try:
        given = forms.rows_of(form["file"] if form["file"].strip() else form["rows"])
        if len(given) > site.service.limits.rows:
            raise InvalidInput(f"at most {site.service.limits.rows:,} rows are added at once.")
        await site.submitted(name, "history", {"rows": given}, user)
    except REFUSED as error:
        return await showing.remembering(site, request, Again(form.typed()), _said(error))
    return _there(rows.path_of(name), "history")


async def create(site: Site, request: Request) -> Response:
    """Create a study from a table, a file or a named game."""
    user: User = request.state.user
    form = await form_of(site.service, request, user)
    source, table = form["from"], forms.sized_table(2, 2)
    try:
        if source == "table":
            table = forms.table_of(form)
            game: dict[str, Any] = {"file": await site.called(gaming.file_of_table, table)}
        elif source == "file":
            text = form["file"] if form["file"].strip() else form["text"]
            game = forms.game_of_file(form["file-name"] if form["file"].strip() else "", text)
        else:
            game = {"named": form["game"], "options": forms.options_of(form)}
        given = _created(form) | {"game": game}
        if given["name"] in await site.called(site.engine.names):
            raise Problem(409, f"there is a study {given['name']!r} already.")
        await site.called(site.engine.create, given, user.token.id)
    except REFUSED as error:
        typed = Again(form.typed())
        return showing.creating(site, request, source, typed, table, form["game"], _said(error))
    return _there(rows.path_of(given["name"]), "created")


def _created(form: Form) -> dict[str, Any]:
    """Return what a new study is called, and how it is played."""
    given: dict[str, Any] = {"name": form.text("name")}
    if form.text("policy"):
        given["policy"] = form.text("policy")
    if form.text("seed"):
        given["seed"] = forms.whole("seed", form.text("seed"))
    if form.text("probe"):
        given["probe"] = forms.real("probe", form.text("probe"))
    if form.text("days"):
        window: dict[str, Any] = {"days": forms.real("days", form.text("days"))}
        if form.text("unanswered"):
            window["unanswered"] = forms.observation_of(form["unanswered"])
        else:
            window["hold"] = False
        given["window"] = window
    if form["allow_hopeless"]:
        given["allow_hopeless"] = True
    return given
