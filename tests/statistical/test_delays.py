"""Late answers cost little if open decisions are expected; all seeded."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.delays import BATCH, GAME, POLICIES, allowance, regrets

import partial_monitoring as pm


def test_large_batches_cost_little_more_than_their_first_blind_one() -> None:
    horizon, seeds, batch = 400, 16, 80
    more = allowance(horizon, seeds, batch)
    single = regrets(GAME, POLICIES, {}, horizon, seeds)
    large = regrets(GAME, POLICIES, {"batch": batch}, horizon, seeds)
    ignored = regrets(GAME, POLICIES, {"batch": batch, "pending": "ignored"}, horizon, seeds)
    for name in POLICIES:
        assert large[name].mean() <= single[name].mean() + more
    for name in ("default", "RandCBP"):
        assert large[name].mean() < 0.75 * ignored[name].mean()


@pytest.mark.nightly
def test_batches_of_300_cost_at_most_what_is_allowed() -> None:
    horizon, seeds = 10_000, 100
    more = allowance(horizon, seeds)
    single = regrets(GAME, POLICIES, {}, horizon, seeds)
    for batch in (30, BATCH):
        large = regrets(GAME, POLICIES, {"batch": batch}, horizon, seeds)
        for name in POLICIES:
            assert large[name].mean() <= single[name].mean() + more * batch / BATCH


@pytest.mark.nightly
@pytest.mark.parametrize("late", [{"batch": 300}, {"delay": 100}])
def test_expecting_open_decisions_pays_in_long_runs(late: dict[str, int]) -> None:
    horizon, seeds = 10_000, 100
    expected = regrets(GAME, POLICIES, late, horizon, seeds)
    ignored = regrets(GAME, POLICIES, late | {"pending": "ignored"}, horizon, seeds)
    for name in ("default", "RandCBP"):
        assert expected[name].mean() < 0.7 * ignored[name].mean()


@pytest.mark.parametrize("policy", [pm.FeedExp3(horizon=400), pm.NeighborhoodWatch2()])
def test_weights_of_late_answers_stay_unbiased(policy: pm.Policy) -> None:
    """Of delays, a policy that weights answers loses about what it waits for, and no more."""
    game, truth = pm.games.apple_tasting(), [0.7, 0.3]
    options = {"horizon": 400, "seeds": 40, "checkpoints": [400]}
    at_once = pm.simulate(game, {"it": policy}, truth, **options)  # type: ignore[arg-type]
    late = pm.simulate(game, {"it": policy}, truth, delay=20, **options)  # type: ignore[arg-type]
    regret, waiting = late.regret["it"][:, -1], at_once.regret["it"][:, -1]
    error = np.hypot(regret.std(), waiting.std()) / np.sqrt(40)
    assert regret.mean() <= waiting.mean() + 20 + 4 * error
