"""Templates, files and headers of the page."""

from __future__ import annotations

import re
from functools import cache
from hashlib import sha256
from importlib import resources
from typing import Any
from urllib.parse import urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape
from starlette.responses import HTMLResponse, Response

import partial_monitoring
from partial_monitoring.errors import visible
from partial_monitoring.service.page import words

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
"""What a page may load and run: nothing but this server's own files."""

DRAWN = "default-src 'none'; style-src 'unsafe-inline'; sandbox"
"""What a picture may: it brings its own styles."""

HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
"""The headers of every answer of the page."""

KINDS = {
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
    "LICENSE": "text/plain; charset=utf-8",
}
"""What the files are, by the ends of their names."""

FILES = (
    "page.css",
    "page.js",
    "charts.js",
    "icon.svg",
    "uPlot.iife.min.js",
    "uPlot.min.css",
    "uPlot.LICENSE",
)
"""All files that a page loads, and the licence of one of them."""


@cache
def content(name: str) -> bytes:
    """Return a file that comes with the package."""
    return resources.files(__package__).joinpath("static", name).read_bytes()


@cache
def asset(name: str) -> str:
    """Return the address of a file; it changes with the content."""
    return f"/static/{name}?{sha256(content(name)).hexdigest()[:12]}"


def static(name: str) -> Response:
    """Return the answer with a file."""
    headers = HEADERS | {"Cache-Control": "public, max-age=31536000, immutable"}
    return Response(content(name), media_type=KINDS[name.rpartition(".")[2]], headers=headers)


def _shown(value: object) -> object:
    """Replace what a browser cannot show."""
    return visible(value) if type(value) is str else value


def powers(text: str) -> Markup:
    """Return a text with exponents as such, escaped like all others.

    >>> powers("n^(2/3) < 10^6")
    Markup('n<sup>2/3</sup> &lt; 10<sup>6</sup>')
    """
    parts = re.split(r"\^\(([^)]*)\)|\^(-?\d+)", visible(text))
    found = Markup("")
    for plain, inner, digits in zip(parts[::3], parts[1::3], parts[2::3], strict=False):
        found += escape(plain) + Markup("<sup>{}</sup>").format(inner or digits)
    return found + escape(parts[-1])


def lines(text: str) -> Markup:
    """Return a text whose lines are kept, escaped like all others."""
    return Markup("\n").join(visible(line) for line in text.splitlines())


@cache
def environment() -> Environment:
    """Return the templates: all that they show is escaped, and what is missing is an error."""
    found = Environment(
        loader=PackageLoader("partial_monitoring.service.page"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_shown,
    )
    for own in (words.count, words.number, words.percent, words.iso, words.ago, powers, lines):
        found.filters[own.__name__] = own
    found.globals |= {"asset": asset, "version": partial_monitoring.__version__}
    found.globals |= {"user": None, "done": "", "problem": "", "place": ""}
    return found


def text_of(template: str, **known: Any) -> str:
    """Return a template as HTML."""
    return environment().get_template(f"{template}.html.jinja").render(**known)


def page(template: str, status: int = 200, headers: Any = None, **known: Any) -> Response:
    """Return the answer with a page."""
    return HTMLResponse(text_of(template, **known), status, HEADERS | dict(headers or {}))


def query(**entries: Any) -> str:
    """Return the part of an address after "?", without entries that say nothing."""
    return urlencode({name: own for name, own in entries.items() if own not in (None, "")})
