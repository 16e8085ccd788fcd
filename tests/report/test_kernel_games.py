"""Reports of kernel games claim no more than the theory does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import partial_monitoring as pm
from partial_monitoring.report.charts import regret_chart
from partial_monitoring.report.figures import cell_figure
from partial_monitoring.report.guarantee import largest_norm
from partial_monitoring.report.series import policy_styles
from partial_monitoring.report.summary import Section, sections
from partial_monitoring.report.text import bound_note


def section_of(game: pm.Game, theta: Any, **options: Any) -> Section:
    given = {"horizon": 20, "seeds": 2} | options
    policies = {"ids": pm.IDS(gap=pm.gaps.mean)}
    result = pm.simulate(game, policies, theta, **given)
    return sections(pm.Comparison("game", game, "truth", policies, result))[0]


def lines_of(section: Section) -> list[str]:
    views = regret_chart(section, policy_styles([section.comparison]))["views"]
    return [line["name"] for view in views.values() for line in view["data"] if "name" in line]


def test_no_bound_for_truths_outside_the_norm_bound() -> None:
    game = pm.games.kernelized_bandit({"low": [0, 0], "high": [1, 1], "count": 20})
    outside = section_of(game, "branin")
    assert "outside the norm bound 1" in str(bound_note(outside))
    assert "Theory guarantees IDS" not in str(bound_note(outside))
    assert "bound for IDS" not in lines_of(outside)
    assert outside.bounds(np.array([10, 10**9])) == {}


def test_bounds_for_truths_inside_the_norm_bound() -> None:
    game = pm.games.kernelized_bandit(np.linspace(0, 1, 15), norm_bound=2.0)
    inside = section_of(game, "random", horizon=9000, seeds=1)
    (own,) = inside.guarantees
    assert own.holds
    assert str(bound_note(inside)).startswith("Theory guarantees IDS")
    assert "bound for IDS" in lines_of(inside)


@pytest.mark.parametrize("count", [5, 40, 100])
def test_norms_of_random_functions(count: int) -> None:
    kernel = pm.kernels.SquaredExponential(0.3)
    game = pm.games.kernelized_bandit(np.linspace(0, 1, count), kernel=kernel, norm_bound=3.0)
    theta = pm.simulate(game, pm.GPUCB(), "random", horizon=1, seeds=3).theta
    assert largest_norm(game, theta) == pytest.approx(3.0, rel=1e-6)
    assert largest_norm(game, 2 * theta) == pytest.approx(6.0, rel=1e-6)
    assert largest_norm(game, np.zeros((1, count))) == 0.0


def test_boxes_are_said_not_to_be_analysed() -> None:
    box = pm.KernelBoxGame(pm.kernels.Matern(2.5, 0.3), [0], [1], noise_std=0.1)
    found = section_of(box, "random", horizon=3, seeds=1)
    assert found.verdict.sentences == ["Games over a box are not analysed."]
    assert bound_note(found) is None


@pytest.mark.parametrize(("count", "drawn"), [(6, True), (45, False)])
def test_cells_are_drawn_if_one_can_see_them(count: int, drawn: bool) -> None:
    section = section_of(pm.games.kernelized_bandit(np.linspace(0, 1, count)), "random", horizon=3)
    assert (cell_figure(section) is not None) == drawn
