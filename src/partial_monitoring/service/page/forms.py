"""What is typed into forms: their bodies, tables, options and rows."""

from __future__ import annotations

import csv
import json
import tomllib
from collections.abc import Mapping
from email.parser import BytesParser
from email.policy import HTTP
from inspect import Parameter, signature
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import parse_qsl

from partial_monitoring import games
from partial_monitoring.disk import write_text
from partial_monitoring.errors import InvalidInput, PartialMonitoringError
from partial_monitoring.model.files import game_to_dict
from partial_monitoring.model.tables import from_csv
from partial_monitoring.validation import brief

Typed = dict[str, str]

NUMBERS = ("probability", "weight")
"""Columns of a history that hold numbers; ``count`` holds whole ones."""

START = {
    "outcomes": ["good", "rotten"],
    "actions": ["sell", "taste"],
    "earns": [[1, -1], [-1, 0]],
    "shows": [["", ""], ["good", "rotten"]],
}
"""The table that a new study begins with."""


class Form:
    """The fields of a form, each of them a list: those of a table have many values."""

    def __init__(self, body: bytes, kind: str) -> None:
        self.all: dict[str, list[str]] = {}
        try:
            fields = _parts(body, kind) if kind.startswith("multipart/") else _pairs(body)
        except (UnicodeDecodeError, ValueError) as error:
            raise InvalidInput(f"the form cannot be read: {error}.") from None
        for name, value in fields:
            self.all.setdefault(name, []).append(value)

    def __getitem__(self, name: str) -> str:
        return self.all.get(name, [""])[-1]

    def text(self, name: str) -> str:
        """Return what was typed, without spaces around it."""
        return self[name].strip()

    def typed(self) -> Typed:
        """Return the fields as they are shown again."""
        return {name: values[-1] for name, values in self.all.items() if name != "form_token"}


class Again(dict[str, str]):
    """What was typed before; nothing in a field that was not."""

    def __missing__(self, name: str) -> str:
        return ""


def _pairs(body: bytes) -> list[tuple[str, str]]:
    return parse_qsl(body.decode("ascii"), keep_blank_values=True, max_num_fields=5000)


def _parts(body: bytes, kind: str) -> list[tuple[str, str]]:
    """Read a body with files; their content counts as what was typed."""
    head = f"Content-Type: {kind}\r\n\r\n".encode("latin-1")
    message = BytesParser(policy=HTTP).parsebytes(head + body)
    found = []
    for part in message.iter_parts():
        name = part.get_param("name", header="content-disposition")
        content = part.get_payload(decode=True)
        if isinstance(name, str) and isinstance(content, bytes):
            found.append((name, content.decode("utf-8-sig")))
            if (file := part.get_filename()) is not None:
                found.append((f"{name}-name", file))
    return found


def value_of(text: str) -> object:
    """Return a value that was typed: JSON, a list 1, 2, 3, or a word.

    >>> value_of("2"), value_of("1, 2.5"), value_of('["a"]'), value_of("yes")
    (2, [1, 2.5], ['a'], 'yes')
    """
    try:
        found: object = json.loads(text)
    except (ValueError, RecursionError):
        if "," in text and text.lstrip()[:1] not in "[{":
            return [value_of(part.strip()) for part in text.split(",")]
        return text
    return found


def observation_of(text: str) -> object:
    """Return an observation that was typed: a number, a list of numbers, or a word."""
    return value_of(text.strip())


def whole(name: str, text: str) -> int:
    """Return a whole number that was typed."""
    plain = text.replace(",", "")
    if not plain.isdecimal():
        raise InvalidInput(f"{name} must be a whole number; got {brief(text)}.")
    return int(plain)


def real(name: str, text: str) -> float:
    """Return a number that was typed."""
    try:
        return float(text)
    except ValueError:
        raise InvalidInput(f"{name} must be a number; got {brief(text)}.") from None


# -- tables ------------------------------------------------------------------------------------


def table_of(form: Form) -> dict[str, Any]:
    """Return the table of a new game: labels, and a row of what is earned and seen per action."""
    actions, outcomes = (
        [own.strip() for own in form.all.get(name, [])] for name in ("action", "outcome")
    )
    earns, shows = form.all.get("earns", []), form.all.get("shows", [])
    width = len(outcomes)
    if not len(earns) == len(shows) == len(actions) * width:
        raise InvalidInput("the table must have as many cells in every row.")
    rows = range(0, len(earns), width or 1)
    return {
        "actions": actions,
        "outcomes": outcomes,
        "earns": [[_number(own) for own in earns[i : i + width]] for i in rows],
        "shows": [[own.strip() for own in shows[i : i + width]] for i in rows],
    }


