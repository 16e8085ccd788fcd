"""Hypothesis strategies that several tests share."""

from __future__ import annotations

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st
from numpy.typing import NDArray

import partial_monitoring as pm

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


@st.composite
def signal_games(draw: st.DrawFn, hopeless: bool = False) -> pm.Game:
    """Small finite and Bernoulli games; with few different numbers, ties and copies abound.

    Unless ``hopeless``, what is shown decides which action is best. Few are trivial.
    """
    k, d = draw(st.sampled_from([3, 4, 5, 2, 1])), draw(st.sampled_from([3, 2, 4, 1]))
    rng = np.random.default_rng(draw(st.integers(0, 2**31)))
    numbers = draw(st.sampled_from([[0.0, 0.25, 0.5, 0.75, 1.0], [-2.0, 0.0, 1.0], [0.3, 1.7]]))
    rewards = rng.choice(numbers, (k, d))
    if draw(st.booleans()):
        rewards = rewards + rng.random((k, d)).round(2)
    signals = rng.choice(list("aabc"), (k, d)).tolist()
    if not hopeless or draw(st.booleans()):
        signals[rng.integers(k)] = list("abcd"[:d])
    if draw(st.booleans()):
        game: pm.Game = pm.FiniteGame(rewards, signals)
    else:
        maps = [[[float(symbol == "a") for symbol in row]] for row in signals]
        maps = [[[0.25 + 0.5 * x for x in row] for row in rows] for rows in maps]
        game = pm.Game(rewards, maps, pm.Simplex(d), 0.5, noise="bernoulli")
    refused = {"trivial": draw(st.integers(0, 3)) > 0, "hopeless": not hopeless}
    assume(not refused.get(pm.analyze(game).category, False))
    return game


@st.composite
def signal_counts(draw: st.DrawFn, size: int) -> Array:
    """How often signals were seen: never, rarely, or very often."""
    kind = draw(st.sampled_from(["few", "many", "extreme"]))
    match kind:
        case "few":
            numbers = st.integers(0, 6)
        case "many":
            numbers = st.integers(0, 1000)
        case _:
            numbers = st.sampled_from([0, 0, 1, 10**3, 10**6])
    return np.array(draw(st.lists(numbers, min_size=size, max_size=size)), dtype=float)
