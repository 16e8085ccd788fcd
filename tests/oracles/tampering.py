"""Analyses changed at random: entries dropped, swapped or taken from elsewhere, numbers changed.

``tampered`` changes up to three places of an analysis, without any idea of what they mean; half of
the results are then made to agree with themselves, as a careful forger would.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from fractions import Fraction
from random import Random
from typing import Any, TypeVar

import numpy as np

import partial_monitoring as pm
from partial_monitoring.analysis.cells import Cells
from partial_monitoring.analysis.contextual.analysis import ContextualAnalysis
from partial_monitoring.analysis.contextual.joint_game import JointGame
from partial_monitoring.numerics.rational import Rational

Found = TypeVar("Found", pm.Analysis, ContextualAnalysis)

UNTOUCHED = ("game", "sound")
"""Whose analysis it is, and what is only shown."""

KINDS = ("pareto", "degenerate", "dominated", "whatever", None)
NUMBERS = (0, 1, -1, 2, 7, 10**9)


def tampered(found: Found, random: Random) -> Found:
    """Return an analysis with up to three changes."""
    changed: Any = found
    for _ in range(random.randint(1, 3)):
        changed = _changed(changed, random)
    if random.random() < 0.5 and isinstance(changed, pm.Analysis):
        changed = consistent(changed)
    return changed  # type: ignore[no-any-return]


def consistent(analysis: pm.Analysis) -> pm.Analysis:
    """Keep only the faces of Pareto actions and the certificates of neighbours."""
    try:
        cells: Cells = analysis.cells
        pareto = set(cells.of_kind("pareto"))
        faces = {pair: face for pair, face in cells.faces.items() if set(pair) <= pareto}
        known = replace(analysis, cells=replace(cells, faces=faces))
        near, certificates = known.neighborhoods, (known.local_readings, known.global_readings)
        local, everywhere = (
            {pair: own for pair, own in own.items() if set(pair) <= pareto} for own in certificates
        )
        return replace(
            known,
            local_readings={pair: own for pair, own in local.items() if pair in near},
            global_readings=everywhere,
        )
    except (AttributeError, TypeError, ValueError):  # too broken to be mended
        return analysis


def _changed(value: Any, random: Random) -> Any:
    """Return a value with one change somewhere inside."""
    if isinstance(value, Rational):
        return _changed_rational(value, random)
    if isinstance(value, JointGame):
        return replace(value, **random.choice([{"exact": None}, {"places": value.places[1:]}]))
    if is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in fields(value) if field.name not in UNTOUCHED]
        name = random.choice(names)
        own = getattr(value, name)
        other = random.choice([None, *(getattr(value, name) for name in names)])
        # Whole fields are missing or taken from another one now and then, but never all cells.
        whole = random.random() < 0.15 and name not in ("cells", "joint", "contexts")
        return replace(value, **{name: other if whole else _changed(own, random)})
    if isinstance(value, tuple | dict):
        return _changed_collection(value, random)
    if isinstance(value, np.ndarray):
        return _changed_array(value, random)
    return _changed_entry(value, random)


def _changed_collection(value: Any, random: Random) -> Any:
    """Drop, copy, swap or change entries of a tuple or dictionary."""
    items = list(value.items()) if isinstance(value, dict) else list(enumerate(value))
    if not items:
        return value
    i, j = random.randrange(len(items)), random.randrange(len(items))
    how = random.choice(("drop", "key", "swap", "copy", "change", "change", "change"))
    if how == "drop":
        del items[i]
    elif how == "key":
        items[i] = (_changed(items[i][0], random), items[i][1])
    elif how == "swap":
        items[i], items[j] = (items[i][0], items[j][1]), (items[j][0], items[i][1])
    elif how == "copy":
        items[i] = (items[i][0], items[j][1])
    else:
        items[i] = (items[i][0], _changed(items[i][1], random))
    return dict(items) if isinstance(value, dict) else tuple(own for _, own in items)


def _changed_rational(value: Rational, random: Random) -> Rational:
    top, bottom = value
    how = random.choice(("floats", "denominator", "sign", "numerators", "numerators"))
    if how == "floats":
        return value.floats()  # type: ignore[return-value]
    if how == "denominator":
        return Rational(top, random.choice((0, -1, -bottom, bottom + 1, 2 * bottom)))
    return Rational(-top if how == "sign" else _changed_array(top, random), bottom)


def _changed_array(array: Any, random: Random) -> Any:
    if array.size == 0 or random.random() < 0.1:
        return array[1:] if array.ndim else array
    changed = array.copy()
    index = tuple(random.randrange(n) for n in array.shape)
    step = random.choice(NUMBERS[1:])
    changed[index] = random.choice((0, -changed[index], changed[index] + step))
    if array.dtype.kind == "f" and random.random() < 0.2:
        changed[index] = random.choice((np.nan, np.inf, changed[index] * (1 + 1e-3)))
    return changed


def _changed_entry(value: Any, random: Random) -> Any:
    if isinstance(value, bool):
        return not value
    if value is None or isinstance(value, str):
        return random.choice(KINDS)
    if isinstance(value, Fraction | int | float):
        return random.choice((*NUMBERS, -value, value + 1, value / 2, None))
    return None
