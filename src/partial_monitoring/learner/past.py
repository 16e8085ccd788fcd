"""Logged data as a learner is told them: lists, or a table with a column for each.

A table is a data frame (of pandas, polars, pyarrow or anything that names its ``columns``) or a
dict of lists. Nothing here depends on these libraries: a column is found by its name and read as a
list.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from partial_monitoring.errors import InvalidInput, unknown_name
from partial_monitoring.learner import session as steps
from partial_monitoring.learner.answers import told_vector
from partial_monitoring.learner.session import Request
from partial_monitoring.learner.several import logged_probability, shown_of
from partial_monitoring.learner.spec import Session, Spec
from partial_monitoring.learner.step import Step
from partial_monitoring.validation import brief, items

ARGUMENTS = {
    "action": "actions",
    "observation": "observations",
    "context": "contexts",
    "count": "counts",
    "weight": "weights",
    "probability": "probabilities",
}
"""The columns of a table, and the arguments that are given instead; the first two are needed."""


def read_rows(given: Mapping[str, Any], columns: Any = None) -> list[Request]:
    """Return one request per row of logged data, given by argument or as a table of actions."""
    table = given["actions"]
    if not _is_table(table):
        if columns is not None:
            raise InvalidInput("columns must be left out unless a table is given.")
        found = {name: given[argument] for name, argument in ARGUMENTS.items()}
        lists = one_per_action(
            {
                name: x
                for name, x in found.items()
                if x is not None or name in ("action", "observation")
            }
        )
    else:
        for argument in list(ARGUMENTS.values())[1:]:
            if given[argument] is not None:
                raise InvalidInput(f"{argument} must be left out with a table, as a column of it.")
        lists = _columns_of(table, columns)
    return [dict(zip(lists, row, strict=True)) for row in zip(*lists.values(), strict=True)]


def told(spec: Spec, session: Session, rows: Iterable[Request]) -> tuple[Session, list[Step]]:
    """Return the session after rows of logged data, and their steps; all of them or none."""
    made = []
    with spec.patience:
        for number, row in enumerate(rows):
            try:
                step = steps.observe(spec, session, row)
                session = steps.advance(spec, session, step)
            except InvalidInput as error:
                blamed = _blamed(spec, row, error)
                raise InvalidInput(f"row {number} of {blamed}: {error}") from None
            made.append(step)
    return session, made


def one_per_action(given: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Return columns of logged data as lists, each as long as that of the actions."""
    lists: dict[str, list[Any]] = {}
    for name, value in given.items():
        lists[name] = items(ARGUMENTS[name], value)
        count = len(lists["action"])
        if len(lists[name]) != count:
            raise InvalidInput(
                f"{ARGUMENTS[name]} must hold one entry per action, {count}; got "
                f"{len(lists[name])}."
            )
    return lists


def _blamed(spec: Spec, row: Request, error: InvalidInput) -> str:
    """Return the argument because of which a row was refused."""
    name = "context"
    try:
        context = spec.context(row.get("context"))
        name = "action"
        action = context.game.action_index(row["action"])
        name = "observation"
        vector = told_vector(spec, context, action, row["observation"])
        name = "probability"
        logged_probability(row)
        name = "weight" if "weight" in str(error) else "count"
        shown_of(row, row["observation"], vector)
    except InvalidInput:
        pass
    return ARGUMENTS[name]


def _is_table(given: Any) -> bool:
    """Whether logged data are given as columns with names."""
    return isinstance(given, Mapping) or (
        hasattr(given, "columns") and hasattr(given, "__getitem__")
    )


def _columns_of(table: Any, columns: Any) -> dict[str, list[Any]]:
    """Return the columns of a table by what they are, as lists of the same length."""
    if columns is not None and not isinstance(columns, Mapping):
        raise InvalidInput(
            f"columns must be a dict such as {{'action': 'price'}}; got {brief(columns)}."
        )
    renamed = dict(columns or {})
    for name in renamed:
        if name not in ARGUMENTS:
            raise unknown_name("columns", name, list(ARGUMENTS))
    present = list(table) if isinstance(table, Mapping) else _names(table)
    found: dict[str, list[Any]] = {}
    for name in ARGUMENTS:
        own = renamed.get(name, name)
        if name in renamed or name in ("action", "observation") or own in present:
            several = isinstance(own, (list, tuple)) and name == "observation"
            read = [_column(table, present, part) for part in (own if several else [own])]
            found[name] = list(zip(*read, strict=True)) if several else list(map(_or_none, read[0]))
    if "count" in found:
        found["count"] = list(map(_whole, found["count"]))
    if len({len(column) for column in found.values()}) > 1:
        raise InvalidInput("actions must be a table whose columns have the same length.")
    return found


def _names(table: Any) -> list[Any]:
    """Return the names of the columns of a data frame."""
    return list(getattr(table, "column_names", None) or table.columns)


def _column(table: Any, present: list[Any], name: Any) -> list[Any]:
    """Return a column as a list of what Python knows."""
    if name not in present:
        raise InvalidInput(
            f"actions must have a column {brief(name)}; its columns are {brief(present)}."
        )
    column = table[name]
    if hasattr(column, "columns"):
        raise InvalidInput(f"actions must have one column {brief(name)}; got several.")
    for method in ("to_list", "to_pylist", "tolist"):
        if hasattr(column, method):
            return list(getattr(column, method)())
    return items(str(name), column)


def _whole(value: Any) -> Any:
    """Return a count, which is a float in a column in which others are missing."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _or_none(value: Any) -> Any:
    """Return an entry of a data frame, None if it is missing: NaN, NaT or NA."""
    try:
        return None if value != value else value
    except TypeError:  # NA is neither equal nor different
        return None
    except ValueError:  # an array
        return value
