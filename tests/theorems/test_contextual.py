"""Policies in context: conditional and contextual IDS (section 6)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput
from partial_monitoring.policies.ids.context_kernel import joint_ratio
from tests.oracles.contextual_games import DOMINATED, SETS, random_game

Array = NDArray[np.float64]


def stacked(game: pm.ContextualGame) -> tuple[pm.Game, list[range]]:
    """Return the plain game of all pairs of context and action, and where each context is."""
    features = np.concatenate([own.features for own in game.games])
    maps = [own.rows(a) for own in game.games for a in range(own.k)]
    noise = np.concatenate([np.broadcast_to(own.noise_std, (own.k,)) for own in game.games])
    ends = np.cumsum([own.k for own in game.games])
    spans = [range(int(end) - own.k, int(end)) for own, end in zip(game.games, ends, strict=True)]
    scalar = float(noise[0]) if np.ptp(noise) == 0 else noise
    return pm.Game(features, maps, game.parameters, scalar), spans


@pytest.mark.parametrize("kind", SETS)
@pytest.mark.parametrize("gap", [pm.gaps.exact, pm.gaps.relaxed], ids=["exact", "relaxed"])
def test_conditional_ids_is_ids_with_the_actions_of_the_context(kind: str, gap: Any) -> None:
    """One estimate for all contexts: the plain game of all pairs, of which some are available."""
    for seed in range(4):
        game = random_game(seed, kind)
        plain, spans = stacked(game)
        policy = pm.IDS(gap=gap)
        state, other = policy.init(game, 2), policy.init(plain, 2)
        rng = np.random.default_rng(seed)
        for _ in range(12):
            z = int(rng.integers(3))
            context = np.array([z, z])
            mask = np.isin(np.arange(plain.k), list(spans[z]))
            uniforms = rng.random(2)
            one = policy.decide(state, uniforms, context=context)
            two = policy.decide(other, uniforms, mask)
            places = game.positions(z)
            local = game.local_actions[z, one.action]
            np.testing.assert_array_equal(local + spans[z][0], two.action)
            for name in ("gaps", "information", "distribution"):
                np.testing.assert_allclose(
                    getattr(one, name)[:, places], getattr(two, name)[:, mask], atol=2e-7
                )
            np.testing.assert_allclose(one.beta, two.beta, rtol=1e-9)
            np.testing.assert_allclose(one.estimate, two.estimate, atol=1e-7)
            shown = rng.normal(size=(2, game.m))
            state = policy.update(state, one.action, shown, context=context)
            other = policy.update(other, two.action, shown)


@pytest.mark.parametrize("policy", [pm.LinUCB(), pm.LinTS(), pm.LinUCB(relative=True)])
def test_one_context_is_the_plain_bandit(policy: Any) -> None:
    game = pm.games.linear_bandit()
    one = pm.simulate(game, {"it": policy}, [0.5, 0.2, 0], horizon=150, seeds=4)
    two = pm.simulate(
        pm.ContextualGame([game]), {"it": policy}, [0.5, 0.2, 0], horizon=150, seeds=4
    )
    np.testing.assert_array_equal(two.plays["it"], one.plays["it"])


@pytest.mark.parametrize("policy", [pm.IDS(), pm.ContextualIDS(), pm.IDS(gap=pm.gaps.mean)])
@pytest.mark.parametrize(
    "name", ["dynamic_pricing", "linear_bandit", "apple_tasting", "transductive"]
)
def test_one_context_is_the_plain_game(policy: Any, name: str) -> None:
    game = pm.games.make(name)
    assert isinstance(game, pm.Game)
    theta = game.parameters.project(np.linspace(0.5, 0.2, game.d))
    plain = pm.IDS(gap=policy.gap)
    one = pm.simulate(game, {"it": plain}, theta, horizon=150, seeds=4)
    two = pm.simulate(pm.ContextualGame([game]), {"it": policy}, theta, horizon=150, seeds=4)
    np.testing.assert_array_equal(two.plays["it"], one.plays["it"])
    np.testing.assert_allclose(two.regret["it"], one.regret["it"], atol=1e-9)
    np.testing.assert_allclose(two.ratio["it"], one.ratio["it"], rtol=1e-5)


@pytest.mark.parametrize("kind", SETS)
def test_contextual_ids_plays_the_exact_kernel(kind: str) -> None:
    for seed in range(3):
        game = random_game(seed, kind)
        policy, plain = pm.ContextualIDS(), pm.IDS()
        state = policy.init(game, 1)
        other = plain.init(game, 1)
        rng = np.random.default_rng(seed)
        for _ in range(8):
            each = [plain.decide(other, np.zeros(1), context=np.array([z])) for z in range(3)]
            gaps, gains = (
                np.stack([getattr(c, n)[0] for c in each]) for n in ("gaps", "information")
            )
            chi = game.context_distribution
            kernel = pm.sampling.contextual(gaps, gains, chi, available=game.available)
            for z in range(3):
                choice = policy.decide(state, np.array([0.3]), context=np.array([z]))
                np.testing.assert_allclose(choice.distribution[0], kernel[z], atol=1e-9)
                expected = joint_ratio(kernel, np.where(game.available, gaps, 0), gains, chi)
                assert choice.ratio[0] == pytest.approx(expected, rel=1e-6)
            z = int(rng.integers(3))
            action = np.array([rng.choice(game.positions(z))])
            shown = rng.normal(size=(1, game.m))
            state = policy.update(state, action, shown, context=np.array([z]))
            other = plain.update(other, action, shown, context=np.array([z]))


def test_replicates_in_different_contexts_do_not_depend_on_each_other() -> None:
    game = random_game(1, "ball")
    for policy in (
        pm.IDS(),
        pm.ContextualIDS(),
        pm.ContextualIDS(chances="estimated"),
        pm.ContextualIDS(gap=pm.gaps.mean, integrated=True),
        pm.ContextualIDS(solver="frank_wolfe", step="classic", smoothed=True, steps=30),
    ):
        together = pm.simulate(game, {"it": policy}, "random", horizon=40, seeds=[3, 8, 5])
        for i, seed in enumerate((3, 8, 5)):
            alone = pm.simulate(game, {"it": policy}, "random", horizon=40, seeds=[seed])
            np.testing.assert_array_equal(alone.regret["it"][0], together.regret["it"][i])
            np.testing.assert_array_equal(alone.plays["it"][0], together.plays["it"][i])
            np.testing.assert_array_equal(alone.ratio["it"][0], together.ratio["it"][i])


def test_contexts_come_with_their_probabilities() -> None:
    game = pm.games.survey(2, answer_rate=0.3)
    from partial_monitoring.simulation.environment import Environment

    world = Environment(game, np.full((400, 2), 0.5), np.arange(400))
    drawn = np.concatenate([world.context(t) for t in range(10)])
    assert abs((drawn == 0).mean() - 0.3) < 4.5 * np.sqrt(0.3 * 0.7 / 4000)  # false alarm 7e-6


def test_estimated_chances_come_near_the_known_ones() -> None:
    """After many rounds the kernels of known and of estimated chi are nearly the same."""
    game = random_game(2, "ball")
    known, counted = pm.ContextualIDS(), pm.ContextualIDS(chances="estimated")
    result = pm.simulate(game, {"known": known, "counted": counted}, "random", horizon=400, seeds=6)
    one, two = result.mean("known")[-1], result.mean("counted")[-1]
    assert two <= 1.3 * one + 2


@pytest.mark.parametrize("kind", ["everything", "ball", "simplex"])
def test_contexts_that_join_are_as_if_they_had_been_listed(kind: str) -> None:
    """With growing chances it makes no difference whether a context was listed before it came."""
    whole = random_game(4, kind)
    first = pm.ContextualGame([whole.at(0)], contexts=[whole.contexts[0]])
    policy = pm.ContextualIDS(chances="growing", sampling=pm.sampling.generalized(3))
    listed, joined = policy.init(whole, 2), policy.init(first, 2)
    rng = np.random.default_rng(0)
    for _ in range(30):
        z = int(rng.integers(3))
        shown, uniforms = rng.normal(size=(2, whole.m)), rng.random(2)
        context: Any = np.zeros(2, dtype=int) if z == 0 else whole.at(z)
        one = policy.decide(listed, uniforms, context=np.full(2, z))
        two = policy.decide(joined, uniforms, context=context)
        places = whole.positions(z)
        np.testing.assert_allclose(two.distribution, one.distribution[:, places], atol=1e-9)
        np.testing.assert_allclose(two.gaps, one.gaps[:, places], atol=1e-9)
        np.testing.assert_allclose(two.ratio, one.ratio, rtol=1e-6)
        # The same uniforms may draw another action, because they stand in another order.
        listed = policy.update(listed, places[two.action], shown, context=np.full(2, z))
        joined = policy.update(joined, two.action, shown, context=context)
    counts = dict(zip(whole.contexts, np.asarray(listed.seen[0]).tolist(), strict=True))
    assert [counts[whole.contexts[0]]] == joined.seen[0, :1].tolist()
    assert sorted(joined.seen[0, 1:].tolist()) == sorted(
        counts[name] for name in whole.contexts[1:]
    )


def test_of_contexts_that_joined_the_last_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("partial_monitoring.policies.ids.context_counts.MOST_UNLISTED", 3)
    game = random_game(0, "ball")
    policy = pm.ContextualIDS(chances="estimated")
    state = policy.init(game, 1)
    for t in range(6):
        features = np.eye(3)[:2] * (1 + t)
        fresh = pm.Game(features, features[:, None], game.parameters, 0.5)
        choice = policy.decide(state, np.array([0.5]), context=fresh)
        assert choice.distribution.shape == (1, 2)
        state = policy.update(state, choice.action, np.zeros((1, 1)), context=fresh)
    assert [own.game.features[0, 0] for own in state.unlisted] == [4, 5, 6]
    assert state.seen[0, len(state.parts) :].tolist() == [1, 1, 1]


def test_frank_wolfe_plays_nearly_the_same_kernel() -> None:
    game = random_game(3, "everything")
    exact, approximate = pm.ContextualIDS(), pm.ContextualIDS(solver="frank_wolfe", steps=3000)
    one, two = exact.init(game, 1), approximate.init(game, 1)
    for z in range(3):
        a = exact.decide(one, np.array([0.4]), context=np.array([z]))
        b = approximate.decide(two, np.array([0.4]), context=np.array([z]))
        assert b.ratio[0] == pytest.approx(a.ratio[0], rel=1e-4)


def test_a_context_that_was_not_known_before() -> None:
    """Its game is handed over; what was learned elsewhere counts."""
    game = random_game(0, "ball")
    fresh = pm.Game([[1.0, 0, 0], [0, 1, 0]], [[[1.0, 0, 0]], [[0, 1, 0]]], game.parameters, 0.5)
    grown = pm.ContextualGame([*game.games, fresh], [0.25] * 4)
    policy = pm.IDS()
    state, other = policy.init(game, 1), policy.init(grown, 1)
    rng = np.random.default_rng(0)
    for t in range(10):
        shown = rng.normal(size=(1, game.m))
        if t % 3 == 2:
            one = policy.decide(state, np.array([0.5]), context=fresh)
            two = policy.decide(other, np.array([0.5]), context=np.array([3]))
            places = grown.positions(3)
            np.testing.assert_allclose(one.gaps, two.gaps[:, places], atol=1e-9)
            assert places[one.action[0]] == two.action[0]
            state = policy.update(state, one.action, shown, context=fresh)
            other = policy.update(other, two.action, shown, context=np.array([3]))
        else:
            one = policy.decide(state, np.array([0.5]), context=np.array([t % 3]))
            state = policy.update(state, one.action, shown, context=np.array([t % 3]))
            two = policy.decide(other, np.array([0.5]), context=np.array([t % 3]))
            other = policy.update(other, two.action, shown, context=np.array([t % 3]))
            np.testing.assert_array_equal(one.action, two.action)


def test_only_what_is_available_is_played() -> None:
    game = random_game(0, "box")
    for policy in (pm.IDS(), pm.ContextualIDS()):
        state = policy.init(game, 1)
        for z in range(3):
            for a in game.positions(z):
                mask = np.arange(game.k) == a
                choice = policy.decide(state, np.array([0.5]), mask, np.array([z]))
                assert choice.action[0] == a
            outside = ~game.available[z]
            with pytest.raises(InvalidInput, match="available must hold an action of the context"):
                policy.decide(state, np.array([0.5]), outside, np.array([z]))


def test_bad_use_is_refused() -> None:
    game = random_game(0, "box")
    with pytest.raises(InvalidInput, match="context must be given, the game has contexts"):
        pm.IDS().decide(pm.IDS().init(game, 1), np.array([0.5]))
    elsewhere = pm.Game([[1.0, 0, 0]], [[]], pm.AllParameters(3))
    with pytest.raises(InvalidInput, match="context must be a game over the parameters of all"):
        pm.IDS().decide(pm.IDS().init(game, 1), np.array([0.5]), context=elsewhere)
    with pytest.raises(InvalidInput, match="ContextualIDS plays games with contexts"):
        pm.ContextualIDS().init(pm.games.apple_tasting(), 1)
    with pytest.raises(InvalidInput, match="sampling of ContextualIDS must be exact or"):
        pm.ContextualIDS(sampling=pm.sampling.e2d(1.0))
    with pytest.raises(InvalidInput, match="solver must be one of"):
        pm.ContextualIDS(solver="guess")
    with pytest.raises(InvalidInput, match="chances must be one of"):
        pm.ContextualIDS(chances="guessed")


def test_policies_that_take_no_contexts_are_refused() -> None:
    for use in (
        lambda: pm.simulate(pm.games.survey(), "cbp", "random", horizon=3, seeds=1),
        lambda: pm.Learner(pm.games.survey(), pm.DuelingIDS()),
        lambda: pm.Experiment("survey", "randcbp", horizon=3, seeds=1),
    ):
        with pytest.raises(InvalidInput, match="takes no contexts; the game has 2"):
            use()


def test_one_context_explores_for_another() -> None:
    """A voucher is best where answers come: conditional IDS never asks, contextual IDS does."""
    game = pm.games.survey(2, answer_rate=0.5, voucher=True)
    policies = {"conditional": pm.IDS(), "contextual": pm.ContextualIDS()}
    result = pm.simulate(game, policies, [0.2, 0.8, 1.0], horizon=800, seeds=4)
    assert result.exponent("conditional").value > 0.95
    assert result.exponent("contextual").value < 0.7
    assert result.mean("contextual")[-1] < 0.3 * result.mean("conditional")[-1]
    vouchers = game.actions.index("voucher")
    answers = result.plays["conditional"][:, -1, vouchers]
    assert (result.information["conditional"][:, -1] == 0).all()
    assert (answers > 0.4 * 800).all()


def test_greedy_play_that_explores_is_counted_on() -> None:
    """If the best actions of all contexts show everything, contextual IDS pays less to explore.

    The price of a round is what its distribution may lose more than the action that may lose least.
    """
    game, n = pm.games.greedy_exploration(), 60
    policies = {"conditional": pm.IDS(), "contextual": pm.ContextualIDS()}
    angles = np.arange(n, dtype=float)
    theta = np.array([np.cos(angles), np.sin(angles)]).T
    price = {}
    for name, policy in policies.items():
        state, rng, paid = policy.init(game, n), np.random.default_rng(0), 0.0
        for _ in range(150):
            z = rng.integers(len(game.games), size=n)
            choice = policy.decide(state, rng.random(n), context=z)
            loses = (choice.distribution * choice.gaps).sum(axis=1) - choice.gaps.min(axis=1)
            paid += float(loses.sum())
            rows = game.observation_maps[z, choice.action]
            shown = (rows @ theta[:, :, None])[:, :, 0] + rng.normal(size=(n, 1))
            state = policy.update(state, choice.action, shown, context=z)
        price[name] = paid
    assert price["contextual"] < 0.7 * price["conditional"]
    result = pm.simulate(game, policies, "random", horizon=300, seeds=10)
    assert result.mean("contextual")[-1] < 0.8 * result.mean("conditional")[-1]


@pytest.mark.parametrize("masked", [False, True])
def test_e2d_explores_for_other_contexts(masked: bool) -> None:
    """A voucher is best where answers come; E2D pays for information there all the same."""
    game = pm.games.survey(2, answer_rate=0.5, voucher=True)
    policy = pm.IDS(sampling=pm.sampling.e2d(20.0))
    state = policy.init(game, 1)
    everything = np.ones(game.k, dtype=bool) if masked else None
    choice = policy.decide(state, np.array([0.5]), everything, np.array([0]))
    voucher = game.actions.index("voucher")
    assert choice.gaps[0, voucher] == 0
    scores = np.where(game.available[0], choice.gaps[0] - 20 * choice.information[0], np.inf)
    assert choice.action[0] == scores.argmin() != voucher
    for quiet in (pm.sampling.e2d(1e-3), pm.sampling.e2d("anytime"), pm.sampling.exact):
        other = pm.IDS(sampling=quiet)
        choice = other.decide(other.init(game, 1), np.array([0.5]), everything, np.array([0]))
        assert choice.action[0] == voucher


def test_e2d_learns_what_silent_clients_like() -> None:
    game = pm.games.survey(2, answer_rate=0.5, voucher=True)
    policies = {"conditional": pm.IDS(), "e2d": pm.IDS(sampling=pm.sampling.e2d(20.0))}
    result = pm.simulate(game, policies, [0.2, 0.8, 1.0], horizon=800, seeds=3)
    assert result.mean("e2d")[-1] < 0.7 * result.mean("conditional")[-1]


@pytest.mark.parametrize("rule", [pm.sampling.e2d(50.0), pm.sampling.e2d("anytime")])
def test_without_contexts_a_dominant_action_is_played_whatever_the_rule(rule: Any) -> None:
    choice = pm.IDS(sampling=rule).decide(pm.IDS().init(DOMINATED, 1), np.array([0.5]))
    assert choice.action[0] == 0
