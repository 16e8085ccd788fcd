"""Certificates of an analysis, checked by the definitions."""

from __future__ import annotations

from dataclasses import fields
from fractions import Fraction
from typing import Any

import numpy as np

import partial_monitoring as pm
from tests.oracles.random_games import Draw
from tests.oracles.slow_classifier import SlowAnswer, SlowGame, Vector, classify, dot, minus


def check(draw: Draw) -> SlowAnswer:
    """Compare one game in every field, and every certificate with the definitions."""
    expected = classify(draw.slow)
    analysis = pm.analyze(draw.game)
    for field in fields(SlowAnswer):
        found = getattr(analysis, field.name)
        assert found == getattr(expected, field.name), (draw.name, field.name)
    assert analysis.certified, draw.name
    assert analysis.verify(), analysis.problems()
    check_certificates(draw.slow, expected, analysis)
    if expected.category == "trivial":
        assert analysis.alignment == 0
    if expected.category == "hopeless":
        assert analysis.alignment == np.inf
    return expected


def exact(numbers: Any) -> Any:
    """Return exact numbers of the library as nested lists of fractions."""
    return numbers.fractions().tolist()


def check_certificates(game: SlowGame, answer: SlowAnswer, analysis: pm.Analysis) -> None:
    everyone = range(game.k)
    twins = {a: {a} for a in everyone}
    for group in answer.duplicates:
        twins |= {a: set(group) for a in group}
    for a, cell in enumerate(analysis.cells.cells):
        rivals = [c for c in everyone if c not in twins[a]]
        if a not in answer.dominated:
            theta = inside(game, exact(cell.witness))
            leads = [game.reward(a, theta) - game.reward(c, theta) for c in rivals]
            assert min(leads, default=1) > 0 if a in answer.pareto else min(leads) >= 0
        if a not in answer.pareto:
            shares = exact(cell.mixture)
            assert all(share >= 0 for share in shares)
            assert sum(shares) > 0
            assert all(shares[c] == 0 for c in twins[a])
            leads = [behind(game, a, shares, corner) for corner in game.corners]
            assert min(leads) >= 0 if a in answer.degenerate else min(leads) > 0
    for (a, b), face in analysis.cells.faces.items():
        near = answer.neighborhoods.get((a, b))
        if near is not None:
            theta = inside(game, exact(face.witness))
            leads = [game.reward(a, theta) - game.reward(c, theta) for c in everyone]
            assert leads[b] == 0
            assert [c for c in everyone if leads[c] == 0] == near
            assert min(leads) == 0
        else:
            shares = exact(face.mixture)
            assert all(share >= 0 for share in shares)
            assert sum(shares) > 0
            a, b = face.pair  # duplicates share the proof of the first ones
            for corner in game.corners:
                push = Fraction(face.tie_weight) * (game.reward(a, corner) - game.reward(b, corner))
                assert behind(game, a, shares, corner) + push >= 0
    readings = [*analysis.local_readings.items(), *analysis.global_readings.items()]
    for (a, b), reading in readings:
        target = minus(game.features[a], game.features[b])
        if reading.seen:
            assert read(game, reading) == game.along(target)
        else:
            hidden = exact(reading.blind)
            assert all(dot(row, hidden) == 0 for c in reading.actions for row in game.maps[c])
            assert dot(target, hidden) != 0
            assert len(independent_of(game, hidden)) == game.dimension


def inside(game: SlowGame, point: list[Fraction]) -> Vector:
    """Return a witness, which must lie in Theta (or in R^d, where only its direction counts)."""
    largest = max(map(abs, point))
    scaled = [x / max(largest, 1) for x in point]
    assert game.theta.contains(point) or game.theta.contains(scaled)
    return tuple(point)


def behind(game: SlowGame, a: int, shares: list[Fraction], theta: Vector) -> Fraction:
    """Return by how much an action is behind a mixture."""
    return sum(
        (share * (game.reward(c, theta) - game.reward(a, theta)) for c, share in enumerate(shares)),
        Fraction(0),
    )


def read(game: SlowGame, reading: Any) -> Vector:
    """Return sum_c M_c' w_c on V."""
    total = [Fraction(0)] * game.theta.n
    for c, own in zip(reading.actions, exact(reading.weights), strict=True):
        for weight, row in zip(own, game.maps[c], strict=False):
            total = [old + weight * x for old, x in zip(total, row, strict=True)]
    return game.along(total)


def independent_of(game: SlowGame, direction: list[Fraction]) -> list[Vector]:
    """Return a basis of V and one more direction together: no longer if that lies in V."""
    from tests.oracles.slow_classifier import independent

    return independent([*game.directions, direction], game.theta.n)
