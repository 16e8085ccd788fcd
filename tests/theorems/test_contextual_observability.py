"""Local observability of games with contexts as a whole."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import combinations, pairwise

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import partial_monitoring as pm
from partial_monitoring.analysis.contextual import faces
from partial_monitoring.cli import main
from tests.oracles.contextual_games import game, in_square


def locally_observable(found: pm.ContextualGame) -> bool:
    """Walk along every line on which two actions of a context tie, from crossing to crossing."""
    own = [
        (g.features.astype(int).tolist(), [g.rows(a)[:, :2].tolist() for a in range(g.k)])
        for g, p in zip(found.games, found.context_distribution, strict=True)
        if p > 0
    ]
    lines = {
        tuple(x - y for x, y in zip(one, two, strict=True))
        for features, _ in own
        for one, two in combinations(features, 2)
    }
    lines |= {(1, 0, 1), (1, 0, -1), (0, 1, 1), (0, 1, -1)}
    for features, _ in own:
        for a, b in combinations(range(len(features)), 2):
            tie = [x - y for x, y in zip(features[a], features[b], strict=True)]
            if tie[0] == tie[1] == 0:
                continue
            for theta in _between(tie, lines):
                best = [_best(phi, theta) for phi, _ in own]
                mine = next(best[i] for i, (phi, _) in enumerate(own) if phi is features)
                if not {a, b} <= mine:
                    continue
                rows = [
                    row
                    for (_, maps), good in zip(own, best, strict=True)
                    for c in good
                    for row in maps[c]
                ]
                if _rank([*rows, tie[:2]]) > _rank(rows):
                    return False
    return True


def _between(tie: list[int], lines: set[tuple[int, ...]]) -> list[list[Fraction]]:
    """Points of the line in the square, one between every two crossings with other lines."""
    p, q, r = map(Fraction, tie)
    start = [-r * p / (p * p + q * q), -r * q / (p * p + q * q)]
    along = [-q, p]
    crossings = set()
    for x, y, z in lines:
        slope = x * along[0] + y * along[1]
        if slope:
            crossings.add(-(x * start[0] + y * start[1] + z) / slope)
    middles = [(s + t) / 2 for s, t in pairwise(sorted(crossings))]
    points = [[start[i] + t * along[i] for i in (0, 1)] for t in middles]
    return [[*point, Fraction(1)] for point in points if max(map(abs, point)) < 1]


def _best(features: list[list[int]], theta: list[Fraction]) -> set[int]:
    rewards = [sum(x * y for x, y in zip(phi, theta, strict=True)) for phi in features]
    return {a for a, reward in enumerate(rewards) if reward == max(rewards)}


def _rank(rows: list[list[float]]) -> int:
    return int(np.linalg.matrix_rank(np.array(rows))) if rows else 0


@given(st.integers(0, 100_000))
@settings(max_examples=60)
def test_local_observability_against_brute_force(seed: int) -> None:
    found = in_square(seed)
    analysis = pm.analyze(found)
    assert analysis.certified
    assert analysis.verify()
    if analysis.observable:
        assert analysis.locally_observable == locally_observable(found)
        assert not analysis.undecided
    else:
        assert not locally_observable(found)


@given(st.integers(0, 100_000))
@settings(max_examples=40)
def test_floating_point_finds_the_class_of_the_exact_game(seed: int) -> None:
    """Rewards and observations times a root are not rational, but the class is the same."""
    exact = in_square(seed)
    games = [
        pm.Game(3**0.5 * own.features, [2**0.5 * own.rows(a) for a in range(own.k)], own.parameters)
        for own in exact.games
    ]
    analysis = pm.analyze(pm.ContextualGame(games, exact.context_distribution))
    assert analysis.sound
    assert analysis.category == pm.analyze(exact).category or analysis.undecided


@given(st.integers(0, 10_000))
@settings(max_examples=20)
def test_the_set_around_zero_does_not_matter(seed: int) -> None:
    """Without constants in the rewards cells are cones: all of R^d, boxes and balls are alike."""
    rng = np.random.default_rng(seed)
    d = int(rng.integers(2, 4))
    data = []
    for _ in range(int(rng.integers(1, 5))):
        k = int(rng.integers(1, 5))
        maps = [rng.integers(-1, 2, (int(rng.integers(0, 2)), d)) for _ in range(k)]
        data.append((rng.integers(-2, 3, (k, d)), maps))
    sets = [pm.AllParameters(d), pm.Box([-1] * d, [1] * d), pm.Ball(np.zeros(d), 1.0)]
    found = [
        pm.analyze(pm.ContextualGame([pm.Game(phi, maps, own) for phi, maps in data]))
        for own in sets
    ]
    assert len({analysis.category for analysis in found}) == 1
    assert all(analysis.sound for analysis in found)
    assert [analysis.certified for analysis in found] == [True, True, False]


def test_curved_sets_are_decided_in_floating_point() -> None:
    ball = pm.Ball([0.1, 0.2, 0.3], 1.0)
    rng = np.random.default_rng(0)
    features = rng.normal(size=(4, 3))
    shows = pm.Game(features, features[:, None], ball)
    silent = pm.Game(2 * features, [[]] * 4, ball)
    whole = pm.analyze(pm.ContextualGame([shows, silent], [0.2, 0.8]))
    assert [own.category for own in whole.contexts] == ["easy", "hopeless"]
    assert whole.category == "easy"
    assert whole.sound
    assert not whole.certified


def test_both_answers_occur_where_contexts_need_each_other() -> None:
    """So that the comparison above is about something."""
    kinds = set()
    for seed in range(120):
        analysis = pm.analyze(in_square(seed))
        if analysis.faces:
            cut = any(len(face.regions) > 1 for face in analysis.faces.values())
            kinds.add((analysis.locally_observable, cut))
    assert kinds >= {(True, False), (True, True), (False, False)}


def test_too_many_regions_leave_it_open() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(faces, "MOST_REGIONS", 0)
        analysis = pm.analyze(game([[[1, 0]], [[0, 1]]]))
    assert analysis.undecided == [(0, 0, 1), (1, 0, 1)]
    assert analysis.category == "learnable"
    assert "it may be easier than said here" in analysis.explain()


def test_a_context_in_which_one_action_is_always_best_does_not_explore() -> None:
    """The survey with a voucher: who answers gets the voucher, and that shows nothing."""
    analysis = pm.analyze(pm.games.survey(voucher=True))
    assert analysis.certified
    assert analysis.observable
    assert not analysis.locally_observable
    assert "do not show which of the two is better" in analysis.explain()


def test_the_command_line() -> None:
    text = CliRunner().invoke(main, ["analyze", "survey"]).output
    assert "'silent' (probability 0.7) shows nothing and is hopeless by itself" in text
    data = json.loads(CliRunner().invoke(main, ["analyze", "survey", "--json"]).output)
    assert data["category"] == "easy"
    assert data["certified"]
    assert data["alignment_exact"]
    assert set(data["contexts"]) == {"answers", "silent"}
