"""Duels decided in time proportional to the items."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import partial_monitoring as pm
from tests.oracles.ratios import least_of_pairs


@given(st.integers(0, 10_000))
@settings(max_examples=25)
def test_duels_with_the_greedy_item_cost_at_most_a_factor_of_four(seed: int) -> None:
    """Notes 4.3, against all pairs: gap(a, b) = D(a) + D(b), I = 1/2 log(1 + psi(a, b))."""
    rng = np.random.default_rng(seed)
    count, d = int(rng.integers(2, 7)), int(rng.integers(1, 4))
    items = rng.normal(size=(count, d)) * rng.choice([0.1, 1.0], size=(count, 1))
    theta = rng.normal(size=d)
    theta /= max(1.0, float(np.linalg.norm(theta)))
    game = pm.games.dueling(items)
    policy = pm.DuelingIDS()
    state = policy.init(game, 1)
    gram = np.eye(d)
    for _ in range(int(rng.integers(0, 40))):
        a, b = rng.integers(0, count, 2)
        row = items[a] - items[b]
        state = policy.update(
            state, np.array([a * count + b]), np.array([[row @ theta + rng.normal()]])
        )
        gram += np.outer(row, row)
    choice = policy.decide(state, np.array([0.5]))
    greedy = int((items @ choice.estimate[0]).argmax())
    assert choice.candidates is not None
    assert choice.candidates[0].tolist() == [greedy * count + x for x in range(count)]
    away = items[None] - items[:, None]
    psi = np.einsum("abi,ij,abj->ab", away, np.linalg.inv(gram), away)
    assert choice.information[0] == pytest.approx(0.5 * np.log1p(psi[greedy]), abs=1e-9)
    # The base gaps are mean gaps of the items.
    means = items @ choice.estimate[0]
    delta = (means + np.sqrt(choice.beta[0] * psi[greedy])).max()
    largest = np.linalg.norm(away, axis=2).max()  # on the unit ball
    base = np.minimum(delta - means, largest)
    assert choice.gaps[0] == pytest.approx(base[greedy] + base, abs=1e-8)
    # All pairs, by brute force.
    a, b = np.divmod(np.arange(count**2), count)
    least = least_of_pairs(base[a] + base[b], 0.5 * np.log1p(psi[a, b]))
    assert choice.ratio[0] >= least * (1 - 1e-7)
    assert choice.ratio[0] <= 4 * least * (1 + 1e-7)
    # The rule that notes 4.3 derives for the scan is never better.
    rest = choice.gaps[0] - base[greedy]
    gains = np.maximum(choice.information[0], 1e-300)
    far = rest > 3 * base[greedy]
    scan = np.where(
        far,
        8 * base[greedy] * (rest - base[greedy]) / gains,
        (base[greedy] + rest) ** 2 / gains,
    )
    assert choice.ratio[0] <= scan.min() * (1 + 1e-7)


def test_the_pairs_are_never_listed() -> None:
    """Ten thousand items make 10^8 duels; one round needs the items only."""
    rng = np.random.default_rng(0)
    items = rng.normal(size=(10_000, 4))
    game = pm.games.dueling(items)
    learner = pm.Learner(game, pm.DuelingIDS(), seed=0)
    for _ in range(3):
        decision = learner.ask()
        a, b = divmod(decision.action, 10_000)
        assert decision.label == f"{a} | {b}"
        learner.tell(decision, [float((items[a] - items[b]) @ [0.1, 0.2, 0.3, 0.4])])
    assert learner.round == 4


def test_duels_and_listed_pairs_agree() -> None:
    """The information of a pair is the same whether pairs are listed or not."""
    rng = np.random.default_rng(1)
    items = rng.normal(size=(4, 3)) / 2
    game = pm.games.dueling(items)
    listed = pm.Game(game.features, game.observation_maps, game.parameters)
    one, two = pm.DuelingIDS(), pm.IDS(gap=pm.gaps.mean)
    first, second = one.init(game, 1), two.init(listed, 1)
    for _ in range(20):
        action, y = rng.integers(0, 16, 1), rng.normal(size=(1, 1))
        first, second = one.update(first, action, y), two.update(second, action, y)
    duel, listing = one.decide(first, np.array([0.5])), two.decide(second, np.array([0.5]))
    assert duel.candidates is not None
    pairs_of_greedy = duel.candidates[0]
    assert duel.beta == pytest.approx(listing.beta, rel=1e-9)
    assert duel.estimate == pytest.approx(listing.estimate, abs=1e-9)
    assert duel.information[0] == pytest.approx(listing.information[0, pairs_of_greedy], abs=1e-9)
