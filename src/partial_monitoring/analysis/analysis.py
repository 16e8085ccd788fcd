"""The analysis of a game without contexts (section 4.3), and how it is computed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from partial_monitoring.analysis import explain
from partial_monitoring.analysis.cells import Cells, Pair, find_cells
from partial_monitoring.analysis.exact import ExactGame
from partial_monitoring.analysis.facts import Facts
from partial_monitoring.analysis.observability import Certificate, ExactSpan, FloatSpan, span_of
from partial_monitoring.errors import InvalidInput
from partial_monitoring.model.game import Game
from partial_monitoring.numerics.linalg import row_space
from partial_monitoring.validation import brief

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_VALUES = 1000
"""Largest number of function values of a kernel game that is analysed before it is played."""


class Analysis(Facts):
    """What is known about a game before it is played, with proofs, words and pictures.

    Made by :func:`analyze`. Actions are indices from 0; pairs are tuples (a, b) with a < b.
    """

    def explain(self) -> str:
        """Say in plain sentences what kind of game this is and why."""
        return explain.sentences(self)

    def plot(self, ax: Any = None) -> Figure:
        """Draw the cells, or the graph of neighbours if the cells have no plane picture."""
        from partial_monitoring.analysis import pictures

        return pictures.plot(self, ax)

    def __repr__(self) -> str:
        proof = "certified" if self.certified else f"margin {self.margin:.2g}"
        return f"Analysis({self.category}, regret {self.regret_rate}, {proof})"

    def __str__(self) -> str:
        return self.explain()

    def _repr_html_(self) -> str:
        return explain.html_list(self)


def analyze_game(game: Game) -> Analysis:
    """Classify a game without contexts and prove it."""
    game = game.linear
    exact = ExactGame.of(game)
    cells = find_cells(game, exact)
    certificates = _certificates(game, exact, cells)
    sound = Analysis(game, cells, *certificates, False, False).verify()
    return Analysis(game, cells, *certificates, sound and cells.exact, sound)


def _certificates(
    game: Game, exact: ExactGame | None, cells: Cells
) -> tuple[dict[Pair, Certificate], dict[Pair, Certificate]]:
    """Return the local certificates of all neighbours and the global ones of a connecting star."""
    neighbors = cells.neighbors
    spans: dict[tuple[int, ...], FloatSpan | ExactSpan] = {}
    local = {}
    for pair in neighbors:
        near = cells.faces[pair].neighborhood
        if near not in spans:
            spans[near] = span_of(game, exact, near)
        local[pair] = spans[near].certify(*pair)
    if not neighbors:
        return {}, {}
    whole = span_of(game, exact, range(game.k))
    first = neighbors[0][0]
    same = {a for group in cells.duplicates if first in group for a in group}
    others = sorted({a for pair in neighbors for a in pair} - {first} - same)
    pairs = [(min(first, b), max(first, b)) for b in others]
    star = {pair: whole.certify(*pair) for pair in pairs}
    if all(certificate.seen for certificate in star.values()):
        return local, star
    return local, star | {pair: whole.certify(*pair) for pair in neighbors}


def refuse_hopeless_game(game: Game) -> None:
    """Refuse a game without contexts in which no policy can learn."""
    traits = game.traits
    if not traits.listed:
        return
    if game.shows_own_reward or (traits.function and game.d > MOST_VALUES):
        return
    reduced = game.linear.reduced
    seen = reduced.basis.T @ reduced.difference_basis  # (r, D)
    away = reduced.features - reduced.features[0]
    basis = row_space(seen) if seen.size else np.zeros((reduced.dimension, 0))
    rest = away - away @ basis @ basis.T
    size = float(np.abs(away).max(initial=0.0))
    if np.abs(rest).max(initial=0.0) <= 1e-9 * size:
        return
    analysis = analyze_game(game)
    if analysis.category == "hopeless":
        a, b = analysis.unobservable[0]
        raise InvalidInput(
            f"actions {brief(game.actions[a])} and {brief(game.actions[b])} cannot be "
            f"told apart by any "
            f"feedback, so this game is hopeless; pass allow_hopeless=True to play it anyway."
        )
