"""Duels of settings with an unknown utility: items are enough, whether written down or not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput
from partial_monitoring.estimation.kernel import design as kernel_design
from partial_monitoring.estimation.kernel import posterior as estimation
from partial_monitoring.kernels import Linear, Matern, SquaredExponential
from tests.oracles.kernel_reference import Posterior
from tests.oracles.kernel_routes import compare, factored, points, truth

Array = NDArray[np.float64]

KERNELS: dict[str, Any] = {
    "squared exponential": SquaredExponential(0.3),
    "matern": Matern(0.5, (0.3, 0.8), 2.0),
    "low rank": Linear(),
    "offset": 3.0 * SquaredExponential(0.4) + 2.0,
}
RULES: dict[str, Any] = {
    "exact": pm.sampling.exact,
    "approximate": pm.sampling.approximate,
    "e2d": pm.sampling.e2d(0.5),
    "anytime": pm.sampling.e2d("anytime"),
}


def duels(name: str = "matern", count: int = 9, **options: Any) -> pm.KernelDuelingGame:
    given = {"noise_std": 0.5, "norm_bound": 1.5} | options
    return pm.games.kernelized_dueling(points(count, 2), kernel=KERNELS[name], **given)


def in_coordinates(game: pm.KernelDuelingGame) -> pm.DuelingGame:
    """Items as features whose inner products are the kernel."""
    values, vectors = np.linalg.eigh(game.gram.matrix)
    kept = values > 1e-13 * values[-1]
    features = vectors[:, kept] * np.sqrt(values[kept])
    return pm.DuelingGame(features, pm.AllParameters(features.shape[1]), float(game.noise_std))


def duel(game: pm.KernelDuelingGame, action: int, theta: Array, rng: Any) -> Array:
    first, second = divmod(action, game.item_count)
    return np.array([[theta[first] - theta[second] + float(game.noise_std) * rng.normal()]])


def side_by_side(game: pm.KernelDuelingGame, rule: Any, rounds: int, schedule: Any = None) -> float:
    """Play items with the kernel and in coordinates; return how often they decided the same."""
    options = {"sampling": rule} | ({} if schedule is None else {"confidence": schedule})
    policy = pm.DuelingIDS(**options)
    other = pm.DuelingIDS(norm_bound=game.norm_bound, **options)
    linear = in_coordinates(game)
    mine, theirs = policy.init(game, 1), other.init(linear, 1)
    rng, theta = np.random.default_rng(2), truth(game, 3)
    same = 0
    for t in range(rounds):
        uniforms = rng.random(1)
        one, two = policy.decide(mine, uniforms), other.decide(theirs, uniforms)
        utilities = two.estimate @ linear.item_features.T
        np.testing.assert_allclose(one.estimate, utilities, atol=1e-8)
        if one.candidates.tolist() == two.candidates.tolist():  # else two items look best
            same += compare(one, two, 1e-8 if t else 1e-6)
        seen = duel(game, int(one.action[0]), theta, rng)
        mine, theirs = policy.update(mine, one.action, seen), other.update(theirs, one.action, seen)
    return same / rounds


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", KERNELS)
def test_items_with_a_kernel_and_in_coordinates(name: str, rule: str) -> None:
    assert side_by_side(duels(name), RULES[rule], 100) > 0.97


@pytest.mark.parametrize(("dense", "refresh"), [(0, 1024), (0, 9), (2500, 9)])
def test_whether_or_not_covariances_are_written_down(
    dense: int, refresh: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernel_design, "DENSE", dense)
    monkeypatch.setattr(estimation, "REFRESH", refresh)
    schedule = pm.confidence.fixed(0.01)
    assert side_by_side(duels(), pm.sampling.exact, 80, schedule) > 0.97


def test_more_items_than_are_paired_for_the_largest_gap() -> None:
    assert side_by_side(duels("low rank", 310), pm.sampling.exact, 30) > 0.9


def test_one_item_is_played_against_itself() -> None:
    game = duels(count=1)
    assert side_by_side(game, pm.sampling.exact, 10) == 1
    assert pm.Learner(game, pm.DuelingIDS()).ask().label.count("|") == 1


def test_it_is_the_game_of_all_ordered_pairs() -> None:
    """phi = k_a + k_b, M = k_a - k_b, and the three kernels of the notes, 1.9."""
    game, k = duels(count=4), KERNELS["matern"](points(4, 2))
    earned, shown = game.features, game.observation_maps[:, 0]
    assert (game.k, game.d, game.m, game.item_count) == (16, 4, 1, 4)
    for i in range(16):
        (a1, a2), label = divmod(i, 4), game.actions[i]
        assert label == game.action_label(i) == f"{game.items[a1]} | {game.items[a2]}"
        assert game.action_index(label) == i
        np.testing.assert_array_equal(game.rows(i)[0], shown[i])
        for j in range(16):
            b1, b2 = divmod(j, 4)
            both = k[a1, b1] + k[a1, b2] + k[a2, b1] + k[a2, b2]
            apart = k[a1, b1] - k[a2, b1] - k[a1, b2] + k[a2, b2]
            cross = k[a1, b1] + k[a2, b1] - k[a1, b2] - k[a2, b2]
            gram = game.gram.matrix
            assert earned[i] @ gram @ earned[j] == pytest.approx(both, abs=1e-12)
            assert shown[i] @ gram @ shown[j] == pytest.approx(apart, abs=1e-12)
            assert earned[i] @ gram @ shown[j] == pytest.approx(cross, abs=1e-12)


def test_items_and_listed_pairs_know_the_same() -> None:
    game = duels(count=5)
    by_items, by_pairs = pm.DuelingIDS(), pm.IDS(gap=pm.gaps.mean)
    one, two = by_items.init(game, 1), by_pairs.init(game, 1)
    rng, theta = np.random.default_rng(0), truth(game, 1)
    for action in rng.integers(0, game.k, 40):
        seen = duel(game, int(action), theta, rng)
        one = by_items.update(one, np.array([action]), seen)
        two = by_pairs.update(two, np.array([action]), seen)
    first, second = (p.decide(s, np.array([0.5])) for p, s in ((by_items, one), (by_pairs, two)))
    sums = (first.estimate[0][:, None] + first.estimate[0]).ravel()
    np.testing.assert_allclose(sums, second.estimate[0], atol=1e-9)
    np.testing.assert_allclose(first.beta, second.beta)
    assert first.candidates is not None
    pairs = first.candidates[0]
    np.testing.assert_allclose(first.information[0], second.information[0, pairs], atol=1e-9)
    assert factored(game).k == 25


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize(("rule", "factor"), [("exact", 4.0), ("approximate", 16 / 3)])
def test_the_rule_is_within_its_factor_of_all_pairs(rule: str, factor: float, seed: int) -> None:
    """Notes 4.3, with gaps and distances from the textbook posterior of the items."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(size=(7, 2))
    kernel = KERNELS[list(KERNELS)[seed % 4]]
    game = pm.games.kernelized_dueling(x, kernel=kernel, noise_std=0.4)
    policy = pm.DuelingIDS(sampling=RULES[rule])
    state, theta = policy.init(game, 1), truth(game, seed)
    actions = rng.integers(0, game.k, int(rng.integers(0, 50)))
    seen = np.array([duel(game, int(a), theta, rng)[0] for a in actions]).reshape(-1, 1)
    for a, y in zip(actions, seen, strict=True):
        state = policy.update(state, np.array([a]), y[None])
    choice = policy.decide(state, np.array([0.5]))
    known = Posterior(game, actions, seen, 1.0)
    means, psi = known.numbers, item_distances(known)
    greedy = int(choice.candidates[0, 0]) // game.item_count  # type: ignore[index]
    assert means[greedy] == pytest.approx(means.max(), abs=1e-9)
    width = np.sqrt(choice.beta[0] * psi[greedy])
    largest = np.sqrt(item_distances(Posterior(game, [], np.zeros((0, 1)), 1.0)).max())
    items = np.minimum((means + width).max() - means, largest)
    np.testing.assert_allclose(choice.gaps[0], items + items[greedy], atol=1e-8)
    gaps = (items[:, None] + items).ravel()
    gains = 0.5 * np.log1p(psi).ravel()
    best = pm.sampling.Generalized(2.0).pairs(gaps[None], gains[None]).ratio[0]
    assert best * (1 - 1e-7) <= choice.ratio[0] <= factor * best * (1 + 1e-7)


