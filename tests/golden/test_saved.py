"""Learners, results and stores that the first layout of the package wrote are still read."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import partial_monitoring as pm
from tests.golden import runs

SAVED = Path(__file__).with_name("saved")
EXPECTED = json.loads((SAVED / "expected.json").read_text(encoding="utf-8"))
UNLISTED = {
    "features": [[0.1, 0.2], [0.3, 0.1]],
    "observation_maps": [[[1.0, 0.0]], [[0.0, 1.0]]],
}


@pytest.mark.parametrize("name", [name for name in EXPECTED if name != "unlisted"])
def test_a_saved_learner_goes_on_as_it_would_have(name):
    learner, expected = pm.Learner.load(SAVED / f"{name}.json"), EXPECTED[name]
    contexts = getattr(learner.game, "contexts", None)
    assert learner.history[3]["label"] == expected["open"]
    learner.tell(3, expected["observation"])
    rng = np.random.default_rng(5)
    for t, (label, probability) in enumerate(expected["next"]):
        given = {} if contexts is None else {"context": t % len(contexts)}
        decision = learner.ask(**given)
        assert decision.label == label or learner.game.is_called(decision.action, label)
        assert decision.probability == pytest.approx(probability, abs=1e-9)
        learner.tell(decision, runs.answer(learner.game, decision, rng, **given))
    assert learner.round == expected["round"]
    if expected["status"]:
        shown = learner.status(**({} if contexts is None else {"context": 0}))
        shown = replace(shown, promise=None)
        claims = shown.sentences()  # what is said of the table comes last
        assert claims[: len(claims) - len(shown.table.notes)] == expected["status"].splitlines()
        assert str(shown).endswith("\n".join(claims))


def test_a_saved_learner_remembers_a_context_that_its_game_does_not_list():
    learner = pm.Learner.load(SAVED / "unlisted.json")
    decision = learner.ask(context=UNLISTED)
    ((label, probability),) = EXPECTED["unlisted"]["next"]
    assert (decision.label, decision.probability) == (label, pytest.approx(probability, abs=1e-9))
    assert learner.round == EXPECTED["unlisted"]["round"]


def test_a_saved_result_is_read():
    result = pm.Result.load(SAVED / "result.parquet")
    played = {"ids": pm.IDS(), "randcbp": pm.RandCBP(levels=20)}
    again = pm.simulate(pm.games.dynamic_pricing(), played, [0.2, 0.5, 0.3], horizon=20, seeds=4)
    assert result.policies == again.policies
    for policy in result.policies:
        np.testing.assert_allclose(result.regret[policy], again.regret[policy], rtol=1e-9)


def test_runs_in_a_store_of_the_first_layout_are_found(tmp_path):
    folder = tmp_path / "store"
    shutil.copytree(SAVED / "store", folder)
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*.parquet")}
    experiment = pm.Experiment(
        {
            "pricing": pm.games.dynamic_pricing(),
            "bandit": pm.games.linear_bandit(),
            "survey": pm.games.survey(),
        },
        {
            "ids": pm.IDS(gap=pm.gaps.relaxed, sampling=pm.sampling.Generalized(3.0)),
            "lints": pm.LinTS(),
            "contextual": pm.ContextualIDS(),
            "cbp": pm.CBP(),
        },
        {
            "pricing": {"named": [0.2, 0.5, 0.3], "worst": "worst", "random": "random"},
            "bandit": "random",
            "survey": [0.3, 0.7],
        },
        horizon=12,
        seeds=3,
        name="old",
    )
    experiment.run(store=folder, engine="here", progress=False)
    after = {path: path.stat().st_mtime_ns for path in folder.rglob("*.parquet")}
    assert after == before
