"""The default policy has low regret where feedback is Gaussian; all seeded."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.regret_gaussian import compare, geometric_means, regrets, settings, unit, wins

import partial_monitoring as pm


def test_linear_bandits_cost_less_than_thompson_sampling() -> None:
    game = pm.games.linear_bandit(unit(3, 10, 3))
    result = pm.simulate(game, ["calibrated", "lints"], "random", horizon=1000, seeds=60)
    assert result.mean("calibrated")[-1] < 0.9 * result.mean("lints")[-1]


def test_few_duels_settle_what_is_best() -> None:
    game = pm.games.dueling(unit(3, 8, 3))
    result = pm.simulate(game, ["calibrated", "dueling_ids"], "random", horizon=500, seeds=40)
    assert 2 * result.mean("calibrated")[-1] < result.mean("dueling_ids")[-1]


def test_functions_cost_less_than_thompson_sampling() -> None:
    points = np.linspace(0, 1, 60)
    game = pm.games.kernelized_bandit(points, kernel=pm.kernels.SquaredExponential(0.1))
    result = pm.simulate(game, ["calibrated", "gp_ts"], "random", horizon=80, seeds=20)
    assert result.mean("calibrated")[-1] < result.mean("gp_ts")[-1]


def test_the_table_counts_wins_and_ratios() -> None:
    one = {"first": np.array([1.0, 2.0]), "other": np.array([3.0, 4.0])}
    assert wins(one)
    assert not wins(dict(reversed(one.items())))
    assert geometric_means({"game": one}) == pytest.approx({"first": 1.0, "other": 3.6 / 1.6})


RIVALS = {"linear": ("lints",), "functions": ("gp_ts", "expected_improvement")}


@pytest.mark.nightly
@pytest.mark.parametrize("group", ["linear", "duels", "contexts", "functions", "preferences"])
def test_the_default_has_the_least_regret_nearly_everywhere(group: str) -> None:
    """Least, up to two standard errors of the difference, on three quarters of the settings."""
    found = {own.name: regrets(own, 40, None) for own in settings() if own.group == group}
    least = 0
    for regret in found.values():
        first, *others = regret.values()
        best = min(others, key=np.mean)
        error = np.sqrt((first.var(ddof=1) + best.var(ddof=1)) / len(first))
        least += first.mean() <= best.mean() + 2 * error
    assert least >= 0.75 * len(found)
    means = geometric_means(found)
    assert all(means[name] > 1 for name in RIVALS.get(group, ()))


@pytest.mark.nightly
def test_the_table_is_made() -> None:
    (table,) = compare(2, ("duels",))
    assert table.row_count == 4