def item_distances(known: Posterior) -> Array:
    c = known.covariance
    psi = c.diagonal()[:, None] + c.diagonal() - 2 * c
    return np.asarray(np.maximum(psi, 0.0))


def test_four_million_pairs_are_never_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Any) -> Any:
        raise AssertionError("pairs were listed")

    monkeypatch.setattr("partial_monitoring.model.dueling.Duels.listed", refuse)
    game = pm.games.kernelized_dueling(points(2000, 2), kernel=SquaredExponential(0.2))
    assert game.k == 4_000_000
    learner = pm.Learner(game, pm.DuelingIDS(), seed=1)
    for _ in range(4):
        decision = learner.ask()
        learner.tell(decision, [0.1])
    assert decision.label == game.action_label(decision.action)
    assert decision.estimate.shape == decision.gaps.shape == (2000,)
    assert learner.status().best in game.items
    result = pm.simulate(game, "dueling_ids", "random", horizon=4, seeds=2)
    assert (result.regret["dueling_ids"] >= 0).all()
    assert not {"reward", "feedback", "features", "observation_maps", "actions"} & set(vars(game))
    with pytest.raises(AssertionError, match="pairs were listed"):
        game.features  # noqa: B018


def test_far_more_items_than_are_written_down() -> None:
    """Only the columns of items that were compared are ever computed."""
    game = pm.games.kernelized_dueling(points(5000, 2), kernel=Matern(1.5, 0.2))
    learner = pm.Learner(game, pm.DuelingIDS(), seed=1)
    for _ in range(3):
        learner.tell(learner.ask(), [0.2])
    assert "matrix" not in vars(game.gram)
    with pytest.raises(InvalidInput, match="5000 items make 25000000 duels, too many to list"):
        game.features  # noqa: B018


