"""The end of optimism: where optimism pays ever more, asymptotically optimal IDS does not.

Of the actions (1, 0), (0, 1) and (1 - e, 2 e) with theta = (1, 0) the last loses only e, but tells
little about whether it is better than the first. The second loses 1 and tells it with about 8 log n
rounds, whatever e is. Optimism never plays it again, and pays about 2 log(n) / e in the long run
(Lattimore and Szepesvari, "The end of optimism", AISTATS 2017).
"""

from __future__ import annotations

import pytest

import partial_monitoring as pm


@pytest.mark.nightly
def test_the_constant_of_optimism_grows_and_that_of_asymptotic_ids_does_not() -> None:
    late, total = {}, {}
    for e in (0.2, 0.05, 0.0125):
        game = pm.games.linear_bandit([[1, 0], [0, 1], [1 - e, 2 * e]], noise_std=0.3)
        result = pm.simulate(
            game,
            ["asymptotic_ids", "linucb"],
            [1, 0],
            horizon=500_000,
            seeds=16,
            checkpoints=[100_000],
        )
        for name in result.policies:
            before, total[name, e] = result.mean(name)
            late[name, e] = total[name, e] - before
    assert late["linucb", 0.0125] > 4 * late["linucb", 0.2]
    assert total["linucb", 0.0125] > 4 * total["linucb", 0.2]
    for e in (0.05, 0.0125):
        assert total["asymptotic_ids", e] < 1.5 * total["asymptotic_ids", 0.2]
        assert late["asymptotic_ids", e] < 10 < late["linucb", e]
        assert total["asymptotic_ids", e] < total["linucb", e] / 2
