"""PG-TS and PG-IDS: Polya-Gamma variables, posteriors, the two-point rule, and play."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput
from partial_monitoring.numerics.compiled import chance
from partial_monitoring.numerics.compiled import polya_gamma as pg
from partial_monitoring.policies import make, policy_from_dict, policy_to_dict
from partial_monitoring.policies.contextual.polya_gamma import tasting
from tests.oracles.two_ways import compare

APPLES = pm.games.contextual_apple_tasting()
SEPARATE = pm.games.contextual_apple_tasting(np.eye(3), lost_sale=1.0, bad_sale=2.0)
FINITE = pm.ContextualGame([pm.games.apple_tasting(bad_sale=c) for c in (1.0, 2.0)], [0.4, 0.6])
GAMES = {"apples": APPLES, "separate": SEPARATE, "finite": FINITE}
POLICIES = {"ts": pm.PGTS(), "ids": pm.PGIDS(sweeps=4, samples=6, prior_std=2.0, prior_mean=0.5)}


def stream(number: float = 0.25) -> Any:
    own = np.zeros(1, dtype=np.uint64)
    chance.start(own, number)
    return own


def sigmoid(c: Any) -> Any:
    return 1 / (1 + np.exp(-c))


# -- the variables --------------------------------------------------------------------------------


@pytest.mark.parametrize("b", [1.0, 3.0, 250.0])
@pytest.mark.parametrize("c", [0.0, 1.3, -4.0, 12.0])
def test_polya_gamma_variables_have_their_moments_and_transform(b: float, c: float) -> None:
    own, count = stream(), 20_000
    numbers = np.array([pg.polya_gamma(own, b, c) for _ in range(count)])
    size = abs(c) or 1e-4
    mean = b / (2 * size) * np.tanh(size / 2)
    variance = b / (4 * size**3) * (np.sinh(size) - size) / np.cosh(size / 2) ** 2
    if c == 0:
        mean, variance = b / 4, b / 24
    deviation = np.sqrt(variance)
    assert abs(numbers.mean() - mean) < 4.5 * deviation / np.sqrt(count)
    assert numbers.var() == pytest.approx(variance, rel=0.1)
    for t in (0.5 / mean, 2 / mean):
        shown = np.exp(-t * numbers)
        log = b * (np.log(np.cosh(c / 2)) - np.log(np.cosh(np.sqrt(c * c / 4 + t / 2))))
        assert abs(shown.mean() - np.exp(log)) < 4.5 * shown.std() / np.sqrt(count)


@pytest.mark.parametrize("c", [0.001, 1.0, 4.0, 10.0])
def test_what_replaces_the_rest_of_the_series_hardly_matters(c: float) -> None:
    """The logarithms of the Laplace transforms of PG(1, c) and of what is drawn."""
    part = 1 / (2 * np.pi**2 * (np.arange(pg.TERMS) + 0.5) ** 2 + c * c / 2)
    mean = np.tanh(c / 2) / (2 * c) - part.sum()
    variance = (2 * np.tanh(c / 2) - c / np.cosh(c / 2) ** 2) / (4 * c**3) - (part**2).sum()
    t = np.linspace(0, 20, 41)
    drawn = -np.log1p(np.outer(t, part)).sum(axis=1)
    drawn -= mean**2 / variance * np.log1p(t * variance / mean)
    exact = np.log(np.cosh(c / 2)) - np.log(np.cosh(np.sqrt(c * c / 4 + t / 2)))
    assert abs(drawn - exact).max() < 5e-5


# -- the posterior --------------------------------------------------------------------------------

DATA: dict[str, tuple[Any, Any, Any, float, float]] = {
    "one label": ([[1.0]], [1], [1], 0.0, 1.0),
    "few labels": ([[1.0]], [9], [1], -0.5, 2.0),
    "many labels": ([[1.0], [-0.4]], [4000, 300], [3700, 90], 0.3, 1.5),
    "two entries": ([[1.0, 0.0], [1.0, 1.0], [1.0, -2.0]], [5, 12, 8], [4, 2, 8], 0.0, 0.7),
    "an unseen context": ([[1.0, 0.2], [0.0, 1.0]], [20, 0], [3, 0], 1.0, 1.0),
}


def grid_moments(x: Any, labels: Any, ones: Any, mean: float, std: float) -> tuple[Any, Any]:
    """Mean and covariance of the posterior by sums over a grid around its mode."""
    x, labels, ones = np.asarray(x), np.asarray(labels), np.asarray(ones)

    def minus_log(theta: Any) -> Any:
        c = theta @ x.T
        fit = (labels * np.logaddexp(0, c) - ones * c).sum(axis=-1)
        return fit + ((theta - mean) ** 2).sum(axis=-1) / (2 * std**2)

    q = x.shape[1]
    best = minimize(minus_log, np.full(q, mean), tol=1e-12).x
    p = sigmoid(x @ best)
    spread = np.sqrt(
        np.diag(np.linalg.inv((x.T * (labels * p * (1 - p))) @ x + np.eye(q) / std**2))
    )
    lines = [b + np.linspace(-9, 9, 301) * s for b, s in zip(best, spread, strict=True)]
    points = np.stack(np.meshgrid(*lines, indexing="ij"), axis=-1).reshape(-1, q)
    weights = np.exp(-minus_log(points) + minus_log(best))
    weights /= weights.sum()
    center = weights @ points
    return center, (points - center).T * weights @ (points - center)


@pytest.mark.parametrize("name", DATA)
def test_draws_follow_the_posterior(name: str) -> None:
    x, labels, ones, mean, std = DATA[name]
    features = np.array(x, dtype=float)
    counts, sums = np.array(labels, dtype=np.int64), np.array(ones, dtype=float)
    rule = pm.PGTS(prior_mean=mean, prior_std=std)._rule()
    q, count = features.shape[1], 6000
    mode, line, matrix = np.full(q, mean), np.zeros(q), np.zeros((q, q))
    for _ in range(40):
        pg.climb(features, counts, sums, rule, mode, line, matrix)
    own, theta, draws = stream(), np.zeros(q), np.empty((count, q))
    for i in range(count):
        pg.start_draw(features, counts, rule, own, mode, theta, matrix)
        for _ in range(rule.sweeps):
            pg.sweep(features, counts, sums, rule, own, theta, line, matrix)
        draws[i] = theta
    center, covariance = grid_moments(x, labels, ones, mean, std)
    size = np.sqrt(np.diag(covariance))
    assert (abs(draws.mean(axis=0) - center) < 4.5 * size / np.sqrt(count)).all()
    found = np.atleast_2d(np.cov(draws.T))
    assert (abs(found - covariance) < 0.1 * np.outer(size, size)).all()


@pytest.mark.parametrize("name", DATA)
def test_steps_lead_to_the_mode(name: str) -> None:
    x, labels, ones, mean, std = DATA[name]
    features, mode = np.array(x, dtype=float), np.full(len(x[0]), 8.0)
    counts, sums = np.array(labels, dtype=np.int64), np.array(ones, dtype=float)
    rule = pm.PGTS(prior_mean=mean, prior_std=std)._rule()
    line, matrix = np.zeros(len(mode)), np.zeros((len(mode), len(mode)))
    values = []
    for _ in range(60):
        values.append(pg.log_posterior(features, counts, sums, rule, mode))
        pg.climb(features, counts, sums, rule, mode, line, matrix)
    assert (np.diff(values) >= -1e-9).all()
    slope = features.T @ (sums - counts * sigmoid(features @ mode)) - (mode - mean) / std**2
    np.testing.assert_allclose(slope, 0.0, atol=1e-6)


def test_the_mode_is_followed_while_labels_come_in() -> None:
    policy, rng = pm.PGTS(prior_std=3.0), np.random.default_rng(1)
    state = policy.init(SEPARATE, 1)
    for _ in range(300):
        z = rng.integers(3, size=1)
        label = np.array([[float(rng.random() < [0.02, 0.5, 0.9][z[0]])]])
        state = policy.update(state, np.array([1]), label, z)
        slope = state.ones[0] - state.labels[0] * sigmoid(state.mode[0]) - state.mode[0] / 9.0
        assert abs(slope).max() < 0.05


# -- decisions ------------------------------------------------------------------------------------


def test_the_two_point_rule_minimises_the_ratio() -> None:
    rng = np.random.default_rng(0)
    grid = np.linspace(0, 1, 100_001)[1:]
    for shows, other in rng.random((40, 2)):
        ratio = (grid * shows + (1 - grid) * other) ** 2 / grid
        assert pg.two_point(shows, other, True) == pytest.approx(grid[ratio.argmin()], abs=2e-5)
        assert pg.two_point(shows, other, False) == float(shows <= other)
    assert pg.two_point(0.0, 0.0, True) == pg.two_point(0.0, 1.0, True) == 1.0
    assert pg.two_point(1.0, 0.0, True) == 0.0


@pytest.mark.parametrize("game", GAMES.values(), ids=GAMES.keys())
def test_losses_are_read_off_the_chance_of_a_label(game: Any) -> None:
    shape = tasting(game, "PGTS", np.eye(len(game.games)))
    assert game.actions[shape.shows] == "taste"
    for theta in game.draw_truths(np.arange(4)):
        for z, own in enumerate(game.games):
            p = own.rows(shape.shows)[shape.row[z]] @ theta
            lost = (own.features[shape.other] - own.features[shape.shows]) @ theta
            assert np.isclose(shape.offset[z] + shape.slope[z] * p, lost)


def test_gaps_and_probabilities_are_those_of_the_posterior() -> None:
    """With very many draws, against sums over a grid."""
    policy = pm.PGIDS([[1.0], [2.0], [-1.0]], samples=20_000)
    state = policy.init(SEPARATE, 1)
    for z, label in ((0, 0.0), (0, 0.0), (2, 1.0), (1, 1.0)):
        state = policy.update(state, np.array([1]), np.array([[label]]), np.array([z]))
    choice = policy.decide(state, np.full((1, 2), 0.4), context=np.array([1]))
    theta = np.linspace(-8, 8, 4001)
    log = np.log(sigmoid(-theta)) * 2 + np.log(sigmoid(-theta)) + np.log(sigmoid(2 * theta))
    weights = np.exp(log - theta**2 / 2)
    difference = 1.0 - 3.0 * sigmoid(2 * theta)  # tasting a good one costs 1, selling a bad one 2
    shows, other = (
        (np.maximum(sign * difference, 0) * weights).sum() / weights.sum() for sign in (1, -1)
    )
    np.testing.assert_allclose(choice.gaps, [[other, shows]], rtol=0.05)  # type: ignore[arg-type]
    expected = 1.0 if shows <= other else min(1.0, other / (shows - other))
    assert choice.distribution[0, 1] == pytest.approx(expected, rel=0.1)


def test_the_first_item_is_tasted_and_only_available_actions_are_played() -> None:
    for policy in POLICIES.values():
        state = policy.init(APPLES, 1)
        numbers = np.full((1, policy.draws(state)), 0.7)
        z = np.array([2])
        assert policy.decide(state, numbers, context=z).action[0] == 1
        for action in (0, 1):
            mask: Any = np.arange(2) == action
            choice = policy.decide(state, numbers, mask, context=z)
            assert choice.action[0] == action
            assert choice.distribution[0, action] == 1.0


@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES.keys())
@pytest.mark.parametrize("game", GAMES.values(), ids=GAMES.keys())
def test_compiled_rounds_are_those_of_the_formulas(game: Any, policy: Any) -> None:
    compare(game, policy, 130)


@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES.keys())
@pytest.mark.parametrize("game", GAMES.values(), ids=GAMES.keys())
def test_they_can_be_trusted(game: Any, policy: Any) -> None:
    pm.testing.check_policy(policy, game)


@pytest.mark.parametrize("name", ["pg_ts", "pg_ids"])
def test_names_and_orders_do_not_matter(name: str) -> None:
    theta, counts = np.array([0.4, 0.6]), []
    own = pm.games.apple_tasting()
    other = pm.FiniteGame(own.rewards[::-1, ::-1], ["zz", "xy"], actions=["s", "t"])
    for game, truth, a in ((own, theta, 0), (other, theta[::-1], 1)):
        played = pm.simulate(pm.ContextualGame([game]), name, truth, horizon=100, seeds=300)
        counts.append(played.plays[name][:, -1, a])
    error = np.sqrt(sum(own.var() for own in counts) / 300)
    assert abs(counts[0].mean() - counts[1].mean()) <= 4.5 * error + 2


def test_a_logistic_truth_is_learned_across_contexts() -> None:
    """Features let 30 contexts share two unknowns."""
    x = np.column_stack([np.ones(30), np.linspace(-2, 2, 30)])
    game = pm.games.contextual_apple_tasting(np.eye(30))
    theta = np.append(sigmoid(x @ [-0.5, 2.0]), 1.0)
    own = {"shared": pm.PGTS(x), "separate": pm.PGTS(), "ids": pm.PGIDS(x, samples=5)}
    regret = {k: v[:, -1].mean() for k, v in pm.simulate(
        game, own, theta, horizon=400, seeds=20
    ).regret.items()}  # fmt: skip
    assert regret["shared"] < 0.5 * regret["separate"]
    assert regret["ids"] < 0.5 * regret["separate"]


def test_learners_ask_and_tell_in_contexts() -> None:
    policy = pm.PGIDS([[1.0], [0.5], [-0.5]], samples=3)
    assert policy_from_dict(policy_to_dict(policy)) == policy
    learner = pm.Learner(SEPARATE, policy, seed=1)
    for t in range(12):
        decision = learner.ask(context=t % 3)
        learner.tell(decision, [0.0] if decision.label == "taste" else None)
    assert learner.round == 13


BOTH = pm.ContextualGame([pm.FiniteGame([[0, -1], [-1, 0]], ["01", "01"])])
SWAPPED = pm.ContextualGame(
    [
        pm.FiniteGame([[0, -1], [-1, 0]], signals, actions=["a", "b"])
        for signals in (["--", "01"], ["01", "--"])
    ]
)
MORE = pm.ContextualGame([pm.FiniteGame([[0, -1, 5], [-1, 0, 0]], ["---", "011"])])
REFUSED = {
    "no contexts": (pm.games.apple_tasting(), "plays games with contexts"),
    "duels": (pm.games.contextual_dueling(), "cannot play duels"),
    "values": (pm.games.contextual_linear_bandit(), "apple tasting"),
    "three actions": (pm.games.contextual_label_efficient(), "apple tasting"),
    "both show": (BOTH, "apple tasting"),
    "not the same": (SWAPPED, "apple tasting"),
    "losses": (MORE, "the label decides what the actions lose"),
}


@pytest.mark.parametrize(("game", "words"), REFUSED.values(), ids=REFUSED.keys())
def test_refusals(game: Any, words: str) -> None:
    for name in ("pg_ts", "pg_ids"):
        with pytest.raises(InvalidInput, match=words):
            make(name).init(game, 1)


def test_wrong_options_are_refused() -> None:
    for options in ({"prior_std": 0}, {"sweeps": 0}, {"samples": 0}, {"features": [1, 2]}):
        with pytest.raises(InvalidInput):
            make("pg_ids", **options)
    with pytest.raises(InvalidInput, match="one row for each of the 3 contexts"):
        pm.PGTS([[1.0]]).init(SEPARATE, 1)
    with pytest.raises(InvalidInput, match="plays the contexts that the game lists"):
        pm.Learner(SEPARATE, "pg_ts").ask(context=SEPARATE.at(1))