def test_signs_are_drawn_with_the_right_mean() -> None:
    game = duels(count=6, feedback="sign", noise_std=None, norm_bound=0.4)
    assert (game.noise, game.noise_std) == ("sign", 1.0)
    theta = truth(game, 0)
    theta *= 0.45 / np.abs(theta).max()
    rng = np.random.default_rng(0)
    seen = [pm.Instance(game, theta).observe(1, rng)[0] for _ in range(2000)]
    assert set(seen) == {-1.0, 1.0}
    # Five standard errors, with a fixed seed.
    assert np.mean(seen) == pytest.approx(theta[0] - theta[1], abs=5 / np.sqrt(2000))
    with pytest.raises(InvalidInput, match="sign observations need means between -1 and 1"):
        pm.simulate(game, "dueling_ids", 10 * theta, horizon=2, seeds=1)


def test_only_duels_of_all_pairs() -> None:
    with pytest.raises(InvalidInput, match=r"DuelingIDS plays dueling games .*; got KernelGame\("):
        pm.Learner(pm.games.kernelized_localized_dueling(), pm.DuelingIDS(), allow_hopeless=True)
    with pytest.raises(InvalidInput, match="available cannot be given with DuelingIDS"):
        pm.Learner(duels(), pm.DuelingIDS()).ask(available=[0])
    with pytest.raises(InvalidInput, match="prior_mean must be left out, a kernel game has"):
        pm.Learner(duels(), pm.DuelingIDS(prior_mean=np.zeros(9)))
    for policy in (pm.LinUCB(), pm.LinTS(), pm.Greedy()):
        with pytest.raises(InvalidInput, match="cannot play duels"):
            pm.Learner(duels(), policy)


def test_thompson_sampling_refuses_loud_duels_too() -> None:
    for policy in (pm.DuelingIDS(regularization=1e-18), pm.DuelingTS()):
        with pytest.raises(InvalidInput, match="observations must not be so large"):
            pm.Learner(pm.games.kernelized_dueling(noise_std=1e-9), policy)
