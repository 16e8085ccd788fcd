"""Duels: the list of pairs and the items give the same game, and the items are enough."""

from itertools import product
from pathlib import Path

import numpy as np
import pytest

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput

ITEMS = np.random.default_rng(5).standard_normal((6, 3))


def observed(state_game: pm.DuelingGame, rounds: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    actions = rng.integers(0, state_game.k, rounds)
    theta = rng.standard_normal(state_game.d) / 3
    first, second = np.divmod(actions, state_game.item_count)
    utilities = state_game.item_features @ theta
    return actions, utilities[first] - utilities[second] + rng.standard_normal(rounds)


def test_it_is_the_game_of_all_ordered_pairs() -> None:
    game = pm.games.dueling(ITEMS, items=list("abcdef"))
    for index, (a, b) in enumerate(product(range(6), repeat=2)):
        np.testing.assert_allclose(game.features[index], ITEMS[a] + ITEMS[b])
        np.testing.assert_allclose(game.rows(index), [ITEMS[a] - ITEMS[b]])
        assert game.actions[index] == game.action_label(index) == f"{'abcdef'[a]} | {'abcdef'[b]}"
        assert game.action_index(game.actions[index]) == index
    assert (game.k, game.d, game.m, game.item_count) == (36, 3, 1, 6)


def test_files_keep_items(tmp_path: Path) -> None:
    game = pm.games.dueling(ITEMS, feedback="sign")
    pm.save_game(game, tmp_path / "duels.toml")
    again = pm.load_game(tmp_path / "duels.toml")
    assert isinstance(again, pm.DuelingGame)
    np.testing.assert_array_equal(again.item_features, game.item_features)
    assert again.noise == "sign"


@pytest.mark.parametrize("parameters", [pm.AllParameters(3), pm.Ball(np.zeros(3), 1.0)])
def test_items_and_pairs_estimate_the_same(parameters: pm.ParameterSet) -> None:
    game = pm.games.dueling(ITEMS, parameters=parameters)
    by_items, by_pairs = pm.DuelingIDS(), pm.IDS(gap=pm.gaps.mean)
    one, two = by_items.init(game, 1), by_pairs.init(game, 1)
    actions, seen = observed(game, 40, seed=1)
    for action, y in zip(actions, seen, strict=True):
        one = by_items.update(one, np.array([action]), np.array([[y]]))
        two = by_pairs.update(two, np.array([action]), np.array([[y]]))
    first, second = (p.decide(s, np.array([0.5])) for p, s in ((by_items, one), (by_pairs, two)))
    np.testing.assert_allclose(first.estimate, second.estimate, atol=1e-9)
    np.testing.assert_allclose(first.beta, second.beta)
    assert first.candidates is not None
    pairs = first.candidates[0]
    np.testing.assert_allclose(first.information[0], second.information[0, pairs], atol=1e-9)


@pytest.mark.parametrize("seed", range(12))
def test_pairs_with_the_greedy_item_are_within_a_factor_of_four(seed: int) -> None:
    """gap(a, b) = D(a) + D(b) and psi is the square of a metric, so (ah, x) suffices up to 4."""
    rng = np.random.default_rng(seed)
    game = pm.games.dueling(rng.standard_normal((7, 3)), parameters=pm.AllParameters(3))
    policy = pm.DuelingIDS()
    state = policy.init(game, 1)
    actions, seen = observed(game, int(rng.integers(0, 60)), seed)
    for action, y in zip(actions, seen, strict=True):
        state = policy.update(state, np.array([action]), np.array([[y]]))
    choice = policy.decide(state, np.array([0.5]))
    greedy = int(choice.candidates[0, 0]) // game.item_count  # type: ignore[index]
    items = choice.gaps[0] - choice.gaps[0, greedy] / 2
    inverse = state.estimate.inverse[0]
    seen_items = state.estimate.design.observed_features
    away = seen_items[:, None] - seen_items[None]
    psi = np.einsum("abi,ij,abj->ab", away, inverse, away)
    roots = np.sqrt(np.maximum(psi, 0))
    assert (roots[:, None, :] <= roots[:, :, None] + roots[None] + 1e-9).all()
    gaps = (items[:, None] + items[None]).ravel()
    information = 0.5 * np.log1p(np.maximum(psi, 0)).ravel()
    best = pm.sampling.Generalized(2.0).pairs(gaps[None], information[None]).ratio[0]
    assert best * (1 - 1e-9) <= choice.ratio[0] <= 4 * best * (1 + 1e-9)


def test_a_hundred_million_pairs_are_never_listed() -> None:
    items = np.random.default_rng(0).standard_normal((10_000, 8)) / 4
    game = pm.games.dueling(items)
    learner = pm.Learner(game, pm.DuelingIDS(), seed=1)
    for _ in range(3):
        decision = learner.ask()
        learner.tell(decision, [0.1])
    assert decision.label == game.action_label(decision.action)
    assert len(decision.gaps) == game.item_count
    assert game.k == 10**8
    result = pm.simulate(game, "dueling_ids", np.full(8, 0.1), horizon=5, seeds=2)
    assert result.regret["dueling_ids"].shape == (2, len(result.checkpoints))
    assert not {"features", "observation_maps", "actions", "row_counts"} & set(vars(game))
    with pytest.raises(InvalidInput, match="10000 items make 100000000 duels, too many to list"):
        game.features  # noqa: B018


def test_regret_of_items_and_pairs_is_alike() -> None:
    """The ratio was 0.948 over 1000 seeds, with a deviation of 0.12 per seed.

    Over 200 seeds that is a standard error of 0.0085: the bounds are more than five of them away,
    a false alarm (with other random numbers) has probability below 1e-6.
    """
    game = pm.games.dueling(ITEMS[:4], parameters=pm.AllParameters(3))
    result = pm.simulate(
        game,
        {"pairs": pm.IDS(gap=pm.gaps.mean), "items": pm.DuelingIDS()},
        [0.4, -0.2, 0.1],
        horizon=300,
        seeds=200,
    )
    ratio = result.mean("items")[-1] / result.mean("pairs")[-1]
    assert 0.90 < ratio < 1.0


def test_only_dueling_games() -> None:
    with pytest.raises(InvalidInput, match="DuelingIDS plays dueling games"):
        pm.Learner(pm.games.linear_bandit(), pm.DuelingIDS())
    with pytest.raises(InvalidInput, match="available cannot be given with DuelingIDS"):
        pm.Learner(pm.games.dueling(), pm.DuelingIDS()).ask(available=[0])
    with pytest.raises(InvalidInput, match=r"no action named 'x \| y'"):
        pm.games.dueling().action_index("x | y")


@pytest.mark.parametrize("rule", [pm.sampling.exact, pm.sampling.e2d(1e9)])
def test_an_item_that_is_best_for_sure_is_played_against_itself(
    rule: pm.sampling.SamplingRule,
) -> None:
    items = [[0.1, 0.2], [1.0, 1.0], [0.3, 0.0]]
    game = pm.games.dueling(items, parameters=pm.Box([0.5, 0.5], [1, 1]))
    policy = pm.DuelingIDS(sampling=rule)
    result = pm.simulate(game, policy, "random", horizon=20, seeds=3)
    assert (result.regret["dueling_ids"] == 0).all()
    assert (result.plays["dueling_ids"][:, -1, game.action_index("1 | 1")] == 20).all()
