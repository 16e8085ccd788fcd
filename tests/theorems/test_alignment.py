"""Alignment constants: their two programs, their bounds, and what they say about the class."""

from itertools import combinations

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import partial_monitoring as pm
from partial_monitoring.analysis.alignment import pair_alignment
from partial_monitoring.analysis.bounds import uniform_local_alignment
from partial_monitoring.analysis.table_1 import finite_alignment_bounds, graph_dueling_bound
from tests.oracles.known_games import KNOWN, load


def random_game(seed: int) -> pm.Game:
    rng = np.random.default_rng(seed)
    k, d = int(rng.integers(2, 5)), int(rng.integers(1, 4))
    maps = [rng.normal(size=(int(rng.integers(0, 3)), d)) for _ in range(k)]
    return pm.Game(rng.normal(size=(k, d)), maps, pm.AllParameters(d))


def by_cvxpy(game: pm.Game, a: int, b: int, actions: list[int]) -> float:
    """Return alpha_ab(actions) from its definition as a maximum over directions."""
    q = game.reduced.difference_basis
    v = cp.Variable(q.shape[1])
    seen = [game.observation_maps[c] @ q for c in actions]
    constraints = [cp.norm(rows @ v) <= 1 for rows in seen if rows.size]
    target = (game.features[a] - game.features[b]) @ q
    problem = cp.Problem(cp.Maximize(target @ v), [*constraints, cp.norm(v, "inf") <= 1e5])
    problem.solve(solver=cp.CLARABEL)
    return float(problem.value) ** 2


@given(st.integers(0, 10_000))
@settings(max_examples=30)
def test_both_programs_agree_with_the_definition(seed: int) -> None:
    game = random_game(seed)
    for a, b in combinations(range(game.k), 2):
        found = pair_alignment(game, a, b)
        expected = by_cvxpy(game, a, b, list(range(game.k)))
        if np.isinf(found.value):
            assert expected > 1e6
            continue
        assert found.value == pytest.approx(expected, rel=1e-5, abs=1e-9)
        assert found.gap <= 1e-6
        assert found.direction is not None
        assert found.weights is not None
        loudness = np.linalg.norm(game.observation_maps @ found.direction, axis=1)
        assert loudness.max(initial=0.0) <= 1 + 1e-9


@given(st.integers(0, 10_000))
@settings(max_examples=30)
def test_lemma_alignment_bounds(seed: int) -> None:
    """Any weights that estimate the difference bound the constant by their total length squared."""
    game = random_game(seed)
    stacked = game.observation_maps.reshape(-1, game.d)
    for a, b in combinations(range(game.k), 2):
        found = pair_alignment(game, a, b)
        if np.isinf(found.value):
            continue
        target = game.features[a] - game.features[b]
        weights = np.linalg.lstsq(stacked.T, target, rcond=None)[0]
        noise = np.random.default_rng(seed).normal(size=len(weights))
        null = np.eye(len(weights)) - np.linalg.pinv(stacked.T) @ stacked.T
        for other in (weights, weights + null @ noise):
            total = np.linalg.norm(other.reshape(game.k, -1), axis=1).sum()
            assert found.value <= total**2 * (1 + 1e-9) + 1e-12


@pytest.mark.parametrize("name", KNOWN)
def test_the_largest_pair_is_found(name: str) -> None:
    analysis = pm.analyze(load(name))
    if not np.isfinite(analysis.alignment):
        return
    pairs = combinations(analysis.pareto, 2)
    largest = max((pair_alignment(analysis.game, *pair).value for pair in pairs), default=0.0)
    assert analysis.alignment == pytest.approx(largest, rel=1e-7)
    details = pm.alignment(analysis.game)
    if details.pair is not None:
        assert details.pair[0] < details.pair[1]