def _number(text: str) -> object:
    """Return a number that was typed, or the text, which is then refused by name."""
    try:
        return int(text)
    except ValueError:
        try:
            return float(text.strip().replace("−", "-").replace(",", "."))
        except ValueError:
            return text


def shown_table(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return a table as the template shows it."""
    return {
        "outcomes": table["outcomes"],
        "rows": [
            {
                "action": action,
                "cells": [
                    {"earns": earns, "shows": shows}
                    for earns, shows in zip(table["earns"][i], table["shows"][i], strict=True)
                ],
            }
            for i, action in enumerate(table["actions"])
        ],
    }


def sized_table(rows: int, columns: int) -> dict[str, Any]:
    """Return the first table, or an empty one of another size."""
    if (rows, columns) == (2, 2):
        return dict(START)
    return {
        "outcomes": [f"outcome {j + 1}" for j in range(columns)],
        "actions": [f"action {i + 1}" for i in range(rows)],
        "earns": [[0] * columns for _ in range(rows)],
        "shows": [[""] * columns for _ in range(rows)],
    }


# -- games -------------------------------------------------------------------------------------


def game_of_file(name: str, text: str) -> dict[str, Any]:
    """Return the game of a file as ``create`` takes it; the end of its name says what it is."""
    if not text.strip():
        raise InvalidInput("choose a game file, or paste its content.")
    begins = text.lstrip()[0]
    if name.endswith(".csv") or (not name and begins not in "{[" and "=" not in text):
        return {"file": _csv_game(text)}
    try:
        data = json.loads(text) if begins == "{" else tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"the game file cannot be read: {error}.") from None
    return {"file": data}


def _csv_game(text: str) -> dict[str, Any]:
    """Return the content of the game file of a table in CSV."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "table.csv")
        write_text(path, text)
        try:
            return game_to_dict(from_csv(path))
        except PartialMonitoringError as error:
            raise InvalidInput(str(error).replace(f"{path}", "the table")) from None


def named_games() -> list[dict[str, Any]]:
    """Return the games that come with the library, with a sentence on each."""
    return [named_game(name) for name in games.GAMES]


def named_game(name: str, typed: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Return a game of the library: its sentence, and its options with their defaults."""
    try:
        make = games.GAMES[name]
    except KeyError:
        raise InvalidInput(f"there is no game {brief(name)}.") from None
    again = Again(typed or {})
    return {
        "name": name,
        "title": name.replace("_", " "),
        "words": games.summary(name),
        "options": [
            {"name": own.name, "default": _default(own), "typed": again[f"option-{own.name}"]}
            for own in signature(make).parameters.values()
            if own.kind is not Parameter.VAR_KEYWORD
        ],
    }


def _default(own: Parameter) -> str:
    try:
        return "" if own.default in (None, Parameter.empty) else json.dumps(own.default)
    except (TypeError, ValueError):
        return ""


def options_of(form: Form) -> dict[str, Any]:
    """Return the options of a named game that were typed."""
    prefix = "option-"
    return {
        name.removeprefix(prefix): value_of(values[-1])
        for name, values in form.all.items()
        if name.startswith(prefix) and values[-1].strip()
    }


# -- history -----------------------------------------------------------------------------------


def rows_of(text: str) -> list[dict[str, Any]]:
    """Return the rows of a history, written as CSV with a header or as one object a line."""
    if not text.strip():
        raise InvalidInput("choose a file, or type rows.")
    if text.lstrip()[0] in "{[":
        return _objects(text)
    found = csv.DictReader(StringIO(text.strip()), strict=True)
    if not {"action", "observation"} <= set(found.fieldnames or ()):
        raise InvalidInput(
            f"the first line must name the columns, among them action and observation; got "
            f"{brief(text.strip().splitlines()[0])}."
        )
    rows = []
    try:
        for line, row in enumerate(found, start=2):
            if None in row or None in row.values():
                raise InvalidInput(f"line {line} must have {len(found.fieldnames or ())} cells.")
            rows.append({name: _cell(name, own) for name, own in row.items() if own.strip()})
    except csv.Error as error:
        raise InvalidInput(f"the rows cannot be read as CSV: {error}.") from None
    return rows


def _cell(name: str, text: str) -> object:
    if name in NUMBERS:
        return real(name, text)
    if name == "count":
        return whole(name, text)
    return observation_of(text) if name == "observation" else text.strip()


def _objects(text: str) -> list[dict[str, Any]]:
    try:
        if text.lstrip()[0] == "[":
            rows = json.loads(text)
        else:
            rows = [json.loads(line) for line in text.splitlines() if line.strip()]
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"the rows cannot be read as JSON: {error}.") from None
    return rows  # type: ignore[no-any-return]


def capital(text: str) -> str:
    """Return a sentence that begins with a capital letter."""
    return text[:1].upper() + text[1:]
