"""Maps, observations and features of any size: digits are not lost on the way."""

from fractions import Fraction

import numpy as np
import pytest

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput
from partial_monitoring.estimation.confidence_set import ConfidenceSet
from partial_monitoring.estimation.linear.design import design
from partial_monitoring.estimation.linear.ellipsoid import Ellipsoid
from partial_monitoring.estimation.linear.least_squares import counted

STAR = np.array([0.3, 0.2, -0.1, 0.4])

SEQUENCES = {
    "few": [0, 1] * 3,
    "one again and again": [0] * 60,
    "one after the other": [0] * 50 + [1] * 50 + [0] * 5,
    "late": [0] * 40 + [1] + [2] * 20 + [1] * 5,
}


def exact_estimate(rows: np.ndarray, actions: list[int], seen: np.ndarray) -> tuple:
    """Return W_t^-1 vector and w' W_t^-1 w of the rows (k, r), in rational numbers, lambda = 1."""
    k, r = rows.shape
    exact = [[Fraction(float(entry)) for entry in row] for row in rows]
    right = [
        sum((exact[a][i] * Fraction(float(y)) for a, y in zip(actions, seen, strict=True)))
        for i in range(r)
    ]
    plays = [actions.count(a) for a in range(k)]
    system = [
        [
            Fraction(int(i == j)) + sum(n * w[i] * w[j] for n, w in zip(plays, exact, strict=True))
            for j in range(r)
        ]
        + [right[i]]
        + [w[i] for w in exact]
        for i in range(r)
    ]
    for i in range(r):  # positive definite: no pivoting is needed
        system[i] = [entry / system[i][i] for entry in system[i]]
        for j in range(r):
            if j != i:
                factor = system[j][i]
                system[j] = [x - factor * y for x, y in zip(system[j], system[i], strict=True)]
    x = np.array([float(line[r]) for line in system])
    lengths = [float(sum(exact[a][i] * system[i][r + 1 + a] for i in range(r))) for a in range(k)]
    return x, np.array(lengths)


@pytest.mark.parametrize("size", [1e-9, 1.0, 1e2, 1e3, 1e4, 1e5, 2e5])
@pytest.mark.parametrize("name", SEQUENCES)
def test_estimates_with_maps_of_any_size(name: str, size: float) -> None:
    rng = np.random.default_rng(0)
    maps = size * rng.standard_normal((5, 1, 4))
    actions = SEQUENCES[name]
    seen = np.array([maps[a, 0] @ STAR for a in actions]) + rng.standard_normal(len(actions))
    learner = pm.Learner(pm.Game(rng.standard_normal((5, 4)), maps, pm.AllParameters(4)), pm.IDS())
    learner.tell_past(actions, seen[:, None].tolist())
    decision = learner.ask()
    x, lengths = exact_estimate(maps[:, 0], actions, seen)
    np.testing.assert_allclose(decision.estimate, x, rtol=1e-8, atol=1e-9 * np.abs(x).max())
    np.testing.assert_allclose(decision.information, 0.5 * np.log1p(lengths), rtol=1e-8)


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e3, 1e5])
def test_estimates_from_duels_of_any_size(size: float) -> None:
    rng = np.random.default_rng(0)
    items = size * rng.standard_normal((5, 4))
    actions = SEQUENCES["late"]
    rows = items[0] - items[1:]
    seen = np.array([rows[a] @ STAR for a in actions]) + rng.standard_normal(len(actions))
    game = pm.games.dueling(items, parameters=pm.AllParameters(4))
    learner = pm.Learner(game, pm.DuelingIDS())
    learner.tell_past([a + 1 for a in actions], seen[:, None].tolist())
    x, _ = exact_estimate(rows, actions, seen)
    np.testing.assert_allclose(learner.ask().estimate, x, atol=1e-7 * np.abs(x).max())


@pytest.mark.parametrize(
    "game",
    [
        pm.Game(np.eye(2), 1e7 * np.eye(2)[:, None, :], pm.AllParameters(2)),
        pm.Game(np.eye(2), np.eye(2)[:, None, :], pm.AllParameters(2), [1e-7, 1.0]),
    ],
)
def test_maps_that_drown_the_prior_are_refused(game: pm.Game) -> None:
    with pytest.raises(InvalidInput, match=r"is 1e\+14, above 1e\+12; raise regularization or"):
        pm.Learner(game, pm.IDS())
    with pytest.raises(InvalidInput, match="rescale the maps"):
        pm.Learner(pm.games.dueling(1e8 * np.eye(3)), pm.DuelingIDS())
    pm.Learner(game, pm.IDS(regularization=1e3)).ask()


