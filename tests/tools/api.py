"""Write docs/service-api.md from the OpenAPI file: ``python -m tests.tools.api``."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from partial_monitoring.service.http.openapi_page import operations

ROOT = Path(__file__).parents[2]
FILE = ROOT / "src" / "partial_monitoring" / "service" / "http" / "openapi.json"
PAGE = ROOT / "docs" / "service-api.md"

HEAD = """\
# The HTTP interface

{description}

A server shows this page at `/api`, and the file it is made of at `/openapi.json`, which generators
of clients read. How a study is run is in [a service](service.md).

"""


def page() -> str:
    """Return the page as it should be."""
    found = json.loads(FILE.read_text(encoding="utf-8"))
    shown = list(operations(found))
    rows = [
        f"| [`{method.upper()} {path}`](#{own['operationId'].replace('_', '-')}) "
        f"| {own.get('x-role') or 'none'} | {own['summary']} |"
        for method, path, own in shown
    ]
    table = "\n".join(["| path | role | |", "|---|---|---|", *rows])
    details = "\n".join(_section(found, *each) for each in shown)
    return f"{HEAD.format(**found['info'])}{table}\n\n{details}".rstrip() + "\n"


def _section(found: Any, method: str, path: str, own: Mapping[str, Any]) -> str:
    name = own["operationId"].replace("_", "-")
    lines = [f"## {method.upper()} {path} {{ #{name} }}", "", own["summary"], ""]
    lines += [own["description"], ""] if own.get("description") else []
    rows = list(_rows(found, own))
    if rows:
        lines += ["| | | |", "|---|---|---|", *rows, ""]
    example = _json(own.get("requestBody", {})).get("example")
    if example is not None:
        lines += ["```json", json.dumps(example, ensure_ascii=False), "```", ""]
    return "\n".join(lines)


def _rows(found: Any, own: Mapping[str, Any]) -> Iterator[str]:
    """Yield what a request may say: in its address, and in its body."""
    for given in own.get("parameters", []):
        row = _resolved(found, given)
        if row["in"] == "query":
            yield _row(f"?{row['name']}", row["schema"], row.get("description", ""))
    schema = _resolved(found, _json(own.get("requestBody", {})).get("schema", {}))
    needed = schema.get("required", [])
    for name, value in schema.get("properties", {}).items():
        said = _resolved(found, value)
        yield _row(
            name, said, value.get("description", said.get("description", "")), name in needed
        )


def _row(name: str, schema: Mapping[str, Any], said: str, needed: bool = False) -> str:
    kind = schema.get("type", "")
    kind = " or ".join(kind) if isinstance(kind, list) else kind
    return f"| `{name}`{' (needed)' if needed else ''} | {kind} | {said.replace('|', '&#124;')} |"


def _json(given: Mapping[str, Any]) -> Any:
    return given.get("content", {}).get("application/json", {})


def _resolved(found: Any, given: Mapping[str, Any]) -> Any:
    """Follow a reference."""
    own: Any = given
    while "$ref" in own:
        name, own = own["$ref"], found
        for each in name.split("/")[1:]:
            own = own[each]
    return own


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
