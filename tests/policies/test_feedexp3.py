"""FeedExp3: its constants, estimates and distributions, against the formulas of its papers."""

from __future__ import annotations

from math import e, exp, log
from typing import Any

import numpy as np
import pytest

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput
from partial_monitoring.policies.finite import feedexp3
from tests.oracles.finite_games import NAMED, random_game
from tests.oracles.histories import after, history, relabelled
from tests.oracles.two_ways import compare

LEARNED = {name: game for name, game in NAMED.items() if pm.analyze(game).category != "trivial"}
OPTIONS: dict[str, pm.FeedExp3] = {
    "default": pm.FeedExp3(),
    "all actions": pm.FeedExp3(exploration="all"),
    "horizon": pm.FeedExp3(horizon=300),
    "ps": pm.FeedExp3(tuning="ps"),
    "ps, all actions, horizon": pm.FeedExp3(200, "ps", "all"),
}
every_option = pytest.mark.parametrize("policy", OPTIONS.values(), ids=OPTIONS.keys())
every_game = pytest.mark.parametrize("game", LEARNED.values(), ids=LEARNED.keys())


def scaled(game: pm.FiniteGame) -> Any:
    """Losses in units of the largest difference of two in one outcome, shape (k, d)."""
    return -game.rewards / np.ptp(game.rewards, axis=0).max()


def distribution(policy: pm.FeedExp3, state: Any) -> Any:
    return policy.decide(state, np.full(len(state.round), 0.5)).distribution


# -- estimates -------------------------------------------------------------------------------------


@every_option
@every_game
def test_estimates_are_unbiased_whatever_the_outcome(
    game: pm.FiniteGame, policy: pm.FeedExp3
) -> None:
    """By enumeration of the actions: the mean change of Lhat is the loss against the mean."""
    own = pm.analyze(game).representatives
    state = after(policy, game, history(game, 40, seed=1))
    chances = distribution(policy, state)[0]
    for x in range(game.d):
        change = np.zeros(len(own))
        for a in np.flatnonzero(chances):
            moved = policy.update(state, np.array([a]), game.observation_maps[a, :, x][None])
            change += chances[a] * (moved.losses - state.losses)[0]
        losses = scaled(game)[own, x]
        np.testing.assert_allclose(change, losses - losses.mean(), atol=1e-10)


@pytest.mark.parametrize("seed", range(12))
def test_estimates_of_random_games_are_unbiased(seed: int) -> None:
    game = random_game(seed)
    if pm.analyze(game).category != "trivial":
        test_estimates_are_unbiased_whatever_the_outcome(game, list(OPTIONS.values())[seed % 5])


LARGEST = {"apples": 1 / 2, "labels": 1 / 2, "bandit": 1 / 4}


@pytest.mark.parametrize("name", LARGEST)
def test_the_largest_entries_by_hand(name: str) -> None:
    """Half the difference of two actions; on a bandit each of two arms carries half of that."""
    found = np.abs(pm.FeedExp3().init(NAMED[name], 1).shape.estimates).max()
    assert found == pytest.approx(LARGEST[name], abs=1e-9)


# -- constants and distributions -------------------------------------------------------------------


def test_apple_tasting_by_hand() -> None:
    """One observer, two actions: C = (e - 2)^(1/3), after one apple that was good."""
    game = pm.games.finite(losses=[[1, 0], [0, 1]], signals=["aa", "ab"])
    policy = pm.FeedExp3(horizon=1000)
    c = (e - 2) ** (1 / 3)
    eta, gamma = (log(2) / 1000) ** (2 / 3) / c, c * (log(2) / 1000) ** (1 / 3)
    state = policy.init(game, 1)
    first = [(1 - gamma) / 2, (1 + gamma) / 2]
    np.testing.assert_allclose(distribution(policy, state)[0], first, rtol=1e-12)
    state = policy.update(state, np.array([1]), np.array([[1.0, 0.0]]))
    ahead = exp(-eta * 1.0 / first[1])  # l_0 - l_1 = 1 in this outcome
    expected = (1 - gamma) * ahead / (1 + ahead)
    np.testing.assert_allclose(distribution(policy, state)[0], [expected, 1 - expected], rtol=1e-12)


def textbook(policy: pm.FeedExp3, game: pm.FiniteGame, state: Any, t: int) -> Any:
    """The distribution of the papers: every constant as it is printed."""
    k, n = game.k, t if policy.horizon is None else policy.horizon
    largest = max(1.0, np.abs(state.shape.estimates).max())
    if policy.tuning == "ps":
        eta, gamma = (log(k) / n) ** 0.5, k**0.5 * log(k) ** 0.25 * n**-0.25
    else:
        c = (largest * (e - 2) ** 0.5) ** (2 / 3)
        eta, gamma = (log(k) / (k * n)) ** (2 / 3) / c, c * (k**2 * log(k) / n) ** (1 / 3)
    gamma = min(1.0, gamma)
    weights = np.exp(-eta * state.losses[0])
    found = np.full(k, gamma / k)
    groups = pm.analyze(game).duplicates
    for j, a in enumerate(pm.analyze(game).representatives):
        copies = next((group for group in groups if a in group), [a])
        found[copies] += (1 - gamma) * weights[j] / weights.sum() / len(copies)
    return found


