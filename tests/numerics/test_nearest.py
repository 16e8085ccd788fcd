"""Distances from polyhedra in the norm of a precision, against a conic program."""

from __future__ import annotations

import numpy as np
import pytest

from partial_monitoring.numerics import conic
from partial_monitoring.numerics.compiled import bodies, nearest, plausible


@pytest.mark.parametrize("seed", range(60))
def test_distances_with_several_active_facets(seed: int) -> None:
    rng = np.random.default_rng(seed)
    dim, count = int(rng.integers(1, 7)), int(rng.integers(1, 20))
    facets = rng.normal(size=(count, dim))
    bounds = facets @ rng.normal(size=dim) + rng.exponential(0.3, size=count)
    half = rng.normal(size=(dim, dim))
    gram, x = half @ half.T + 0.1 * np.eye(dim), 3.0 * rng.normal(size=dim)
    nobody = bodies.Cut(bodies.WHOLE, x, 0.0, facets, bounds, np.zeros((0, 0)))
    room = plausible.make_room(nobody, 0, dim)
    nearest.factor(gram, 1.0, room.root)
    nearest.face(facets, bounds, room.root, x, room.near.rows[0], room.near.slack[0])
    found = nearest.distance(room.near, np.arange(count), np.inf, 0)
    away = conic.nearest_point(x, gram, facets, bounds) - x
    assert found == pytest.approx(away @ gram @ away, rel=1e-6, abs=1e-9)
