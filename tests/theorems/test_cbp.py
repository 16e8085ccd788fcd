"""What CBP must do by its definition: decide, stop, explore as often as f(t) says."""

from __future__ import annotations

import numpy as np
import pytest

import partial_monitoring as pm
from partial_monitoring.policies.finite.cbp import CBPState, decided
from tests.oracles.finite_games import NAMED

TRIVIAL = {
    "one action": NAMED["one action"],
    "one outcome": NAMED["one outcome"],
    "always better": pm.games.finite(losses=[[1, 1], [0, 0]], signals=["ab", "aa"]),
    "copies only": pm.games.finite(losses=[[0, 1], [0, 1]], signals=["aa", "ab"]),
    "nothing seen": pm.games.finite(losses=[[0, 0], [1, 2]], signals=["aa", "aa"]),
}
both = pytest.mark.parametrize("policy", [pm.CBP(), pm.RandCBP()], ids=["cbp", "randcbp"])


@both
@pytest.mark.parametrize("game", TRIVIAL.values(), ids=TRIVIAL.keys())
def test_trivial_games_cost_nothing(game: pm.FiniteGame, policy: pm.CBP) -> None:
    result = pm.simulate(game, {"p": policy}, "random", horizon=20, seeds=3)
    assert (result.regret["p"] == 0).all()


def with_counts(game: pm.FiniteGame, counts: dict[int, list[int]]) -> CBPState:
    """Return the state after so many of each symbol, by playing them."""
    policy, state = pm.CBP(), pm.CBP().init(game, 1)
    for action, often in counts.items():
        for symbol, times in enumerate(often):
            for _ in range(times):
                state = policy.update(state, np.array([action]), np.eye(game.m)[[symbol]])
    return state


def test_a_comparison_is_decided_exactly_at_its_width() -> None:
    """Apples: the difference is p_1 - p_2 of the tasted ones, the width Z / n^(1/2)."""
    state = with_counts(NAMED["apples"], {0: [30, 10], 1: [1]})
    (e,) = range(len(state.geometry.pairs))
    size = float(state.geometry.sizes[e].max())
    edge = abs(30 / 40 - 10 / 40) * np.sqrt(40) / size
    assert decided(state, np.array([[edge * (1 - 1e-9)]]))[0, e] != 0
    assert decided(state, np.array([[edge * (1 + 1e-9)]]))[0, e] == 0
    assert decided(state, np.array([[0.0]]))[0, e] != 0


def test_a_difference_of_zero_decides_nothing() -> None:
    state = with_counts(NAMED["apples"], {0: [7, 7], 1: [1]})
    assert not decided(state, np.array([[0.0]])).any()


def test_bounds_and_rates() -> None:
    policy, t = pm.CBP(alpha=1.7), np.array([1, 2, 1000])
    assert policy.bound(t) ** 2 == pytest.approx(1.7 * np.log(t))
    rate = 1.7 ** (1 / 3) * t ** (2 / 3) * np.log(t) ** (1 / 3)
    assert policy.rate(t) == pytest.approx(rate)


def test_random_factors_stay_below_the_bound() -> None:
    """Levels, their probabilities, and never more than CBP's own factor."""
    policy = pm.RandCBP(levels=4, spread=0.7, top=0.2)
    t = np.array([50] * 4)
    grid = (np.arange(100_000) + 0.5) / 100_000
    factors = policy.factors(t, np.tile(grid, (4, 1)))[0]
    bound = float(policy.bound(t)[0])
    levels, counts = np.unique(factors, return_counts=True)
    assert levels == pytest.approx(np.linspace(0, bound, 4))
    weights = np.exp(-(levels[:3] ** 2) / (2 * 0.7**2))
    expected = np.append(0.8 * weights / weights.sum(), 0.2)
    assert counts / 100_000 == pytest.approx(expected, abs=2e-5)
    assert factors.max() <= bound
    assert (np.diff(factors) >= 0).all()


def test_what_randcbp_allows_is_never_more_than_cbp() -> None:
    """Smaller widths decide at least as much, so nothing that CBP ruled out comes back."""
    game = NAMED["pricing"]
    cbp, rand = pm.CBP(), pm.RandCBP()
    rng = np.random.default_rng(0)
    state = cbp.init(game, 20)
    instance = pm.Instance(game, [0.1, 0.2, 0.3, 0.4])
    for _ in range(150):
        action = cbp.decide(state, np.zeros(20)).action
        seen = np.array([game.observation(a, instance.observe(int(a), rng)) for a in action])
        padded = np.zeros((20, game.m))
        for i, row in enumerate(seen):
            padded[i, : len(row)] = row
        state = cbp.update(state, action, padded)
        factors = rand.factors(state.round, rng.random((20, len(state.geometry.pairs))))
        assert (factors <= cbp.bound(state.round)[:, None]).all()
        random = decided(state, factors)
        assert (random[state.signs != 0] == state.signs[state.signs != 0]).all()


@both
def test_on_a_path_it_stops_exploring(policy: pm.CBP) -> None:
    """Only the action in the middle tells; far from it the regret stays flat."""
    game = NAMED["path"]
    result = pm.simulate(
        game, {"p": policy}, [0.9, 0.1], horizon=2000, seeds=10, checkpoints=[1000, 2000]
    )
    late = result.regret["p"][:, 1] - result.regret["p"][:, 0]
    assert late.mean() < 3.0


def test_on_a_hard_game_labels_are_bought_as_the_rate_says() -> None:
    """Between two equally good guesses: n_ask follows W^(2/3) f(t) as long as it is undecided."""
    game = NAMED["labels"]
    policy = pm.CBP(alpha=50.0)  # so that nothing is decided
    result = pm.simulate(game, {"p": policy}, [0.5, 0.5], horizon=1500, seeds=2)
    ask = int(np.flatnonzero(policy.init(game, 1).geometry.weights)[0])
    # W = 1: the guesses differ by the largest difference there is.
    for i, t in enumerate(result.checkpoints):
        allowed = float(policy.rate(np.array([t]))[0])
        plays = result.plays["p"][:, i, ask]
        assert (plays <= allowed + 2).all()
        assert (plays >= min(allowed, t - 2) - 2).all()


def test_a_silent_copy_costs_no_more_than_its_first_round() -> None:
    """T5: a copy without feedback, and a dominated action, are left alone."""
    base = pm.games.finite(losses=[[1, 0], [0, 1]], signals=["aa", "ab"])
    more = pm.games.finite(
        losses=[[1, 0], [0, 1], [1, 0], [1, 1]], signals=["aa", "ab", "aa", "aa"]
    )
    for name in ("cbp", "randcbp"):
        plain, rich = (
            pm.simulate(game, name, [0.4, 0.6], horizon=500, seeds=8) for game in (base, more)
        )
        assert np.array_equal(plain.regret[name], rich.regret[name])


@both
def test_shifted_and_scaled_losses_change_no_decision(policy: pm.CBP) -> None:
    """T4, by powers of two so that no rounding differs."""
    game = NAMED["pricing"]
    shifted = pm.FiniteGame(4 * game.rewards + np.array([8.0, -4.0, 2.0, 0.0]), game.signals)
    theta = [0.1, 0.2, 0.3, 0.4]
    one, two = (
        pm.simulate(g, {"p": policy}, theta, horizon=200, seeds=3).plays["p"]
        for g in (game, shifted)
    )
    assert np.array_equal(one, two)