@pytest.mark.parametrize("tuning", ["cbls", "ps"])
@pytest.mark.parametrize("horizon", [None, 500])
@every_game
def test_exploring_all_actions_is_as_printed(
    game: pm.FiniteGame, tuning: str, horizon: int | None
) -> None:
    policy = pm.FeedExp3(horizon, tuning, "all")
    for rounds in (0, 3, 60):
        state = after(policy, game, history(game, rounds, seed=2))
        expected = textbook(policy, game, state, rounds + 1)
        np.testing.assert_allclose(distribution(policy, state)[0], expected, rtol=1e-9)


def test_only_observers_are_explored() -> None:
    game = pm.games.finite(
        losses=[[1, 1], [1, 0], [0, 1], [2, 2]], signals=["ab", "aa", "aa", "aa"]
    )
    state = pm.FeedExp3().init(game, 1)
    assert state.shape.explored.tolist() == [1, 0, 0, 0]
    assert distribution(pm.FeedExp3(), state)[0, 3] == 0
    everything = pm.FeedExp3(exploration="all").init(game, 1)
    assert everything.shape.explored.tolist() == [0.25] * 4


def test_sums_of_any_size_give_distributions() -> None:
    policy, game = pm.FeedExp3(), NAMED["pricing"]
    state = policy.init(game, 1)
    for losses in ([0.0, 1e300, -1e300, 1.0], [1e12] * 4, [-1e200, 0.0, 0.0, 0.0]):
        state.losses[:] = losses
        found = distribution(policy, state)
        assert np.isfinite(found).all()
        assert found.sum() == pytest.approx(1.0, abs=1e-12)


# -- what must not matter --------------------------------------------------------------------------


@every_option
@every_game
def test_names_do_not_matter(game: pm.FiniteGame, policy: pm.FeedExp3) -> None:
    """The same law of play after permuting actions, outcomes and symbols."""
    for seed in range(3):
        other, actions, outcomes = relabelled(game, seed)
        played = history(game, 30, seed)
        renamed = [(actions.index(a), outcomes.index(x)) for a, x in played]
        one = distribution(policy, after(policy, game, played))[0]
        two = distribution(policy, after(policy, other, renamed))[0]
        np.testing.assert_allclose(two, one[actions], atol=1e-7)


@every_game
def test_losses_matter_only_by_differences_and_ratios(game: pm.FiniteGame) -> None:
    shift, played = np.arange(game.d) * 3.0, history(game, 30, seed=4)
    other = pm.games.finite(losses=-2 * game.rewards + shift, signals=game.signals)
    one, two = (after(pm.FeedExp3(), own, played) for own in (game, other))
    np.testing.assert_allclose(
        distribution(pm.FeedExp3(), one), distribution(pm.FeedExp3(), two), atol=1e-9
    )


# -- edges -----------------------------------------------------------------------------------------

TRIVIAL: dict[str, pm.FiniteGame] = {
    "one action": NAMED["one action"],
    "one outcome": NAMED["one outcome"],
    "dominated": pm.games.finite(losses=[[1, 1], [0, 0.5]], signals=["ab", "aa"]),
    "copies": pm.games.finite(losses=[[0, 1], [0, 1]], signals=["ab", "aa"]),
}


@every_option
@pytest.mark.parametrize("game", TRIVIAL.values(), ids=TRIVIAL.keys())
def test_trivial_games_cost_nothing_and_need_no_program(
    game: pm.FiniteGame, policy: pm.FeedExp3, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feedexp3, "unbiased_vectors", None)
    result = pm.simulate(game, {"p": policy}, "random", horizon=50, seeds=5)
    assert not result.regret["p"].any()


@every_option
@pytest.mark.parametrize("game", NAMED.values(), ids=NAMED.keys())
def test_compiled_rounds_are_those_of_the_formulas(
    game: pm.FiniteGame, policy: pm.FeedExp3
) -> None:
    compare(game, policy, 200)


@pytest.mark.parametrize("seed", range(6))
def test_compiled_rounds_of_random_games(seed: int) -> None:
    compare(random_game(seed), list(OPTIONS.values())[seed % 5], 100)


@every_option
def test_the_checks_of_policies(policy: pm.FeedExp3) -> None:
    pm.testing.check_policy(policy, rounds=10)


def test_outcomes_that_never_happen() -> None:
    result = pm.simulate("dynamic_pricing", "feedexp3", [0, 0, 1], horizon=200, seeds=5)
    assert np.isfinite(result.regret["feedexp3"]).all()


def test_refusals() -> None:
    hopeless = pm.games.matching_pennies("none")
    with pytest.raises(InvalidInput, match="FeedExp3 plays games that can be learned"):
        pm.FeedExp3().init(hopeless, 1)
    with pytest.raises(InvalidInput, match="FeedExp3 plays finite games"):
        pm.FeedExp3().init(pm.games.linear_bandit(), 1)  # type: ignore[arg-type]
    state = pm.FeedExp3().init(NAMED["apples"], 1)
    with pytest.raises(InvalidInput, match="available cannot be given with FeedExp3"):
        pm.FeedExp3().decide(state, np.zeros(1), np.array([True, False]))


@pytest.mark.parametrize(
    "options", [{"horizon": 0}, {"horizon": 1.5}, {"tuning": "best"}, {"exploration": "some"}]
)
def test_bad_options(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match=next(iter(options))):
        pm.FeedExp3(**options)
