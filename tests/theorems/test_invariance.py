"""What must not change the class of a game, and what can only make it better."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from random import Random
from typing import Any

import numpy as np
import pytest

import partial_monitoring as pm
from tests.oracles.facts import analyzed, facts, finite_games, linear_games, same_alignment
from tests.oracles.random_games import Draw, library_game
from tests.oracles.slow_classifier import Matrix, Vector


def all_games() -> list[Draw]:
    return finite_games()[::2] + linear_games()[::2]


# -- relabelling -----------------------------------------------------------------------------


def test_permuting_actions() -> None:
    for seed, draw in enumerate(all_games()):
        game, before = draw.game, analyzed(draw)
        order = Random(seed).sample(range(game.k), game.k)
        moved = pm.Game(game.features[order], [game.rows(a) for a in order], game.parameters)
        after = pm.analyze(moved)
        assert facts(after, label=lambda a, order=order: order[a]) == facts(before)
        same_alignment(after, before)


def test_permuting_outcomes() -> None:
    for seed, draw in enumerate(finite_games()):
        game, before = draw.game, analyzed(draw)
        assert isinstance(game, pm.FiniteGame)
        order = Random(seed).sample(range(game.d), game.d)
        signals = [[row[x] for x in order] for row in game.signals]
        after = pm.analyze(pm.FiniteGame(game.rewards[:, order], signals))
        assert facts(after) == facts(before)
        same_alignment(after, before)


def test_permuting_coordinates() -> None:
    for seed, draw in enumerate(linear_games()):
        before = analyzed(draw)
        slow = draw.slow
        order = Random(seed).sample(range(slow.theta.n), slow.theta.n)

        def permuted(rows: Matrix, order: list[int] = order) -> Matrix:
            return tuple(tuple(row[x] for x in order) for row in rows)

        parameters = draw.game.parameters
        match parameters:
            case pm.Box(low=low, high=high):
                parameters = pm.Box(low[order], high[order])
            case pm.Polytope():
                a_ub, b_ub, a_eq, b_eq = parameters.halfspaces()
                parameters = pm.Polytope(a_ub[:, order], b_ub, a_eq[:, order], b_eq)
        after = pm.analyze(
            library_game(
                permuted(slow.features), tuple(permuted(rows) for rows in slow.maps), parameters
            )
        )
        assert facts(after) == facts(before)
        same_alignment(after, before)


def test_renaming_signals() -> None:
    """Each action has its own alphabet: what its symbols are called does not matter."""
    for seed, draw in enumerate(finite_games()):
        game, before = draw.game, analyzed(draw)
        assert isinstance(game, pm.FiniteGame)
        signals: list[list[Any]] = []
        for a, row in enumerate(game.signals):
            names = Random(1000 * seed + a).sample(["x", 7, (1, 2), None, "y"], 5)
            code = dict(zip(dict.fromkeys(row), names, strict=False))
            signals.append([code[symbol] for symbol in row])
        after = pm.analyze(pm.FiniteGame(game.rewards, signals))
        assert facts(after) == facts(before)
        same_alignment(after, before)


def test_rotating_observations() -> None:
    """Permuting rows, changing signs and adding rows of zeros shows the same."""
    for seed, draw in enumerate(all_games()):
        random, before = Random(seed), analyzed(draw)
        maps = []
        for rows in draw.slow.maps:
            own = [[x * sign for x in row] for row in rows for sign in [random.choice([1, -1])]]
            own += [[Fraction(0)] * draw.slow.theta.n] * random.randint(0, 2)
            random.shuffle(own)
            maps.append(tuple(tuple(row) for row in own))
        after = pm.analyze(library_game(draw.slow.features, tuple(maps), draw.game.parameters))
        assert facts(after) == facts(before)
        same_alignment(after, before)


# -- rewards ---------------------------------------------------------------------------------


@pytest.mark.parametrize("factor", [3.0, 0.125, 1000.0, 0.001])
def test_scaling_rewards(factor: float) -> None:
    for draw in all_games()[::2]:
        game, before = draw.game, analyzed(draw)
        scaled = [[float(x * Fraction(str(factor))) for x in row] for row in draw.slow.features]
        after = pm.analyze(pm.Game(scaled, [game.rows(a) for a in range(game.k)], game.parameters))
        assert facts(after) == facts(before)
        same_alignment(after, before, factor**2)


def test_scaling_observations() -> None:
    for draw in all_games():
        before = analyzed(draw)
        maps = tuple(tuple(tuple(4 * x for x in row) for row in rows) for rows in draw.slow.maps)
        after = pm.analyze(library_game(draw.slow.features, maps, draw.game.parameters))
        assert facts(after) == facts(before)
        same_alignment(after, before, 1 / 16)


def test_adding_a_constant_to_an_outcome() -> None:
    """What all actions earn alike does not matter, whatever it is in each outcome."""
    for seed, draw in enumerate(all_games()):
        random, before = Random(seed), analyzed(draw)
        shift = [Fraction(random.randint(-30, 30), 10) for _ in range(draw.slow.theta.n)]
        features = tuple(
            tuple(x + y for x, y in zip(row, shift, strict=True)) for row in draw.slow.features
        )
        after = pm.analyze(library_game(features, draw.slow.maps, draw.game.parameters))
        assert facts(after) == facts(before)
        same_alignment(after, before)


# -- more actions, more outcomes -------------------------------------------------------------


def with_action(draw: Draw, features: Vector, rows: Matrix) -> pm.Analysis:
    return pm.analyze(
        library_game((*draw.slow.features, features), (*draw.slow.maps, rows), draw.game.parameters)
    )


def test_duplicating_an_action() -> None:
    """A copy is in every set and every neighbourhood where its model is."""
    for seed, draw in enumerate(all_games()):
        before, k = analyzed(draw), draw.game.k
        a = Random(seed).randrange(k)
        after = with_action(draw, draw.slow.features[a], draw.slow.maps[a])
        assert facts(after, keep=k) == facts(before)
        same_alignment(after, before)
        for kind in ("pareto", "degenerate", "dominated"):
            members = getattr(after, kind)
            assert (a in members) == (k in members)
        assert any({a, k} <= set(group) for group in after.duplicates)
        for pair, near in after.neighborhoods.items():
            assert (a in near) == (k in near)
            if a in pair:
                (other,) = set(pair) - {a}
                assert after.neighborhoods[min(other, k), max(other, k)] == near


def test_a_silent_copy() -> None:
    """A copy that shows nothing changes nothing, although it is an action like its model."""
    for seed, draw in enumerate(all_games()):
        before, k = analyzed(draw), draw.game.k
        a = Random(seed).randrange(k)
        after = with_action(draw, draw.slow.features[a], ())
        assert facts(after, keep=k) == facts(before)
        same_alignment(after, before)


def test_a_silent_dominated_action() -> None:
    for draw in finite_games():
        before, k = analyzed(draw), draw.game.k
        worst = tuple(min(column) - 1 for column in zip(*draw.slow.features, strict=True))
        after = with_action(draw, worst, ())
        assert k in after.dominated
        assert facts(after, keep=k) == facts(before)
        same_alignment(after, before)


def test_splitting_an_outcome() -> None:
    """Two outcomes that pay and show the same are one: only the dimension counts them."""
    for seed, draw in enumerate(finite_games()):
        game, before = draw.game, analyzed(draw)
        assert isinstance(game, pm.FiniteGame)
        x = Random(seed).randrange(game.d)
        outcomes = [*range(game.d), x]
        signals = [[row[y] for y in outcomes] for row in game.signals]
        after = pm.analyze(pm.FiniteGame(game.rewards[:, outcomes], signals))
        assert after.dimension == before.dimension + 1
        expected = {**vars(facts(before)), "dimension": before.dimension + 1}
        assert vars(facts(after)) == expected
        same_alignment(after, before)


ORDER = ("trivial", "easy", "hard", "hopeless")


def test_more_to_see_is_never_worse() -> None:
    """One more row of observations keeps the cells; class and alignment can only improve."""
    for seed, draw in enumerate(all_games()):
        random, before = Random(seed), analyzed(draw)
        maps = list(draw.slow.maps)
        a = random.randrange(len(maps))
        row = tuple(Fraction(random.randint(-2, 2)) for _ in range(draw.slow.theta.n))
        maps[a] = (*maps[a], row)
        after = pm.analyze(library_game(draw.slow.features, tuple(maps), draw.game.parameters))
        assert after.verify()
        assert after.neighborhoods == before.neighborhoods
        assert ORDER.index(after.category) <= ORDER.index(before.category)
        assert after.alignment <= before.alignment * (1 + 1e-6)
        assert before.rank <= after.rank <= before.rank + 1


def test_full_information_is_easy() -> None:
    for draw in all_games():
        d = draw.slow.theta.n
        eye = tuple(tuple(Fraction(int(i == j)) for j in range(d)) for i in range(d))
        maps = (eye,) * draw.slow.k
        after = pm.analyze(library_game(draw.slow.features, maps, draw.game.parameters))
        assert after.category in ("trivial", "easy")
        assert after.rank == after.dimension
        features, basis = draw.game.features, draw.game.parameters.difference_basis()
        pairs = combinations(after.pareto, 2)
        gaps = [np.linalg.norm((features[a] - features[b]) @ basis) for a, b in pairs]
        # Seeing all of theta k times, each with weight 1/k: alpha is the largest |Q'(a - b)|^2.
        assert after.alignment == pytest.approx(max(gaps, default=0.0) ** 2, rel=1e-6, abs=1e-12)
