"""What plays when no policy is named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import partial_monitoring as pm
from partial_monitoring.cli import main
from partial_monitoring.cli.demo import POLICIES as SHOWN
from partial_monitoring.policies.calibrated.gaussian import gaussian_rule


def test_the_default_is_the_first_of_all_policies() -> None:
    assert next(iter(pm.policies.POLICIES)) == pm.policies.DEFAULT == "calibrated"
    assert type(pm.policies.make(pm.policies.DEFAULT)) is pm.Calibrated


def test_simulations_and_experiments_play_it() -> None:
    result = pm.simulate("apple_tasting", theta=[0.9, 0.1], horizon=20, seeds=3)
    named = pm.simulate("apple_tasting", "calibrated", [0.9, 0.1], horizon=20, seeds=3)
    assert result.policies == named.policies == ["calibrated"]
    assert (result.regret["calibrated"] == named.regret["calibrated"]).all()
    experiment = pm.Experiment("apple_tasting", theta=[0.9, 0.1], horizon=20, seeds=3)
    (comparison,) = experiment.compare()
    assert (comparison.result.regret["calibrated"] == named.regret["calibrated"]).all()


def test_files_without_policies_play_it(tmp_path: Path) -> None:
    path = tmp_path / "plain.toml"
    path.write_text('horizon = 5\nseeds = 2\ngames = ["apple_tasting"]\n')
    assert dict(pm.load_experiment(path).policies) == {"calibrated": pm.Calibrated()}


def test_commands_play_it() -> None:
    words = ["simulate", "apple_tasting", "--horizon", "5", "--seeds", "2", "--json"]
    (row,) = json.loads(CliRunner().invoke(main, words).stdout)
    assert row["policy"] == "calibrated"
    assert SHOWN[0] == "calibrated"


def test_refitting_keeps_its_own() -> None:
    assert pm.Refitted().inner == pm.IDS(gap=pm.gaps.mean)


@pytest.mark.parametrize("name", ["survey", "segment_pricing", "contextual_apple_tasting"])
def test_an_unlisted_context_finds_what_the_listed_ones_have_shown(name: str) -> None:
    game: Any = pm.games.make(name)
    policy, rng, n = pm.Calibrated(), np.random.default_rng(0), 3
    state, rule = policy.init(game, n), gaussian_rule(game)
    told = rule.init(game, n)
    for t in range(12):
        context = np.full(n, t % len(game.games))
        action = game.positions(int(context[0]))[[t % 2] * n]
        count = game.at(int(context[0])).row_counts[t % 2]
        shown = np.zeros((n, game.m))
        if count:
            shown[np.arange(n), rng.integers(count, size=n)] = 1.0
        state = policy.update(state, action, shown, context=context)
        told = rule.update(told, action, shown, context=context)
    unlisted = game.games[-1]
    mine = state.met(unlisted).known.estimate
    assert np.allclose(mine.coordinates, told.estimate.coordinates, rtol=1e-9, atol=1e-12)
    assert np.allclose(mine.log_det, told.estimate.log_det, rtol=1e-9)
    assert np.array_equal(mine.round, told.estimate.round)
    assert state.met(np.zeros(n, dtype=np.int64)) is state
