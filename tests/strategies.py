"""Hypothesis strategies that several tests share."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

Array = NDArray[np.float64]


@st.composite
def problems(
    draw: st.DrawFn, least: int = 1, most: int = 7, positive: bool = False
) -> tuple[Array, Array]:
    """Gaps and information: smooth, tied, integer, with zeros, or of many sizes."""
    k = draw(st.integers(least, most))
    kind = draw(st.sampled_from(["smooth", "integer", "tied", "sizes"]))
    match kind:
        case "smooth":
            numbers = st.floats(0.01, 10.0)
        case "integer":
            numbers = st.integers(0, 5).map(float)
        case "tied":
            numbers = st.sampled_from([0.0, 0.1, 0.2, 0.3, 1.0])
        case _:
            numbers = st.floats(-3.0, 3.0).map(lambda e: 10.0**e)
    gaps = np.array(draw(st.lists(numbers, min_size=k, max_size=k)))
    information = np.array(draw(st.lists(numbers, min_size=k, max_size=k)))
    return (gaps + 0.05 if positive else gaps), information


@st.composite
def mixtures(draw: st.DrawFn, k: int) -> Array:
    weights = np.array(draw(st.lists(st.floats(0.0, 1.0), min_size=k, max_size=k)))
    weights[draw(st.integers(0, k - 1))] += 0.01
    return weights / weights.sum()
