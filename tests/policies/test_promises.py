"""Which mode a policy is in, and who says so."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import partial_monitoring as pm
from partial_monitoring.cli import main
from partial_monitoring.errors import InvalidInput
from partial_monitoring.policies import POLICIES
from partial_monitoring.policies.promise import Promise, promise_of

PRICING = pm.games.dynamic_pricing()
WHOLE_SPACE = pm.games.linear_bandit(np.eye(2), pm.AllParameters(2))
BOUND = "certified: the bound of its expected regret holds, if the model does"


def mode(policy: Any, game: Any = None) -> str:
    found = promise_of(policy, game)
    return "" if found is None else found.mode


@pytest.mark.parametrize(
    ("policy", "game", "expected"),
    [
        (pm.IDS(), PRICING, "certified"),
        (pm.IDS(), pm.games.kernelized_bandit([0.0, 0.5, 1.0]), "certified"),
        (pm.IDS(), pm.games.survey(), "certified"),
        (pm.IDS(gap=pm.gaps.relaxed), PRICING, "certified"),
        (pm.IDS(information=pm.information.directed), PRICING, "certified"),
        (pm.IDS(information=pm.information.directed), pm.games.survey(), "practical"),
        (pm.IDS(confidence=pm.confidence.fixed(0.05)), PRICING, "certified"),
        (pm.IDS(confidence=pm.confidence.deviations(2)), PRICING, "practical"),
        (pm.IDS(confidence=lambda t: 2 * np.log(t)), PRICING, "practical"),
        (pm.IDS(gap=pm.gaps.mean), PRICING, "practical"),
        (pm.IDS(gap=pm.gaps.mean), WHOLE_SPACE, "certified"),
        (pm.IDS(sampling=pm.sampling.deterministic), PRICING, "practical"),
        (pm.IDS(), pm.KernelBoxGame(pm.kernels.Matern(2.5, 0.3), [0], [1]), "practical"),
        (pm.ContextualIDS(), pm.games.survey(), "certified"),
        (pm.ContextualIDS(chances="estimated"), pm.games.survey(), "practical"),
        (pm.ContextualIDS(solver="frank_wolfe"), pm.games.survey(), "practical"),
        (pm.DuelingIDS(), pm.games.dueling(np.eye(3)), "certified"),
        (pm.Calibrated(), PRICING, "practical"),
        (pm.Calibrated(guard=4.0), PRICING, "certified"),
        (pm.Refitted(), pm.games.kernelized_bandit([0.0, 0.5, 1.0]), "practical"),
        (pm.Probing(pm.IDS()), PRICING, "practical"),
        (pm.CBP(), PRICING, ""),
    ],
)
def test_modes(policy: Any, game: Any, expected: str) -> None:
    assert mode(policy, game) == expected
    found = promise_of(policy, game)
    assert found is None or str(found).startswith(f"{expected}: ")
    assert "no bound is proven" in str(found) or expected != "practical"


def test_words() -> None:
    assert str(promise_of(pm.IDS())) == BOUND
    fixed = pm.IDS(confidence=pm.confidence.fixed(0.05))
    assert "with probability 95 % the bound" in str(promise_of(fixed))
    narrow = promise_of(pm.IDS(confidence=pm.confidence.likelihood_ratio(0.05)))
    assert "certified: with probability 95 % a bound of its regret holds" in str(narrow)
    guarded = pm.Calibrated(guard=0.5)
    assert "its expected regret is at most 1.5 times the bound of IDS" in str(promise_of(guarded))
    both = pm.IDS(
        confidence=pm.confidence.fixed(0.1), gap=pm.gaps.mean, sampling=pm.sampling.approximate
    )
    assert str(promise_of(both, PRICING)) == (
        "practical: no bound is proven for these gaps and this sampling rule"
    )


def test_what_is_certified_by_default() -> None:
    certified = {name for name, build in POLICIES.items() if mode(build()) == "certified"}
    assert certified == {"ids", "contextual_ids", "dueling_ids"}


# -- who says so -----------------------------------------------------------------------------------


def test_decisions_and_status_say_it() -> None:
    for policy, line in ((pm.IDS(), BOUND), (pm.Calibrated(), "practical: no bound is proven")):
        learner = pm.Learner(PRICING, policy, seed=0)
        assert line in learner.ask().explain()
        assert line[1:] in str(learner.status())
        assert str(learner.status().promise).startswith(line)
    learner = pm.Learner(PRICING, pm.CBP())
    assert learner.ask().promise is None
    assert "proven" not in str(learner.status())


def test_a_practical_status_does_not_claim_too_much() -> None:
    told = ["taste"] * 200, ["good"] * 180 + ["rotten"] * 20
    for policy, claim in (
        (pm.IDS(), "No other action can be best any more, if the model holds."),
        (pm.IDS(confidence=pm.confidence.deviations(2)), "No other action is likely to be best."),
    ):
        learner = pm.Learner("apple_tasting", policy)
        learner.tell_past(*told)
        assert claim in str(learner.status())
    learner = pm.Learner("apple_tasting", pm.IDS(confidence=pm.confidence.deviations(2)))
    assert "is likely to lose at most" in str(learner.status())
    assert "The next decision is estimated to lose" in str(learner.status())


def test_the_command_lists_modes_and_the_default_first() -> None:
    shown = CliRunner().invoke(main, ["policies"]).stdout
    _, listed = re.split("─{10,}\n", shown)
    names = [line.split()[0] for line in listed.splitlines() if line[:1].strip()]
    assert names[0] == "calibrated"
    assert "calibrated plays when no policy is named." in shown
    assert f"ids is {BOUND}." in shown
    rows = json.loads(CliRunner().invoke(main, ["policies", "--json"]).stdout)
    assert {row["name"]: row["mode"] for row in rows}["ids"] == "certified"


def test_reports_say_it(tmp_path: Any) -> None:
    pytest.importorskip("plotly")
    from partial_monitoring.report.terminal import summary_table

    experiment = pm.Experiment(PRICING, ["calibrated", "ids", "cbp"], horizon=5, seeds=2)
    comparisons = experiment.compare()
    caption = str(summary_table(comparisons).caption)
    assert "calibrated is practical: no bound is proven" in caption
    assert f"ids is {BOUND}" in caption
    assert "cbp is" not in caption
    page = pm.write_report(comparisons, tmp_path, figures=False).read_text(encoding="utf-8")
    assert "What it promises" in page
    assert BOUND in page


def test_policies_of_your_own_may_promise() -> None:
    class Own(pm.CBP):
        def promise(self, game: Any) -> Promise:
            return Promise("certified", "it never loses")

    class Boasting(pm.CBP):
        def promise(self, game: Any) -> str:
            return "certified: trust me"

    assert str(promise_of(Own(), PRICING)) == "certified: it never loses"
    with pytest.raises(InvalidInput, match=r"must be a pm\.policies\.Promise; got 'certified"):
        pm.Learner(PRICING, Boasting()).ask()
