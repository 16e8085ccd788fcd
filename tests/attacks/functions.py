"""Hostile values for every argument of every public function, constructor and some methods."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from partial_monitoring import AnyGame
from tests.attacks.calls import LATER, calls, write_inputs
from tests.attacks.judge import Attack
from tests.attacks.values import HOSTILE, Make

SPOILED = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY


def attacks(seed: int) -> Iterator[Attack]:
    write_inputs()
    for name, (function, arguments) in calls().items():
        yield Attack(f"{name}: as it should be", partial(spoiled, function, arguments, "", list))
        for argument, kind in parameters(function):
            for value, make in HOSTILE.items():
                yield Attack(
                    f"{name}({argument}={value})",
                    partial(spoiled, function, arguments, argument, make, kind),
                    kept_files,
                )


def parameters(function: Any) -> list[tuple[str, Any]]:
    found = inspect.signature(function).parameters.values()
    return [(p.name, p.kind) for p in found if p.kind is not inspect.Parameter.VAR_KEYWORD]


def spoiled(
    function: Any, arguments: dict[str, Any], argument: str, make: Make, kind: Any = None
) -> object:
    """Call a function with one argument replaced, and return what it answers."""
    given = {name: v() if any(v is f for f in LATER) else v for name, v in arguments.items()}
    if argument:
        given[argument] = make()
    several = [given.pop(p) for p, kind in parameters(function) if kind not in SPOILED]
    answer = function(*several, **given)
    if isinstance(answer, AnyGame):
        str(answer)
    return answer


def kept_files() -> object:
    """Return what is written where calls write; a refusal must leave it alone."""
    return {str(path): path.stat().st_mtime_ns for path in Path().glob("*")}
