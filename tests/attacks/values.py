"""Values that nobody should pass, and some do."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


def itself() -> list[Any]:
    value: list[Any] = []
    value.append(value)
    return value


class Talkative:
    """Shows itself on several lines, and colours the terminal."""

    def __repr__(self) -> str:
        return "first line\nsecond line \x1b[31m" + "z" * 5000


class Liar:
    """Claims to be a sequence, and is none."""

    def __len__(self) -> int:
        return 2

    def __getitem__(self, index: object) -> object:
        raise IndexError("nothing here")


class Empty:
    """Can be made of anything, as a function that returns no numbers."""

    def __init__(self, *_: Any, **__: Any) -> None:
        pass


class Refusing:
    """Refuses to become an array."""

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise ValueError("no array")


Make = Callable[[], Any]

NUMBERS: dict[str, Make] = {
    "nan": lambda: float("nan"),
    "inf": lambda: float("inf"),
    "-inf": lambda: float("-inf"),
    "1e308": lambda: 1e308,
    "-1e308": lambda: -1e308,
    "1e155": lambda: 1e155,
    "5e-324": lambda: 5e-324,
    "1e-200": lambda: 1e-200,
    "-0.5": lambda: -0.5,
    "0": lambda: 0,
    "2**63": lambda: 2**63,
    "10**20": lambda: 10**20,
    "10**400": lambda: 10**400,
    "-10**5000": lambda: -(10**5000),
    "True": lambda: True,
    "1j": lambda: 1j,
    "Decimal nan": lambda: Decimal("NaN"),
    "float16 inf": lambda: np.float16("inf"),
    "NaT": lambda: np.datetime64("NaT"),
    "pd.NA": lambda: pd.NA,
}

ARRAYS: dict[str, Make] = {
    "ragged": lambda: [[1.0, 2.0], [3.0]],
    "ragged deeper": lambda: [1.0, [2.0, [3.0]]],
    "masked": lambda: np.ma.array([0.5, 0.5], mask=[False, True]),
    "masked rows": lambda: np.ma.array(np.eye(2), mask=np.eye(2)),
    "objects": lambda: np.array([object(), None], dtype=object),
    "array of dicts": lambda: np.array([{}, {}], dtype=object),
    "array of words": lambda: np.array(["a", "b"]),
    "empty list": list,
    "no rows": lambda: np.empty((0, 2)),
    "no columns": lambda: np.empty((2, 0)),
    "four axes": lambda: np.ones((1, 1, 1, 1)),
    "nan array": lambda: np.full((2, 2), np.nan),
    "inf vector": lambda: [1.0, float("inf")],
    "1e308 rows": lambda: np.full((2, 2), 1e308),
    "5e-324 rows": lambda: np.full((2, 2), 5e-324),
    "booleans": lambda: np.ones(2, dtype=bool),
    "complex array": lambda: np.ones(2, dtype=complex),
    "records": lambda: np.zeros(2, dtype=[("a", float), ("b", int)]),
    "many ones": lambda: np.ones(100_000),
    "huge integers": lambda: [10**400, 1],
    "strings of numbers": lambda: ["1", "2"],
    "table": lambda: pd.DataFrame({"a": [1.0, None], "b": ["x", "y"]}),
}

TEXTS: dict[str, Make] = {
    "no letters": lambda: "",
    "NUL": lambda: "\0",
    "NUL inside": lambda: "a\0b",
    "surrogate": lambda: "\ud800",
    "red": lambda: "\x1b[31mred",
    "window title": lambda: "\x1b]0;owned\x07",
    "C1": lambda: "\x9b31m",
    "bidi": lambda: "\u202eabc\u2066",
    "two lines": lambda: "first\nsecond",
    "carriage return": lambda: "first\rsecond",
    "100000 letters": lambda: "x" * 100_000,
    "bytes": lambda: b"abc",
    "bytearray": lambda: bytearray(b"abc"),
    "format": lambda: "{0.__class__} %s {{7*7}}",
    "dunder": lambda: "__class__",
    "upwards": lambda: "../nowhere/x",
}

OBJECTS: dict[str, Make] = {
    "None": lambda: None,
    "Ellipsis": lambda: ...,
    "object": object,
    "class": lambda: Empty,
    "lambda": lambda: lambda *_, **__: None,
    "module": lambda: np,
    "empty dict": dict,
    "dict": lambda: {"a": 1},
    "unhashable key": lambda: [["a", []]],
    "set": lambda: {"a", "b"},
    "frozenset": lambda: frozenset({1, 2}),
    "generator": lambda: (x for x in (1.0, 2.0)),
    "words": lambda: ["a", None],
    "deep": lambda: nested(5000),
    "itself": itself,
    "talkative": Talkative,
    "talkative list": lambda: [Talkative(), Talkative()],
    "liar": Liar,
    "no array": Refusing,
    "exception": lambda: KeyError("x"),
}

HOSTILE: dict[str, Make] = {**NUMBERS, **ARRAYS, **TEXTS, **OBJECTS}
"""Every value by its name; called, it is made afresh."""
