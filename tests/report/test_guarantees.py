"""Reports state a guarantee only where one holds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import partial_monitoring as pm
from partial_monitoring.report.figures import look, regret_figure
from partial_monitoring.report.series import policy_styles
from partial_monitoring.report.summary import Section, sections
from partial_monitoring.report.text import bound_note
from tests.oracles.report_samples import made_up

LINE = pm.Game([[1.0], [-1.0]], [[[1.0]], [[-1.0]]], pm.AllParameters(1), 1.0)
WEDGE = pm.Polytope(a_ub=[[-1.0, 0.0], [0.0, -1.0]], b_ub=[0.0, 0.0])
FAR = 10**7


def section_of(
    game: pm.Game, policies: dict[str, Any], theta: list[float], horizon: int = FAR
) -> Section:
    """Return a section with made-up regret, so that no round needs to be played."""
    rounds = sorted({1, 10, horizon})
    result = made_up(dict.fromkeys(policies, 0.5), rounds=rounds, seeds=2, k=game.k)
    result = replace(result, theta=np.tile(np.array(theta), (2, 1)))
    return sections(pm.Comparison("game", game, "truth", policies, result))[0]


def guaranteed(section: Section) -> list[tuple[str, ...]]:
    return [own.policies for own in section.guarantees if own.holds]


def test_no_guarantee_for_truths_far_from_the_prior_mean() -> None:
    near, far = (section_of(LINE, {"ids": pm.IDS()}, [x]) for x in (0.9, -200.0))
    assert "Theory guarantees IDS (ids)" in str(bound_note(near))
    assert "is 200 away from the prior mean, outside the norm bound 1" in str(bound_note(far))
    assert far.bounds(np.array([FAR])) == {}


def test_no_guarantee_for_truths_far_out_in_an_unbounded_polytope() -> None:
    game = pm.Game(np.eye(2), np.eye(2)[:, None], WEDGE, 1.0)
    assert guaranteed(section_of(game, {"ids": pm.IDS()}, [50.0, 1.0])) == []
    wide = section_of(game, {"ids": pm.IDS(norm_bound=100.0)}, [50.0, 1.0])
    assert guaranteed(wide) == [("ids",)]


@pytest.mark.parametrize(
    "policy",
    [
        pytest.param(pm.IDS(confidence=pm.confidence.deviations(0.01)), id="deviations"),
        pytest.param(pm.IDS(confidence=pm.confidence.fixed(0.05)), id="fixed"),
        pytest.param(pm.IDS(sampling=pm.sampling.deterministic), id="deterministic"),
        pytest.param(pm.IDS(information=pm.information.directed_relaxed), id="directed_relaxed"),
        pytest.param(pm.IDS(gap=pm.gaps.mean), id="mean gaps and a set that is cut"),
        pytest.param(pm.IDS(norm_bound=1e-3), id="truth beyond B"),
        pytest.param(pm.CBP(), id="cbp"),
        pytest.param("a policy of somebody else", id="text"),
    ],
)
def test_no_guarantee_for_policies_that_have_none(policy: Any) -> None:
    section = section_of(pm.games.dynamic_pricing(), {"it": policy}, [0.2, 0.5, 0.3])
    assert guaranteed(section) == []
    assert "Theory guarantees" not in str(bound_note(section))


def test_policies_have_the_bound_of_their_own_options() -> None:
    game = pm.games.dynamic_pricing()
    policies = {
        "ids": pm.IDS(),
        "relaxed": pm.IDS(gap=pm.gaps.relaxed),
        "heavy": pm.IDS(regularization=50.0),
        "wide": pm.IDS(norm_bound=10.0),
        "directed": pm.IDS(information=pm.information.directed),
    }
    section = section_of(game, policies, [0.2, 0.5, 0.3])
    found = {own.policies: float(own.of(FAR).regret[0]) for own in section.guarantees}
    options: dict[tuple[str, ...], Any] = {
        ("ids", "relaxed"): {},
        ("heavy",): {"regularization": 50.0},
        ("wide",): {"norm_bound": 10.0},
        ("directed",): {"information": "directed"},
    }
    for names, own in options.items():
        assert found[names] == pytest.approx(pm.bounds(game, FAR, **own).regret[0])
    assert set(found) == set(options)
    assert "bound for heavy" in section.bounds(np.array([FAR]))


def test_a_bound_above_what_can_be_lost_is_not_shown() -> None:
    game, policies = pm.games.dynamic_pricing(), {"ids": pm.IDS()}
    early = section_of(game, policies, [0.2, 0.5, 0.3], horizon=5000)
    (own,) = early.guarantees
    assert "says nothing before round 670,427:" in str(bound_note(early))
    assert early.bounds(np.array([10, 5000])) == {}
    assert own.start == pm.bounds(game, 1).informative_from
    before, after = (pm.bounds(game, own.start - step) for step in (1, 0))
    assert before.regret[0] >= before.max_gap * before.horizon[0]
    assert after.regret[0] < after.max_gap * after.horizon[0]
    late = section_of(game, policies, [0.2, 0.5, 0.3])
    drawn = late.bounds(np.array([10, FAR]))["bound for IDS"]
    assert np.isnan(drawn[0])
    assert drawn[1] == pytest.approx(pm.bounds(game, FAR).regret[0])


def test_the_measured_regret_keeps_the_bound() -> None:
    policies = {"ids": pm.IDS()}
    result = pm.simulate(LINE, policies, [-0.2], horizon=6000, seeds=3)
    (section,) = sections(pm.Comparison("line", LINE, "-0.2", policies, result))
    bound = section.bounds(result.checkpoints)["bound for IDS"]
    assert np.nanmin(bound - result.mean("ids")) > 0
    with look():
        figure = regret_figure(section, policy_styles([section.comparison]))
    assert "bound for IDS" in [text.get_text() for text in figure.legends[0].get_texts()]