EXAMPLES = {
    "linear_bandit": (pm.games.linear_bandit(), 4.0),
    "bandit_in_a_box": (pm.games.bernoulli_bandit_linear(4), 4.0),
    "dueling": (pm.games.dueling(), 4.0),
    "dueling_sign": (pm.games.dueling(feedback="sign"), 4.0),
    "path_3": (pm.games.graph_dueling([(0, 1), (1, 2)]), graph_dueling_bound(2)),
    "path_4": (pm.games.graph_dueling([(0, 1), (1, 2), (2, 3)]), graph_dueling_bound(3)),
    "star": (pm.games.graph_dueling([(0, 1), (0, 2), (0, 3)]), graph_dueling_bound(2)),
    "cycle": (pm.games.graph_dueling([(0, 1), (1, 2), (2, 3), (3, 0)]), graph_dueling_bound(2)),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_table_1_linear_rows(name: str) -> None:
    """The measured constant stays below the value of Table 1 (E18)."""
    game, bound = EXAMPLES[name]
    assert pm.analyze(game).alignment <= bound * (1 + 1e-7)


def test_graph_dueling_on_a_path_attains_its_bound() -> None:
    for name, bound in (("path_3", 16), ("path_4", 36)):
        assert pm.analyze(EXAMPLES[name][0]).alignment == pytest.approx(bound, rel=1e-6)


FINITE = [name for name in KNOWN if isinstance(load(name), pm.FiniteGame)]


@pytest.mark.parametrize("name", FINITE)
def test_lemma_on_finite_games(name: str) -> None:
    """(a) and (b) hold on observable games, (c) on non-degenerate locally observable ones."""
    game = load(name)
    assert isinstance(game, pm.FiniteGame)
    analysis, bound = pm.analyze(game), finite_alignment_bounds(game)
    if analysis.globally_observable:
        assert analysis.alignment <= bound.globally_observable
    if analysis.locally_observable:
        local = uniform_local_alignment(analysis)
        assert local <= bound.locally_observable
        if not analysis.degenerate and not analysis.duplicates:
            assert local <= bound.non_degenerate


def random_region(game: pm.Game, rng: np.random.Generator) -> pm.Polytope:
    """Return a random box around a random point of the simplex, cut by the simplex."""
    d = game.d
    point = rng.dirichlet(np.ones(d))
    width = 10.0 ** rng.uniform(-3, 0)
    rows = np.concatenate([np.eye(d), -np.eye(d), -np.eye(d)])
    sides = np.concatenate([point + width, width - point, np.zeros(d)])
    return pm.Polytope(rows, sides, np.ones((1, d)), [1.0])


EASY = [name for name in FINITE if KNOWN[name]["category"] == "easy"]


@pytest.mark.parametrize("name", EASY)
def test_local_alignment_of_easy_games_is_bounded_uniformly(name: str) -> None:
    analysis = pm.analyze(load(name))
    bound = uniform_local_alignment(analysis)
    rng = np.random.default_rng(0)
    for _ in range(6):
        value = pm.local_alignment(analysis.game, random_region(analysis.game, rng))
        assert value <= bound * (1 + 1e-5)


def test_local_alignment_of_hard_games_explodes_at_a_face() -> None:
    """A hundredfold for every tenfold shrinking around a face that is not seen locally."""
    game = pm.games.dynamic_pricing()
    tie = pm.analyze(game).face_witness("$1", "$3")
    assert tie is not None
    values = []
    for width in (1e-2, 1e-3, 1e-4):
        rows = np.concatenate([np.eye(3), -np.eye(3)])
        sides = np.concatenate([tie + width, width - tie])
        values.append(pm.local_alignment(game, pm.Polytope(rows, sides, np.ones((1, 3)), [1])))
    assert values[1] / values[0] == pytest.approx(100, rel=0.2)
    assert values[2] / values[1] == pytest.approx(100, rel=0.2)


def test_local_alignment_with_one_plausible_action_is_zero() -> None:
    game = pm.games.dynamic_pricing()
    corner = pm.Polytope(-np.eye(3), [-0.9, 0, 0], np.ones((1, 3)), [1])
    assert pm.local_alignment(game, corner) == 0


def test_local_alignment_on_the_whole_set_is_global_for_the_linear_bandit() -> None:
    game = pm.games.linear_bandit()
    assert pm.local_alignment(game, game.parameters) <= 4 + 1e-6
    with pytest.raises(pm.errors.InvalidInput, match="confidence must lie in dimension 3"):
        pm.local_alignment(game, pm.Simplex(2))
    with pytest.raises(pm.errors.InvalidInput, match="confidence must be a parameter set or"):
        pm.local_alignment(game, 3)
