"""Pictures and HTML of a learner, and what the numbers of its decisions are measured in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

import partial_monitoring as pm
from partial_monitoring.policies.units import NATS
from tests.oracles.learners import fingerprint, learned


def test_a_picture_has_the_numbers_of_the_table(tmp_path: Path) -> None:
    learner = learned(pm.games.dynamic_pricing(), None, 90)
    before, table = fingerprint(learner), learner.status().table
    figure = learner.plot()
    assert fingerprint(learner) == before
    earns, shares = figure.axes
    lines = earns.get_lines()
    for i, label in enumerate(["$1", "$2", "$3"]):  # in the order of the game
        row = table[label]
        assert list(lines[2 * i].get_xdata()) == [row.low, row.high]
        assert list(lines[2 * i + 1].get_xdata()) == [row.earns]
        filled = lines[2 * i + 1].get_markerfacecolor() != "white"
        assert filled == row.may_be_best
    assert earns.get_title().startswith("Round 91: ")
    assert shares.get_xlabel() == "observations"
    assert shares.get_xlim() == (0, 90)
    figure.savefig(tmp_path / "learner.svg")
    assert (tmp_path / "learner.svg").read_text().startswith("<?xml")


def test_it_is_drawn_into_axes() -> None:
    learner = learned(pm.games.apple_tasting(), pm.IDS(), 20)
    mine = Figure()
    one, two = mine.subplots(1, 2)
    assert learner.plot((one, two), title="mine") is mine
    assert one.get_title() == "mine"
    assert two.get_legend() is not None
    alone = Figure().subplots()
    learner.plot(alone)
    assert len(alone.get_lines()) == 4
    for wrong in (3, "axes", [one, two, alone], []):
        with pytest.raises(
            pm.errors.InvalidInput, match="ax must be one axes of matplotlib or two"
        ):
            learner.plot(wrong)
    with pytest.raises(pm.errors.InvalidInput, match="title"):
        learner.plot(title=3)  # type: ignore[arg-type]


def test_it_is_drawn_before_anything_is_known_and_in_contexts() -> None:
    assert len(pm.Learner(pm.games.apple_tasting()).plot().axes) == 2
    learner = pm.Learner(pm.games.segment_pricing())
    with pytest.raises(pm.errors.InvalidInput, match="context must be given"):
        learner.plot()
    name = learner.game.contexts[0]  # type: ignore[attr-defined]
    title = learner.plot(context=name).axes[0].get_title().replace("\\", "")
    assert title.endswith(f"in {name}")


def test_of_many_actions_the_best_are_drawn() -> None:
    phi = np.random.default_rng(0).standard_normal((60, 3))
    learner = learned(pm.games.linear_bandit(phi), None, 40)
    axes = learner.plot().axes[0]
    assert axes.get_ylabel() == "the best 16 of 60"
    assert axes.get_yticklabels()[0].get_text() == learner.status().best


def test_duels_show_items() -> None:
    learner = learned(pm.games.dueling(np.eye(3), items=["tea", "milk", "wine"]), None, 30)
    earns, shares = learner.plot().axes
    assert [text.get_text() for text in earns.get_yticklabels()] == ["tea", "milk", "wine"]
    assert earns.get_xlabel().startswith(f"earns more than {learner.status().best} per round")
    legend = shares.get_legend()
    assert legend is not None
    assert {text.get_text() for text in legend.get_texts()} == {"tea", "milk", "wine"}


def box(dimensions: int) -> Any:
    kernel = pm.kernels.SquaredExponential([3.0] * dimensions)
    low, high = [80.0] * dimensions, [100.0] * dimensions
    game = pm.KernelBoxGame(kernel, low, high, noise_std=0.2, norm_bound=2.0)
    points = np.linspace(81, 99, 6)[:, None] * np.ones(dimensions)
    learner = pm.Learner(game)
    learner.tell_past(game.nearest(points).tolist(), list(np.sin(points[:, 0] / 5)))
    return learner


def test_over_an_interval_a_curve_is_drawn_with_its_band() -> None:
    learner = box(1)
    (axes,) = learner.plot().axes
    curve = axes.get_lines()[0]
    assert len(axes.collections) == 2  # the band, and what was seen
    confidence = learner.confidence_set()
    points = confidence.game.computed.points[:, 0]
    at = np.interp(points, curve.get_xdata(), curve.get_ydata())
    assert np.abs(at - confidence.center[0]).max() < 2e-3
    band = axes.collections[0].get_paths()[0].vertices[:, 1]
    means, lengths = confidence.anywhere(np.linspace(80, 100, 241)[:, None])
    reach = np.sqrt(confidence.beta[0]) * lengths
    assert (band.min(), band.max()) == pytest.approx(((means - reach).min(), (means + reach).max()))


def test_over_a_box_the_best_points_are_drawn() -> None:
    learner = box(2)
    (axes,) = learner.plot().axes
    table = learner.status().table
    assert table.noun == "point"
    assert axes.get_yticklabels()[0].get_text() == table.rows[0].label
    assert sum(row.plays for row in table) == 6
    assert table.heads == ("earns", "from", "to", "plays", "may be best")
    places = np.array([learner.game.point(row.action) for row in table])
    apart = np.abs(places[:, None] - places).max(axis=2) + 99 * np.eye(len(places))
    assert apart.min() >= 0.03 * 20 * (1 - 1e-9)


def test_html_has_the_tables() -> None:
    learner = learned(pm.games.dynamic_pricing(), None, 20)
    for html in (learner._repr_html_(), learner.status()._repr_html_()):
        assert html.count("<svg") == 3
        for head in ("earns", "from", "to", "plays", "share", "may be best"):
            assert f">{head}</th>" in html
    several = pm.Learner(pm.games.segment_pricing())._repr_html_()
    assert several.count("Context &#x27;") == 2
    refused = pm.Learner(pm.games.shortest_path(), "pege")._repr_html_()
    assert "Learner" in refused
    assert "earns" not in refused


# -- what decisions are measured in ----------------------------------------------------------


def explained(game: Any, policy: Any) -> str:
    return learned(game, policy, 20).ask().explain()


def test_explanations_say_what_numbers_are_measured_in() -> None:
    game = pm.games.dynamic_pricing()
    at_most = "may lose: at most, per round, in units of reward"
    assert at_most in explained(game, pm.IDS())
    assert f"tells: {NATS}" in explained(game, pm.IDS())
    directed = explained(game, pm.IDS(information=pm.information.directed))
    assert "show, over 2 beta" in directed
    default = explained(game, None)
    assert "worth later: what it shows is expected to save in all rounds to come" in default
    assert "may lose" not in default
    bandit = explained(pm.games.linear_bandit(), None)
    summed = "may lose: by how much it looks worse than the best, plus what each other"
    assert summed in bandit
    assert "a sum, not the loss of a round" in bandit
    assert "tells: how much of the expected improvements" in bandit
    probing = pm.Learner(game, pm.IDS(), probe=0.1)
    assert at_most in probing.ask().explain()
    assert at_most in explained(pm.games.dueling(), pm.DuelingIDS())
    assert at_most in explained(game, pm.Calibrated(guard=0.1))
    assert "in nats" in explained(game, pm.BayesianIDS())
    assert "measured" not in explained(game, "random")
