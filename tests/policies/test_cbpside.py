"""CBPside and RandCBPside against CBP, and against slow formulas from the whole history."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput
from partial_monitoring.numerics.compiled import play_side
from partial_monitoring.policies import make, policy_from_dict, policy_to_dict
from partial_monitoring.policies.contextual.features import features_of_maps
from partial_monitoring.policies.contextual.shape import shape_of
from partial_monitoring.policies.finite.geometry import geometry
from partial_monitoring.policies.finite.patterns import Patterns
from partial_monitoring.simulation.environment import Environment
from tests.oracles.finite_games import NAMED, random_game
from tests.oracles.two_ways import compare

APPLES = pm.games.contextual_apple_tasting()
LABELS = pm.games.contextual_label_efficient()
PRICES = pm.games.segment_pricing()
MIXED = pm.ContextualGame(
    [
        pm.FiniteGame([[0, -1], [-1, 0]], ["--", "01"], actions=["sell", "taste"]),
        pm.FiniteGame([[-1, 0], [0, -2], [-1, -1]], ["--", "--", "10"], actions=["sell", "a", "b"]),
        pm.FiniteGame([[-1, -2], [0, 0]], ["01", "--"], actions=["taste", "b"]),
    ],
    [0.5, 0.3, 0.2],
)
"""Contexts with different actions and losses, one of which is trivial."""
GAMES = {"apples": APPLES, "labels": LABELS, "prices": PRICES, "mixed": MIXED}
WIDTHS = ("paper", "selfnorm", "plays")


def played(game: Any, policy: Any, theta: Any, horizon: int = 400) -> Any:
    marks = np.arange(1, horizon + 1)
    result = pm.simulate(game, {"own": policy}, theta, horizon=horizon, seeds=4, checkpoints=marks)
    return result.plays["own"]


# -- CBP is the case of a single context ----------------------------------------------------------


@pytest.mark.parametrize("name", NAMED)
def test_one_context_without_regularization_is_cbp(name: str) -> None:
    game = NAMED[name]
    theta = np.random.default_rng(7).dirichlet(np.ones(game.d), size=4)
    side = pm.CBPside([[1.0]], width="plays", regularization=1e-13)
    assert np.array_equal(
        played(pm.ContextualGame([game]), side, theta), played(game, "cbp", theta)
    )


@pytest.mark.parametrize("seed", range(8))
def test_one_context_of_a_random_game_is_cbp(seed: int) -> None:
    game = random_game(seed)
    theta = np.random.default_rng(seed).dirichlet(np.ones(game.d), size=4)
    side = pm.CBPside(width="plays", regularization=1e-13, alpha=0.3)
    assert np.array_equal(
        played(pm.ContextualGame([game]), side, theta, 200),
        played(game, pm.CBP(alpha=0.3), theta, 200),
    )


def test_estimates_without_regularization_are_frequencies() -> None:
    game = pm.games.dynamic_pricing()
    policy = pm.CBPside(regularization=1e-13)
    state = policy.init(pm.ContextualGame([game]), 1)
    rng, counts = np.random.default_rng(0), np.zeros((game.k, game.m))
    for _ in range(60):
        action = int(rng.integers(game.k))
        shown = np.eye(game.m)[rng.integers(game.row_count(action))]
        counts[action] += shown
        state = policy.update(state, np.array([action]), shown[None], np.zeros(1, dtype=int))
    scratch = policy._scratch(state)
    known = play_side.State(state.triangle, state.sums, state.plays)
    play_side.consider_all(state.shape, policy._rule(state), known, scratch, state.round)
    frequencies = counts / counts.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(scratch.chances[0], frequencies, rtol=1e-12)
    np.testing.assert_allclose(scratch.square[0], 1 / counts.sum(axis=1), rtol=1e-12)


# -- slow formulas --------------------------------------------------------------------------------


class Slow:
    """CBPside from the whole history, with solved systems; symbols are those of finite games."""

    def __init__(self, game: Any, x: Any, policy: Any) -> None:
        self.game, self.x, self.policy = game, x, policy
        self.geometries = [geometry(own, "Slow") for own in game.games]
        self.patterns = [Patterns(own) for own in self.geometries]
        self.history: list[tuple[int, str, Any]] = []

    def action(self, z: int, levels: Any = None) -> str:
        own, shape, t = self.game.games[z], self.geometries[z], len(self.history) + 1
        q, lam, kind = self.x.shape[1], self.policy.regularization, self.policy.width
        order = {"paper": 2, "selfnorm": 1, "plays": np.inf}[kind]
        sizes = np.linalg.norm(shape.vectors, order, axis=2)
        pi, w, square, never = [], [], [], []
        for label in own.actions:
            past = [(self.x[y], shown) for y, name, shown in self.history if name == label]
            gram = lam * np.eye(q) + sum(np.outer(x, x) for x, _ in past)
            sums = sum((np.outer(shown, x) for x, shown in past), np.zeros((self.game.m, q)))
            m = own.row_count(own.action_index(label))
            solved = np.linalg.solve(gram, self.x[z])
            square.append(self.x[z] @ solved)
            pi.append((sums @ solved)[: own.m])
            never.append(not past)
            if kind == "paper":
                w.append(m * (np.sqrt(q * np.log(t) + 4 * np.log(t)) + np.sqrt(lam) * m))
            elif kind == "selfnorm":
                det = np.linalg.slogdet(gram / lam)[1]
                w.append(np.sqrt(2 * np.log(m * t**2) + det) / 2 + np.sqrt(lam * q))
            else:
                w.append(np.sqrt(self.policy.alpha * np.log(t)))
        wide = np.array(w) * np.sqrt(square)
        difference = (shape.vectors * np.array(pi)).sum(axis=(1, 2))
        signs = np.where(abs(difference) >= sizes @ wide, np.sign(difference), 0)
        candidates, observers, consistent = self.patterns[z].masks(signs.astype(np.int8)[None])
        if not consistent[0]:
            candidates, observers, _ = self.patterns[z].masks(0 * signs.astype(np.int8)[None])
        weight = sizes.max(axis=0, initial=0.0)
        rate = np.cbrt(self.policy.alpha * t**2 * np.log(t))
        uncertain = np.array(square) * np.cbrt(weight) ** 2 * rate >= 1
        allowed = candidates[0] | (observers[0] & uncertain & self.policy.forced)
        index = np.where(allowed, weight * (np.sqrt(square) if kind == "plays" else wide), -np.inf)
        index = np.where(np.array(never) & shape.useful, np.inf, index)
        return own.actions[int((index >= index.max() * (1 - 1e-8)).argmax())]


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", ["prices", "mixed"])
def test_decisions_are_those_of_the_whole_history(name: str, width: str) -> None:
    game: Any = GAMES[name]
    policy = pm.CBPside(width=width, regularization=0.7, alpha=0.2)
    slow = Slow(game, features_of_maps(game), policy)
    seeds = np.array([2])
    environment = Environment(game, game.draw_truths(seeds), seeds)
    state = policy.init(game, 1)
    for t in range(150):
        context = environment.context(t)
        assert context is not None
        action = policy.decide(state, np.zeros(1), context=context).action
        assert game.actions[action[0]] == slow.action(int(context[0]))
        shown = environment.observe(action, t)
        slow.history.append((int(context[0]), game.actions[action[0]], shown[0]))
        state = policy.update(state, action, shown, context)


def test_triangles_stay_roots_of_the_grams() -> None:
    x = np.random.default_rng(3).normal(size=(5, 4))
    policy = pm.CBPside(x, regularization=1e-3)
    state = policy.init(APPLES, 1)
    np.testing.assert_allclose(state.triangle[0, 1] @ state.triangle[0, 1].T, 1e-3 * np.eye(4))
    gram, rng = 1e-3 * np.eye(4), np.random.default_rng(4)
    for _ in range(3000):
        z = rng.integers(5, size=1)
        gram += np.outer(x[z[0]], x[z[0]])
        state = policy.update(state, np.array([1]), np.ones((1, 1)), z)
    np.testing.assert_allclose(state.triangle[0, 1] @ state.triangle[0, 1].T, gram, rtol=1e-10)


@pytest.mark.parametrize("q", [1, 2, 3, 5])
def test_widths_are_numbers_in_every_dimension(q: int) -> None:
    x = np.eye(5)[:, :q] + 0.1
    policy = pm.CBPside(x)
    state = policy.init(APPLES, 1)
    for t in range(5):
        z = np.array([t])
        choice = policy.decide(state, np.zeros(1), context=z)
        assert not np.isnan(choice.index).any()  # type: ignore[arg-type]
        state = policy.update(state, np.array([1]), np.zeros((1, 1)), z)
    scratch = policy._scratch(state)
    play_side.consider_all(
        state.shape, policy._rule(state), play_side.State(state.triangle, state.sums, state.plays),
        scratch, np.array([100]),
    )  # fmt: skip
    np.testing.assert_allclose(scratch.bound, np.sqrt(q * np.log(100) - 2 * np.log(100**-2)))


# -- symbols and features -------------------------------------------------------------------------


def test_zero_and_one_are_two_symbols() -> None:
    shape = shape_of(APPLES, "CBPside", "sup")
    for own in shape.geometries:
        np.testing.assert_allclose(own.vectors[0, 1], [1, -1], atol=1e-9)  # bad, good
        assert not own.vectors[0, 0].any()
        assert own.unit == 1.0
    hard = shape_of(LABELS, "CBPside", "sup")
    assert hard.hard == 0
    assert [own.analysis.category for own in hard.geometries] == ["hard"] * 5


@pytest.mark.parametrize("costs", [(1, 1), (1, 3), (2.5, 0.5)])
def test_vectors_read_off_the_difference_of_losses(costs: tuple[float, float]) -> None:
    game = pm.games.contextual_apple_tasting(lost_sale=costs[0], bad_sale=costs[1])
    shape = shape_of(game, "CBPside", "sup")
    for theta in game.draw_truths(np.arange(5)):
        for z, own in enumerate(game.games):
            p = float(own.rows(1)[0] @ theta)
            read = shape.vectors[z, 0, 1] @ [p, 1 - p] * shape.geometries[z].unit
            assert np.isclose(read, (own.features[1] - own.features[0]) @ theta)


@pytest.mark.parametrize("game", GAMES.values(), ids=GAMES.keys())
def test_chances_of_all_symbols_are_linear_in_the_features(game: Any) -> None:
    x = features_of_maps(game)
    assert np.linalg.norm(x, axis=1).max() <= np.sqrt(2) + 1e-12
    theta = game.draw_truths(np.array([5]))[0]
    shown = (game.observation_maps @ theta).reshape(len(x), -1)
    both = np.column_stack([shown, np.ones(len(x))])
    weights = np.linalg.lstsq(x, both, rcond=None)[0]
    np.testing.assert_allclose(x @ weights, both, atol=1e-9)


def test_descriptions_are_found_and_equal_contexts_share_what_they_learn() -> None:
    descriptions = np.array([[1, 0], [0.5, 0.5], [0.2, 0.8]])
    x = features_of_maps(pm.games.contextual_apple_tasting(descriptions))
    np.testing.assert_allclose(x @ x.T, descriptions @ descriptions.T, atol=1e-12)
    same = pm.ContextualGame([pm.games.dynamic_pricing()] * 3)
    np.testing.assert_array_equal(features_of_maps(same), np.ones((3, 1)))
    assert len({id(own) for own in shape_of(same, "CBPside", "sup").geometries}) == 1


# -- playing --------------------------------------------------------------------------------------


@pytest.mark.parametrize("game", GAMES.values(), ids=GAMES.keys())
def test_compiled_rounds_are_those_of_the_formulas(game: Any) -> None:
    for width in WIDTHS:
        compare(game, pm.CBPside(width=width), 150)
        compare(game, pm.RandCBPside(width=width, levels=4, top=0.01), 150)
    compare(game, pm.CBPside(np.eye(len(game.games)), norm="euclidean", width="plays"), 530)


@pytest.mark.parametrize("name", ["cbpside", "randcbpside"])
@pytest.mark.parametrize("game", GAMES.values(), ids=GAMES.keys())
def test_they_can_be_trusted(game: Any, name: str) -> None:
    pm.testing.check_policy(make(name), game)


def test_forcing_changes_nothing_in_easy_contexts() -> None:
    theta = APPLES.draw_truths(np.arange(4))
    for kind in (pm.CBPside, pm.RandCBPside):
        one, two = kind(forced=True), kind(forced=False)
        assert np.array_equal(played(APPLES, one, theta), played(APPLES, two, theta))


def test_random_levels_have_the_stated_chances() -> None:
    policy = pm.RandCBPside(levels=4, spread=0.8, top=0.1)
    rule = policy._rule(policy.init(APPLES, 1))
    levels = np.linspace(0, 3.0, 4)
    weights = np.exp(-(levels[:3] ** 2) / (2 * 0.8**2))
    expected = np.append(0.9 * weights / weights.sum(), 0.1)
    grid = (np.arange(20_000) + 0.5) / 20_000
    drawn = np.array([play_side.level(rule, u, 3.0) for u in grid])
    np.testing.assert_allclose([(drawn == z).mean() for z in levels], expected, atol=1e-4)


def test_trivial_contexts_cost_nothing() -> None:
    easy = pm.FiniteGame([[0, 0], [-1, -2]], ["--", "01"])
    game = pm.ContextualGame([easy, pm.FiniteGame([[0, 0]], ["01"])])
    for name in ("cbpside", "randcbpside"):
        assert not pm.simulate(game, name, [0.5, 0.5], horizon=50, seeds=3).regret[name].any()


def test_names_and_orders_do_not_matter() -> None:
    """The law of play with contexts, actions, outcomes and signals in another order."""
    first = [pm.games.apple_tasting(lost_sale=1.0, bad_sale=c) for c in (1.0, 2.0)]
    second = [
        pm.FiniteGame(own.rewards[::-1, ::-1], ["zz", "xy"], actions=["s", "t"])
        for own in reversed(first)
    ]
    theta = np.array([0.35, 0.65])
    for policy in (pm.RandCBPside(np.eye(2)), pm.RandCBPside(width="plays")):
        counts = []
        for games, truth in ((first, theta), (second, theta[::-1])):
            game = pm.ContextualGame(games)
            result = pm.simulate(game, {"own": policy}, truth, horizon=200, seeds=300)
            counts.append(result.plays["own"][:, -1, list(game.actions).index(games[0].actions[0])])
        one, two = counts[0], 200 - counts[1]
        error = np.sqrt((one.var() + two.var()) / 300)
        assert abs(one.mean() - two.mean()) <= 4.5 * error + 2


def test_learners_ask_and_tell_in_contexts() -> None:
    policy = pm.RandCBPside(np.eye(5).tolist(), width="plays")
    assert policy_from_dict(policy_to_dict(policy)) == policy
    learner = pm.Learner(APPLES, policy, seed=3)
    for t in range(20):
        decision = learner.ask(context=t % 5)
        learner.tell(decision, [1.0] if decision.label == "taste" else None)
    assert learner.round == 21
    plays = {row.label: row.plays for row in learner.status(context=0).table}
    assert sum(plays.values()) == 4


# -- refusals -------------------------------------------------------------------------------------

REFUSED = {
    "no contexts": (pm.CBPside(), pm.games.apple_tasting(), "plays games with contexts"),
    "duels": (pm.CBPside(), pm.games.contextual_dueling(), "cannot play duels"),
    "values": (pm.CBPside(), pm.games.contextual_linear_bandit(), "finite feedback"),
    "silent": (pm.RandCBPside(), pm.games.survey(), "what context 'silent' shows cannot tell"),
    "hard": (pm.RandCBPside(forced=False), LABELS, "pass forced=True, or allow_outside=True"),
    "rows": (pm.CBPside([[1.0]]), APPLES, "one row for each of the 5 contexts; got 1"),
}


@pytest.mark.parametrize(("policy", "game", "words"), REFUSED.values(), ids=REFUSED.keys())
def test_refusals(policy: Any, game: Any, words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        policy.init(game, 1)


def test_hard_contexts_can_be_played_without_forcing() -> None:
    policy = pm.CBPside(forced=False, allow_outside=True)
    pm.simulate(LABELS, {"own": policy}, "random", horizon=50, seeds=2)


def test_what_cannot_be_decided_is_refused() -> None:
    learner = pm.Learner(APPLES, "cbpside")
    with pytest.raises(InvalidInput, match="available cannot be given"):
        learner.ask(context=0, available=["sell"])
    with pytest.raises(InvalidInput, match="plays the contexts that the game lists"):
        learner.ask(context=APPLES.at(0))
    for options in ({"features": []}, {"width": "wide"}, {"alpha": 0}, {"top": 1.0}):
        with pytest.raises(InvalidInput):
            make("randcbpside", **options)
