"""How files are spoiled: bytes that are no file, cuts, flipped bits, and every leaf replaced."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from copy import deepcopy
from functools import partial
from typing import Any

DEEP = 100_000

Spoiled = Callable[[], bytes]
"""The content of a spoiled file, made when it is needed."""

GARBAGE: dict[str, bytes] = {
    "empty": b"",
    "NUL": b"\0" * 100,
    "no UTF-8": b"\xff\xfe\x00\xd8",
    "UTF-16": '{"a": 1}'.encode("utf-16"),
    "one brace": b"{",
    "null": b"null",
    "a number": b"3",
    "a word": b'"word"',
    "a list": b"[]",
    "an object": b"{}",
    "NaN": b"NaN",
    "deep lists": b"[" * DEEP,
    "deep lists, closed": b"[" * DEEP + b"]" * DEEP,
    "deep objects": b'{"a":' * DEEP,
    "deep table": b"a." * DEEP + b"a = 1",
    "long number": b"[" + b"9" * 5000 + b"]",
    "long TOML number": b"horizon = " + b"9" * 5000,
    "huge exponent": b",x,y\na,1e999999999,2\nb,0,1\n",
    "1e400": b",x,y\na,1e400,2\nb,0,1\n",
    "long field": b",x,y\na," + b"z" * 200_000 + b",2\nb,0,1\n",
    "open quote": b',x,y\na,"1,2\nb,0,1\n',
    "carriage returns": b"a\rb\rc\r",
    "ragged CSV": b",x,y\na,1\nb,0,1,2\n",
    "escape": b"\x1b[31m\x1b]0;owned\x07",
    "pickle": b"\x80\x04\x95\x0b\x00\x00\x00\x00\x00\x00\x00\x8c\x02os\x94.",
    "two lines of braces": b"{}\n{}\n",
}
"""Files that are nothing at all."""

LEAVES: dict[str, Any] = {
    "null": None,
    "true": True,
    "word": "word",
    "NUL": "\0",
    "surrogate": "\ud800",
    "red": "\x1b[31m",
    "nan": float("nan"),
    "inf": float("inf"),
    "1e308": 1e308,
    "5e-324": 5e-324,
    "-1": -1,
    "10**400": 10**400,
    "10**9": 10**9,
    "empty list": [],
    "ragged": [[1, 2], [3]],
    "object": {"a": 1},
    "fraction": "1/0",
    "1e999999999": "1e999999999",
}
"""What JSON can hold in place of a value."""


def leaves(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the places of plain data, inner ones first; of a list the first and the last."""
    if isinstance(data, dict):
        for key, value in data.items():
            yield from leaves(value, (*path, key))
    elif isinstance(data, list) and data:
        for index in sorted({0, len(data) - 1}):
            yield from leaves(data[index], (*path, index))
    if path:
        yield path


def replaced(data: Any, path: tuple[Any, ...], value: Any) -> bytes:
    """Return the data with another value at one place, as JSON."""
    copy = deepcopy(data)
    at(copy, path[:-1])[path[-1]] = value
    return json.dumps(copy).encode()


def without(data: Any, path: tuple[Any, ...]) -> bytes:
    """Return the data without what is at one place, as JSON."""
    copy = deepcopy(data)
    del at(copy, path[:-1])[path[-1]]
    return json.dumps(copy).encode()


def at(data: Any, path: tuple[Any, ...]) -> Any:
    for step in path:
        data = data[step]
    return data


def spoiled_leaves(data: Any) -> Iterator[tuple[str, Spoiled]]:
    """Yield the data with each place removed and replaced by each hostile value."""
    for path in leaves(data):
        place = ".".join(map(str, path))
        yield f"without {place}", partial(without, data, path)
        for name, value in LEAVES.items():
            yield f"{place} = {name}", partial(replaced, data, path, value)


def damaged(
    content: bytes, rng: random.Random, *, cuts: int, flips: int
) -> Iterator[tuple[str, Spoiled]]:
    """Yield the content cut off, and with single bits flipped, at random places."""
    for _ in range(cuts):
        end = rng.randrange(len(content))
        yield f"cut at {end}", partial(bytes, content[:end])
    for _ in range(flips):
        place, bit = rng.randrange(len(content)), rng.randrange(8)
        yield f"bit {bit} of byte {place}", partial(flipped, content, place, bit)


def flipped(content: bytes, place: int, bit: int) -> bytes:
    return content[:place] + bytes([content[place] ^ (1 << bit)]) + content[place + 1 :]
