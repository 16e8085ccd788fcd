"""PM-DMED and PM-DMED-Hinge: estimates, lists, exploration, degenerate games."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput, SolverError
from tests.oracles import semi_infinite
from tests.oracles.finite_games import NAMED, random_game
from tests.oracles.textbook_dmed import Lists
from tests.oracles.two_ways import compare

APPLES = NAMED["apples"]
THREE_PRICES = pm.games.dynamic_pricing([1, 2, 3], cost=2)
GAMES = NAMED | {"three prices": THREE_PRICES}
EXPLORED = [name for name, game in GAMES.items() if pm.analyze(game).category != "trivial"]
POLICIES: dict[str, Any] = {
    "plain": pm.PMDMED(),
    "every round": pm.PMDMED(refresh=0.0, sweeps=50),
    "shuffled": pm.PMDMED(order="random"),
    "hinge": pm.PMDMEDHinge(),
    "wide hinge": pm.PMDMEDHinge(a=0.01, b=0.1, c=0.5),
}


def states(policy: Any, game: pm.FiniteGame, theta: Any, rounds: int, seed: int = 0) -> Any:
    """Yield the state before and after every round of one run, and the action."""
    rng, state = np.random.default_rng(seed), policy.init(game, 1)
    for _ in range(rounds):
        action = policy.decide(state, rng.random(1)).action
        outcome = rng.choice(game.d, p=theta)
        after = policy.update(state, action, game.observation_maps[action, :, outcome])
        yield state, int(action[0]), after
        state = after


def truth(game: pm.FiniteGame, seed: int = 0) -> Any:
    return np.random.default_rng([seed, game.d]).dirichlet(np.ones(game.d))


# -- estimates ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", EXPLORED)
def test_estimates_are_the_most_likely(name: str) -> None:
    game, nobody = GAMES[name], np.zeros(GAMES[name].k, dtype=bool)
    policy = pm.PMDMED()
    for t, (_, _, state) in enumerate(states(policy, game, truth(game), 40)):
        if t % 8 == 7:
            plays, sums = state.known.plays[0], state.known.sums[0]
            targets = sums / np.maximum(plays, 1)[:, None]
            best, _ = semi_infinite.nearest(
                game, targets, np.zeros(game.k), plays, nobody, None, hinged=False
            )
            chances = game.observation_maps @ state.known.theta[0]
            seen = sums > 0
            own = (sums[seen] * np.log(targets[seen] / chances[seen])).sum()
            assert own <= best + 1e-5


@pytest.mark.parametrize("name", EXPLORED)
def test_estimates_of_the_hinge_minimise_it(name: str) -> None:
    game, nobody = GAMES[name], np.zeros(GAMES[name].k, dtype=bool)
    policy = pm.PMDMEDHinge()
    for t, (_, _, state) in enumerate(states(policy, game, truth(game), 40)):
        if t % 8 == 7:
            plays, sums = state.known.plays[0], state.known.sums[0]
            known = np.maximum(plays, 1)
            targets, slacks = sums / known[:, None], policy.b / np.sqrt(known)
            best, _ = semi_infinite.nearest(game, targets, slacks, plays, nobody, None, hinged=True)
            chances = game.observation_maps @ state.known.theta[0]
            terms = np.zeros(sums.shape)
            seen = sums > 0
            terms[seen] = targets[seen] * np.log(targets[seen] / chances[seen])
            own = (plays * np.maximum(terms.sum(axis=1) - slacks, 0)).sum()
            assert own <= best + 1e-4


# -- lists -------------------------------------------------------------------------------------


@pytest.mark.parametrize("hinge", [None, (0.01, 0.05)], ids=["plain", "hinge"])
@pytest.mark.parametrize("name", EXPLORED)
def test_lists_are_those_of_the_textbook(name: str, hinge: Any) -> None:
    """With the estimates of the policy, which are not unique; lists of the paper, every round."""
    game = GAMES[name]
    options = {"refresh": 0.0, "c": 0.8}
    policy = (
        pm.PMDMED(**options) if hinge is None else pm.PMDMEDHinge(**options, a=hinge[0], b=hinge[1])
    )
    lists, unsolved = Lists(game, 0.8, hinge), 0
    for t, (before, action, state) in enumerate(states(policy, game, truth(game, 1), 60), 1):
        assert action == min(np.flatnonzero(before.known.left[0]))
        known = state.known
        left, later = set(np.flatnonzero(known.left[0])), set(np.flatnonzero(known.later[0]))
        try:
            lists.after(action, known.plays[0], known.sums[0], known.theta[0], t)
        except SolverError:  # the conic solver gives up where KL is almost infinite
            unsolved += 1
            lists.left, lists.later = left, later
        doubtful = lists.border | (set(range(game.k)) if game.d > 2 and t < 20 else set())
        assert (left | later) ^ (lists.left | lists.later) <= doubtful
        if doubtful:  # rates are not unique where the estimate is at the boundary
            lists.left, lists.later, lists.border = left, later, set()
        assert left == lists.left
        assert later == lists.later
    assert unsolved <= 25


def test_between_looks_rates_are_kept() -> None:
    policy, game = pm.PMDMED(refresh=0.5), APPLES
    runs = [s.known for _, _, s in states(policy, game, [0.55, 0.45], 400)]
    looked = [t for t, (one, two) in enumerate(pairwise(runs)) if one.due[0] != two.due[0]]
    assert len(looked) < 200
    for one, two in pairwise(runs):
        if one.due[0] == two.due[0]:
            assert np.array_equal(one.rates, two.rates)


def test_exploration_that_suffices_stops() -> None:
    """After long runs n / log t tells the estimate from its rivals, or nearly."""
    game = APPLES
    *_, (_, _, state) = states(pm.PMDMED(), game, [0.6, 0.4], 3000)
    found = pm.asymptotic_constant(game, state.known.theta[0])
    ratio = state.known.plays[0, 0] / (found.rates[0] * np.log(3000))
    assert found.leader == 1
    assert 0.99 < ratio < 2.0


# -- two ways ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES.keys())
def test_compiled_rounds_are_the_batched_ones(name: str, policy: Any) -> None:
    compare(GAMES[name], policy, 80)


@pytest.mark.parametrize("seed", range(10))
def test_compiled_rounds_of_random_games(seed: int) -> None:
    compare(random_game(seed), list(POLICIES.values())[seed % len(POLICIES)], 150)


# -- relabelling -------------------------------------------------------------------------------


def relabelled(game: pm.FiniteGame, outcomes: Any, actions: Any, names: str = "zyxwv") -> Any:
    """The same game in other words."""
    rows = [[names[game.symbols[a].index(s)] for s in game.signals[a]] for a in actions]
    signals = [[row[x] for x in outcomes] for row in rows]
    return pm.games.finite(losses=-game.rewards[actions][:, outcomes], signals=signals)


@pytest.mark.parametrize("policy", [pm.PMDMED(), pm.PMDMEDHinge()], ids=["plain", "hinge"])
@pytest.mark.parametrize("name", ["apples", "labels", "path", "three prices", "copies", "bandit"])
def test_relabelling_permutes_the_lists(name: str, policy: Any) -> None:
    """What follows from the same observations is the same up to labels, whatever was played."""
    game, rng = GAMES[name], np.random.default_rng(3)
    outcomes, actions = rng.permutation(game.d), rng.permutation(game.k)
    other, theta = relabelled(game, outcomes, actions), truth(game, 2)
    back = np.argsort(actions)
    one, two = policy.init(game, 1), policy.init(other, 1)
    for _ in range(60):
        chosen = policy.decide(one, np.zeros(1)).action
        x = rng.choice(game.d, p=theta)
        one = policy.update(one, chosen, game.observation_maps[chosen, :, x])
        renamed, y = back[chosen], int(np.flatnonzero(outcomes == x)[0])
        two = policy.update(two, renamed, other.observation_maps[renamed, :, y])
        np.testing.assert_allclose(two.known.theta[0], one.known.theta[0, outcomes], atol=1e-9)
        for of_one, of_two in zip(one.known[3:5], two.known[3:5], strict=True):
            assert np.array_equal(of_two[0], of_one[0, actions])


def test_in_random_order_every_remaining_action_is_as_likely() -> None:
    policy, game = pm.PMDMED(order="random"), pm.games.label_efficient()
    state = policy.init(game, 3)
    choices = policy.decide(state, np.array([0.1, 0.5, 0.9]))
    assert choices.action.tolist() == [0, 1, 2]
    np.testing.assert_allclose(choices.distribution, 1 / 3)
    state = policy.update(state, choices.action, game.observation_maps[choices.action, :, 0])
    np.testing.assert_allclose(policy.decide(state, np.zeros(3)).distribution.sum(axis=1), 1)


def test_the_law_of_play_does_not_depend_on_the_numbers_of_actions() -> None:
    game, theta = pm.games.label_efficient(), [0.7, 0.3]
    policy, actions = pm.PMDMED(order="random"), [2, 0, 1]
    other = relabelled(game, [0, 1], actions)
    mean = []
    for played in (game, other):
        regret = pm.simulate(played, policy, theta, horizon=300, seeds=200)
        mean.append(np.asarray(regret.regret[next(iter(regret.regret))])[:, -1])
    spread = np.sqrt(sum(m.var() / len(m) for m in mean))
    assert abs(mean[0].mean() - mean[1].mean()) < 4 * spread


# -- degenerate games --------------------------------------------------------------------------


@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES.keys())
def test_trivial_games_cost_nothing(policy: Any) -> None:
    dominated = pm.games.finite(losses=[[1, 1], [0, 1], [0, 1]], signals=["ab", "aa", "ab"])
    for game in (NAMED["one action"], NAMED["one outcome"], dominated):
        theta = np.full(game.d, 1 / game.d)
        result = pm.simulate(game, policy, theta, horizon=50, seeds=3)
        (regret,) = result.regret.values()
        assert (np.asarray(regret) == 0).all()


@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES.keys())
@pytest.mark.parametrize("name", GAMES)
def test_corners_copies_and_dominated_actions_do_no_harm(name: str, policy: Any) -> None:
    game = GAMES[name]
    for corner in np.eye(game.d):
        for _, _, state in states(policy, game, corner, 40):
            known = state.known
            assert np.isfinite(known.theta).all()
            assert np.isfinite(known.rates).all()
            assert known.left.any()


def test_duplicates_lead_together() -> None:
    """The one that tells is played as often as the one that does not."""
    *_, (_, _, state) = states(pm.PMDMED(), NAMED["copies"], [0.8, 0.2], 300)
    plays = state.known.plays[0]
    assert abs(plays[0] - plays[1]) <= 1
    assert plays[2] < 60


def test_ties_bring_all_actions() -> None:
    policy, game = pm.PMDMED(), pm.games.label_efficient()
    state = policy.init(game, 1)
    for action, outcome in ((0, 0), (1, 0), (2, 0), (0, 1)):
        state = policy.update(
            state, np.array([action]), game.observation_maps[[action], :, outcome]
        )
    np.testing.assert_allclose(state.known.theta[0], 0.5, atol=1e-9)
    assert (state.known.left | state.known.later)[0].all()


@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES.keys())
@pytest.mark.parametrize("name", ["apples", "labels", "copies", "bandit"])
def test_the_contract_of_policies(name: str, policy: Any) -> None:
    pm.testing.check_policy(policy, on=[GAMES[name]])


# -- regret ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("game", "theta", "horizon"),
    [
        (APPLES, [0.6, 0.4], 2000),
        (pm.games.label_efficient(), [0.4, 0.6], 2000),
        (NAMED["path"], [0.9, 0.1], 2000),
    ],
    ids=["apples", "labels", "path"],
)
def test_regret_is_near_the_asymptotic_bound(game: Any, theta: Any, horizon: int) -> None:
    result = pm.simulate(game, "pm_dmed", theta, horizon=horizon, seeds=20)
    regret = result.regret["pm_dmed"][:, -1].mean()
    bound = pm.asymptotic_constant(game, theta) * np.log(horizon)
    assert 0.4 * bound < regret < 2.0 * bound


# -- refusals ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"c": 0}, "c must"),
        ({"refresh": -0.1}, "refresh must"),
        ({"sweeps": -1}, "sweeps must"),
        ({"order": "any"}, "order must"),
    ],
)
def test_options_are_checked(options: dict[str, Any], words: str) -> None:
    for kind in (pm.PMDMED, pm.PMDMEDHinge):
        with pytest.raises(InvalidInput, match=words):
            kind(**options)


@pytest.mark.parametrize("name", ["a", "b"])
def test_options_of_the_hinge_are_checked(name: str) -> None:
    with pytest.raises(InvalidInput, match=f"{name} must"):
        pm.PMDMEDHinge(**{name: -1.0})


def test_refusals() -> None:
    hopeless = pm.games.finite(losses=[[0, 1], [1, 0]], signals=["aa", "aa"])
    with pytest.raises(InvalidInput, match="cannot be told apart"):
        pm.PMDMED().init(hopeless, 1)
    with pytest.raises(InvalidInput, match="finite games"):
        pm.PMDMEDHinge().init(pm.games.linear_bandit(), 1)
    policy, game = pm.PMDMED(), pm.games.apple_tasting()
    with pytest.raises(InvalidInput, match="available cannot be given"):
        policy.decide(policy.init(game, 1), np.zeros(1), np.array([True, False]))


def test_promises() -> None:
    assert not pm.PMDMED().promise().certified
    assert not pm.PMDMEDHinge().promise().certified
    assert pm.PMDMEDHinge(refresh=0.0).promise().certified
