"""Events of studies, as rows have them."""

from __future__ import annotations

from typing import Any

from partial_monitoring.storage.opened import database_at
from partial_monitoring.storage.study import Study


def new_study(where: str, name: str = "pricing") -> Study:
    found = database_at(where).study(name, {"game": "any"})
    assert found is not None
    return found


def ask(seq: int, number: int, **more: Any) -> dict[str, Any]:
    return {"seq": seq, "kind": "ask", "decision": f"x-{number}", "label": "a", **more}


def tell(seq: int, number: int, **more: Any) -> dict[str, Any]:
    return {"seq": seq, "kind": "tell", "decision": f"x-{number}", "observation": 1, **more}


def note(seq: int, what: str, **more: Any) -> dict[str, Any]:
    return {"seq": seq, "kind": "note", "what": what, **more}