@pytest.mark.parametrize(
    "theta",
    [
        pm.Ball(np.zeros(3), 1.0),
        pm.Box([-1] * 3, [1] * 3),
        pm.Simplex(3),
        pm.Polytope(np.concatenate([np.eye(3), -np.eye(3)]), np.ones(6)),
    ],
)
def test_loud_maps_on_bounded_sets(theta: pm.ParameterSet) -> None:
    """What the maps show is known almost at once; nothing else is."""
    rng = np.random.default_rng(0)
    star = np.array([0.3, 0.2, 0.5])
    maps = 4e5 * rng.standard_normal((4, 1, 3))
    game = pm.Game(rng.standard_normal((4, 3)), maps, theta)
    learner = pm.Learner(game, pm.IDS())
    learner.tell_past([0] * 300, (maps[0, 0] @ star + rng.standard_normal((300, 1))).tolist())
    decision = learner.ask()
    assert bool(theta.contains(decision.estimate))
    assert abs(maps[0, 0] @ (decision.estimate - star)) < 1
    assert np.isfinite(decision.gaps).all()
    result = pm.simulate(game, "ids", star, horizon=100, seeds=2)
    assert (result.regret["ids"][:, -1] < 5).all()


@pytest.mark.parametrize("size", [3e-9, 1e-4, 1.0, 1e4])
def test_rows_of_zeros_change_nothing(size: float) -> None:
    """Information of maps with three rows has the digits of that of maps with one."""
    rng = np.random.default_rng(1)
    rows, phi = size * rng.standard_normal((4, 1, 3)), rng.standard_normal((4, 3))
    padded = np.concatenate([rows, np.zeros((4, 2, 3))], axis=1)
    short, long = (
        pm.Learner(pm.Game(phi, maps, pm.AllParameters(3)), pm.IDS()).ask()
        for maps in (rows, padded)
    )
    np.testing.assert_allclose(long.information, short.information, rtol=1e-13)
    np.testing.assert_allclose(long.distribution, short.distribution, rtol=1e-9)


@pytest.mark.parametrize("size", [1e-12, 1e-4, 1.0, 1e4])
def test_information_of_several_rows(size: float) -> None:
    """1/2 log det(I + M M') is the sum of 1/2 log(1 + s^2) over singular values s."""
    rng = np.random.default_rng(2)
    maps = size * rng.standard_normal((6, 4, 5))
    maps[3] = maps[3, :1]  # rank one
    decision = pm.Learner(
        pm.Game(rng.standard_normal((6, 5)), maps, pm.AllParameters(5)), pm.IDS()
    ).ask()
    singular = np.linalg.svd(maps, compute_uv=False)
    np.testing.assert_allclose(
        decision.information, 0.5 * np.log1p(singular**2).sum(axis=1), rtol=1e-9
    )


def told(policy: pm.IDS, game: pm.Game, rounds: int, replicates: int = 1) -> ConfidenceSet:
    """E_t after some rounds with pure noise."""
    rng, state = np.random.default_rng(3), policy.init(game, replicates)
    for _ in range(rounds):
        actions = rng.integers(0, game.k, replicates)
        state = policy.update(state, actions, rng.standard_normal((replicates, game.m)))
    return policy.confidence_set(state)


@pytest.mark.parametrize("k", [20, 150])
@pytest.mark.parametrize("offset", [1e3, 1e6])
def test_what_all_features_have_in_common_does_not_matter(k: int, offset: float) -> None:
    """Only the means keep rounding of the size of the offset; before, widths lost twice as much."""
    base = np.random.default_rng(0).standard_normal((k, 4))
    games = [pm.Game(base + c, base[:, None], pm.AllParameters(4)) for c in (0.0, offset)]
    plain, moved = (pm.gaps.exact(game, told(pm.IDS(), game, 50)) for game in games)
    np.testing.assert_allclose(moved, plain, atol=1e-14 * offset)


@pytest.mark.parametrize("k", [3, 20, 150, 400])
@pytest.mark.parametrize("gap", [pm.gaps.exact, pm.gaps.relaxed, pm.gaps.mean])
def test_copies_of_the_best_action_lose_nothing_against_it(
    k: int, gap: pm.gaps.GapEstimate
) -> None:
    """If all others are far behind, the best action and its copies have gap zero, to the bit."""
    rng = np.random.default_rng(4)
    phi = np.concatenate([np.tile(rng.standard_normal(3), (3, 1)), np.zeros((k - 3, 3))])
    maps = np.repeat(np.eye(3)[None], k, axis=0)
    learner = pm.Learner(pm.Game(phi, maps, pm.AllParameters(3)), pm.IDS(gap=gap))
    learner.tell_past(
        rng.integers(0, k, 300).tolist(), (30 * phi[0] + rng.standard_normal((300, 3))).tolist()
    )
    assert (learner.ask().gaps[:3] == 0).all()


