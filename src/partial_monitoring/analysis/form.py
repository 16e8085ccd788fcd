"""Whether an analysis has the form of one: complete, and every entry of the right kind and shape.

The proofs are checked only after this, so that what is missing or malformed cannot pass for proved.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import isfinite
from typing import Any

import numpy as np

from partial_monitoring.analysis.cells import Cell, Cells, Face
from partial_monitoring.analysis.observability import Certificate
from partial_monitoring.model.game import Game
from partial_monitoring.numerics.rational import Rational

KINDS = ("pareto", "degenerate", "dominated")


def form_problems(
    game: Game, exact: bool, cells: Cells, local: Any, everywhere: Any
) -> Iterator[str]:
    """Yield one sentence for everything that is missing or not of the right kind and shape."""
    if not is_tuple(cells.cells, Cell):
        yield "the cells are missing."
        return
    if len(cells.cells) != game.k:
        yield f"there are {len(cells.cells)} cells for {game.k} actions."
    for a, cell in enumerate(cells.cells):
        known = isinstance(cell.kind, str) and cell.kind in KINDS
        if not known or not _proves(game, exact, cell.witness, cell.mixture):
            yield f"the cell of action {a} is malformed."
    groups = cells.duplicates
    if (
        not is_tuple(groups, tuple)
        or not is_actions(tuple(a for group in groups for a in group), game.k)
        or not all(len(group) > 1 and list(group) == sorted(group) for group in groups)
    ):
        yield "the groups of duplicates are malformed."
    if not isinstance(cells.faces, dict):
        yield "the faces are missing."
        return
    for pair, face in cells.faces.items():
        if not is_pair(pair, game.k) or not _is_face(game, exact, face):
            yield f"the face of {pair} is malformed."
    for name, certificates in (("local", local), ("global", everywhere)):
        if not isinstance(certificates, dict):
            yield f"the {name} certificates are missing."
            continue
        for pair, own in certificates.items():
            if not is_pair(pair, game.k) or not is_certificate(game, exact, own):
                yield f"the {name} certificate of {pair} is malformed."


def is_certificate(game: Game, exact: bool, found: Any) -> bool:
    """Whether something is a certificate with either weights or a blind direction."""
    if not isinstance(found, Certificate) or not is_actions(found.actions, game.k):
        return False
    if found.weights is None:
        return is_numbers(found.blind, (game.d,), exact)
    return found.blind is None and is_numbers(found.weights, (len(found.actions), game.m), exact)


def is_numbers(found: Any, shape: tuple[int, ...], exact: bool) -> bool:
    """Whether something is an array of numbers: fractions, or also finite floats if not exact."""
    if isinstance(found, Rational):
        top, bottom = found
        whole = isinstance(top, np.ndarray) and (
            top.dtype == np.int64
            or (top.dtype == object and all(isinstance(entry, int) for entry in top.flat))
        )
        return bool(whole and top.shape == shape and _is_integer(bottom) and bottom > 0)
    if exact or not isinstance(found, np.ndarray):
        return False
    return bool(found.shape == shape and found.dtype.kind == "f" and np.isfinite(found).all())


def is_number(found: Any, exact: bool) -> bool:
    """Whether something is a fraction, or also a finite float if not exact."""
    if isinstance(found, Fraction) or _is_integer(found):
        return True
    return not exact and isinstance(found, float) and isfinite(found)


def is_actions(found: Any, k: int) -> bool:
    """Whether something is a tuple of different actions."""
    numbers = isinstance(found, tuple) and all(_is_integer(a) and 0 <= a < k for a in found)
    return numbers and len(set(found)) == len(found)


def is_pair(found: Any, k: int) -> bool:
    """Whether something is a pair of actions (a, b) with a < b."""
    return is_actions(found, k) and len(found) == 2 and found[0] < found[1]


def _is_face(game: Game, exact: bool, face: Any) -> bool:
    return (
        isinstance(face, Face)
        and is_pair(face.pair, game.k)
        and isinstance(face.neighbors, bool)
        and is_actions(face.neighborhood, game.k)
        and is_number(face.tie_weight, exact)
        and _proves(game, exact, face.witness, face.mixture)
    )


def _proves(game: Game, exact: bool, witness: Any, mixture: Any) -> bool:
    """Whether a witness (d,) and a mixture (k,) have their form, where they are given."""
    return (witness is None or is_numbers(witness, (game.d,), exact)) and (
        mixture is None or is_numbers(mixture, (game.k,), exact)
    )


def is_tuple(found: Any, kind: type) -> bool:
    """Whether something is a tuple of objects of a kind."""
    return isinstance(found, tuple) and all(isinstance(entry, kind) for entry in found)


def _is_integer(found: Any) -> bool:
    return isinstance(found, int | np.integer) and not isinstance(found, bool)
