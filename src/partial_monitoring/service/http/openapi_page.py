"""The description of the interface as a page for people, made of ``openapi.json``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from html import escape
from pathlib import Path
from typing import Any, Final

import orjson

FILE: Final = Path(__file__).with_name("openapi.json")

CSS: Final = """
:root { color-scheme: light dark; --line: #8886; --soft: #8882; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h2 { margin-top: 3rem; }
h3 { margin-top: 2rem; font-weight: 600; border-top: 1px solid var(--line); padding-top: 1rem; }
h3 code { font-size: 1rem; }
code, pre { font-family: ui-monospace, monospace; font-size: .9rem; }
code { overflow-wrap: anywhere; }
pre { background: var(--soft); padding: .75rem; overflow-x: auto; border-radius: .4rem; }
table { border-collapse: collapse; width: 100%; font-size: .95rem; }
td, th { text-align: left; vertical-align: top; padding: .3rem .8rem .3rem 0; }
tr + tr td { border-top: 1px solid var(--line); }
.method { display: inline-block; min-width: 4.5rem; font-weight: 700; }
.role { float: right; font-weight: 400; opacity: .8; }
nav ul { columns: 2 20rem; list-style: none; padding: 0; }
"""

METHODS: Final = ("get", "post", "patch", "delete")


@cache
def described() -> bytes:
    """Return the description of the interface."""
    return FILE.read_bytes()


@cache
def html() -> str:
    """Return the page."""
    found = orjson.loads(described())
    info = found["info"]
    body = "\n".join(_sections(found))
    all_of = operations(found)
    shown = [(_anchor(method, path), f"{method.upper()} {path}") for method, path, _ in all_of]
    links = "".join(f'<li><a href="#{at}"><code>{escape(own)}</code></a>' for at, own in shown)
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(info["title"])}</title><link rel="icon" href="/static/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/api/style.css"></head>
<body><h1>{escape(info["title"])}</h1>
{_paragraphs(info["description"])}
<p>For programs: <a href="/openapi.json">openapi.json</a>.</p>
<nav><ul>{links}</ul></nav>
{body}
</body></html>
"""


def operations(found: Mapping[str, Any]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Yield methods, paths and what is said about them."""
    for path, item in found["paths"].items():
        for method in METHODS:
            if method in item:
                yield method, path, item[method]


def _sections(found: Mapping[str, Any]) -> Iterator[str]:
    for method, path, own in operations(found):
        role = escape(own.get("x-role") or "none")
        yield (
            f'<h3 id="{_anchor(method, path)}"><span class="role">role: {role}</span>'
            f'<span class="method">{method.upper()}</span><code>{escape(path)}</code></h3>'
        )
        yield f"<p>{escape(own['summary'])}</p>"
        yield _paragraphs(own.get("description", ""))
        rows = [
            (f"?{row['name']}", row["schema"], row.get("description", ""))
            for row in (_resolved(found, given) for given in own.get("parameters", []))
            if row["in"] == "query"
        ]
        schema = _resolved(found, _json(own.get("requestBody", {}))).get("schema", {})
        schema = _resolved(found, schema)
        needed = schema.get("required", [])
        rows += [
            (name + (" (needed)" if name in needed else ""), value, value.get("description", ""))
            for name, value in schema.get("properties", {}).items()
        ]
        if rows:
            yield f"<table>{''.join(_row(*row) for row in rows)}</table>"
        example = _json(own.get("requestBody", {})).get("example")
        if example is not None:
            yield f"<pre>{escape(orjson.dumps(example).decode())}</pre>"


def _row(name: str, schema: Mapping[str, Any], said: str) -> str:
    kind = schema.get("type", "")
    kind = " or ".join(kind) if isinstance(kind, list) else kind
    return f"<tr><td><code>{escape(name)}</code><td>{escape(kind)}<td>{escape(said)}"


def _json(given: Mapping[str, Any]) -> Mapping[str, Any]:
    found: Mapping[str, Any] = given.get("content", {}).get("application/json", {})
    return found


def _resolved(found: Mapping[str, Any], given: Mapping[str, Any]) -> Mapping[str, Any]:
    """Follow a reference."""
    own: Any = given
    while "$ref" in own:
        name, own = own["$ref"], found
        for part in name.split("/")[1:]:
            own = own[part]
    result: Mapping[str, Any] = own
    return result


def _anchor(method: str, path: str) -> str:
    return escape(f"{method}{path}".replace("/", "-").replace("{", "").replace("}", ""))


def _paragraphs(text: str) -> str:
    return "".join(f"<p>{escape(own)}</p>" for own in text.split("\n\n") if own)