def test_gaps_do_not_depend_on_how_many_seeds_run_together() -> None:
    phi = np.random.default_rng(0).standard_normal((150, 7))
    game = pm.Game(phi, phi[:, None], pm.AllParameters(7))
    many = told(pm.IDS(), game, 5, replicates=300)
    together = pm.gaps.exact(game, many)
    for row in (0, 299):
        alone = pm.gaps.exact(game, many.of(np.arange(300) == row))
        assert np.array_equal(alone[0], together[row])


@pytest.mark.parametrize("size", [1e-12, 1e-6, 1.0, 1e6])
@pytest.mark.parametrize("kind", ["ball", "box", "polytope", "simplex"])
def test_projections_and_estimates_end_inside_sets_of_any_size(kind: str, size: float) -> None:
    sides = np.concatenate([np.eye(2), -np.eye(2)])
    parameters: pm.ParameterSet = {
        "ball": pm.Ball([0, 0], size),
        "box": pm.Box([-size, -size], [size, size]),
        "polytope": pm.Polytope(sides, np.full(4, size)),
        "simplex": pm.Polytope(-np.eye(2), [0, 0], [[1, 1]], [size]),
    }[kind]
    nearest = {"ball": [1.0, 0.0], "simplex": [1.0, 0.0]}.get(kind, [1.0, 0.3])
    if kind != "ball":
        projected = parameters.project([5 * size, 0.3 * size])
        np.testing.assert_allclose(projected / size, nearest, atol=1e-9)
    np.testing.assert_allclose(parameters.project([5 * size, 0]) / size, [1, 0], atol=1e-9)
    game = pm.Game(np.eye(2), [[[1.0, 0.2]], [[0.3, 1.0]]], parameters)
    learner = pm.Learner(game, pm.IDS())
    learner.tell_past([0, 1], [[300 * size], [-500 * size]])
    estimate = learner.ask().estimate / size
    length = np.abs(estimate).max() if kind != "ball" else np.linalg.norm(estimate)
    assert length <= 1 + 1e-9


@pytest.mark.parametrize("regularization", [1e-9, 1.0, 1e9])
@pytest.mark.parametrize(
    "theta", [pm.Ball([0, 0], 1.0), pm.Box([-1, -1], [1, 1]), pm.Simplex(2), pm.AllParameters(2)]
)
def test_a_prior_mean_that_is_believed_to_be_right(
    theta: pm.ParameterSet, regularization: float
) -> None:
    """With norm_bound = 0 the first confidence set is a point, and nothing can be lost."""
    game = pm.Game(np.eye(2), [[[1.0, 0.2]], [[0.3, 1.0]]], theta)
    learner = pm.Learner(game, pm.IDS(norm_bound=0, regularization=regularization))
    decision = learner.ask()
    np.testing.assert_allclose(decision.gaps, np.ptp(game.features @ decision.estimate), atol=1e-9)
    learner.tell(decision, [1.0])
    assert np.isfinite(learner.ask().gaps).all()


@pytest.mark.parametrize("plays", [1, 10**4, 10**8, 10**12])
@pytest.mark.parametrize(
    "theta", [pm.Ball(np.zeros(2), 1e3), pm.Box([-1e3] * 2, [1e3] * 2), pm.AllParameters(2)]
)
def test_what_was_never_seen_stays_as_uncertain_as_it_was(
    theta: pm.ParameterSet, plays: int
) -> None:
    """One map, shown ever so often, says nothing across: there the width is (beta / lambda)^.5."""
    row, across = np.array([3e5, 4e5]), np.array([4.0, -3.0]) / 5
    other = np.zeros((1, 2))
    game = pm.Game(np.eye(2), [row[None], other + across], theta)
    prior = design(game, norm_bound=1.0)
    told_often = np.array([[plays, 0]])
    estimate = counted(prior, told_often, np.array([[[2.0 * plays], [0.0]]]))
    found = Ellipsoid.around(estimate, pm.confidence.paper())
    width = found.support([across, -across])[0]
    np.testing.assert_allclose(width, np.sqrt(found.beta[0]), rtol=1e-7)
    assert found.center[0] @ row == pytest.approx(2.0, rel=1e-3)
    along = found.support([row / 5e5, -row / 5e5])[0].sum() / 2
    assert along <= 2e-8 * np.sqrt(found.beta[0]) + np.sqrt(found.beta[0] / plays) / 5e5


def test_the_status_after_very_loud_rounds() -> None:
    maps = 9e5 * np.array([[[0.6, 0.8]], [[1.0, 0.0]]])
    learner = pm.Learner(pm.Game(np.eye(2), maps, pm.Ball(np.zeros(2), 1.0)), pm.IDS())
    learner.tell_past([0] * 3000, [[1e5]] * 3000)
    assert learner.status().plausible == ["0", "1"]
