"""The table of all policies: ratios to the best, linear regret, and policies with fewer seeds."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput
from partial_monitoring.experiments.files import experiment_from_dict
from partial_monitoring.experiments.store import open_store, stored_comparisons
from partial_monitoring.report.leaderboard import leaderboard
from partial_monitoring.report.significance import pairs
from partial_monitoring.report.summary import sections, smallest_gaps
from partial_monitoring.simulation.result import Result

APPLES = pm.games.apple_tasting()


def result(regret: dict[str, Any], theta: Any = (0.9, 0.1)) -> Result:
    """A result with two checkpoints, at half of ten rounds and at all of them."""
    tables = {name: np.asarray(own, dtype=float) for name, own in regret.items()}
    n = len(next(iter(tables.values())))
    blank = {name: np.full((n, 2), np.nan) for name in tables}
    plays = {name: np.ones((n, 2, 2), dtype=np.int64) for name in tables}
    seconds = dict.fromkeys(tables, 1.0)
    truths = np.repeat(np.array(theta)[None], n, axis=0)
    return Result(np.arange(n), np.array([5, 10]), truths, tables, blank, blank, plays, seconds)


def compared(*results: Result) -> list[Any]:
    policies = {name: pm.IDS() for own in results for name in own.policies}
    return sections(
        [pm.Comparison("apples", APPLES, str(i), policies, own) for i, own in enumerate(results)]
    )


def test_ratios_to_the_least_regret_are_averaged_geometrically() -> None:
    found = leaderboard(
        compared(
            result({"a": [[1, 2], [1, 2]], "b": [[4, 8], [4, 8]]}),
            result({"a": [[9, 9], [9, 9]], "b": [[1, 1], [1, 1]], "c": [[3, 3], [3, 3]]}),
        )
    )
    assert [place.policy for place in found] == ["b", "a", "c"]
    b, a, c = found
    assert b.ratio == pytest.approx(2.0)
    assert a.ratio == pytest.approx(3.0)
    assert c.ratio == pytest.approx(3.0)
    assert (a.instances, b.instances, c.instances) == (2, 2, 1)
    assert (a.worst, a.wins, b.wins, c.wins) == (pytest.approx(9.0), 1, 1, 0)


def test_instances_without_positive_regret_do_not_count() -> None:
    (place,) = leaderboard(compared(result({"a": [[0, 0]]}), result({"a": [[-1, -2]]})))
    assert place.instances == 0
    assert np.isnan(place.ratio)


def test_linear_regret_is_half_the_gap_in_the_second_half() -> None:
    """The gap of apple tasting at (0.9, 0.1) is 0.8: two units in five rounds are linear."""
    own = result({"a": [[1, 3.1], [1, 2.9], [5, 9], [0, 0]]})
    (section,) = compared(own)
    assert smallest_gaps(section.comparison) == pytest.approx(np.full(4, 0.8))
    assert section.summaries[0].linear == 0.5
    (place,) = leaderboard([section])
    assert place.linear == 0.5


def test_where_no_action_is_wrong_nothing_is_linear() -> None:
    (section,) = compared(result({"a": [[0, 0]]}, theta=(0.5, 0.5)))
    assert section.summaries[0].linear == 0.0


def test_gaps_of_contexts_and_opponents_are_not_known() -> None:
    survey = pm.simulate("survey", "random", horizon=20, seeds=2)
    policies = {"random": pm.Random()}
    for name, game, own in (
        ("survey", pm.games.survey(), survey),
        ("apples", APPLES, pm.simulate(APPLES, "random", "hostile", horizon=20, seeds=2)),
    ):
        (section,) = sections([pm.Comparison(name, game, "random", policies, own)])
        assert section.summaries[0].linear is None


# -- fewer seeds ------------------------------------------------------------------------------


def test_policies_that_played_fewer_seeds_are_compared_on_those() -> None:
    lacking = [[1, 1], [2, 2], [np.nan, np.nan]]
    own = result({"a": [[3, 3], [5, 5], [100, 100]], "b": lacking})
    assert own.played("b").tolist() == [True, True, False]
    assert own.mean("b")[-1] == 1.5
    (pair,) = pairs(own)
    assert (pair.seeds, pair.difference) == (2, 2.5)


@pytest.fixture
def experiment() -> pm.Experiment:
    policies = ["random", "cbp", "ids"]
    return pm.Experiment(
        "apple_tasting", policies, horizon=20, seeds=[4, 1, 7], fewer_seeds={"ids": 2}
    )


def test_an_experiment_may_play_some_policies_with_fewer_seeds(
    experiment: pm.Experiment, tmp_path: Path
) -> None:
    (found,) = experiment.compare(tmp_path)
    assert found.result.seeds.tolist() == [4, 1, 7]
    assert found.result.played("ids").tolist() == [True, True, False]
    assert found.result.played("cbp").all()
    alone = pm.simulate("apple_tasting", "ids", horizon=20, seeds=[4, 1])
    np.testing.assert_array_equal(found.result.regret["ids"][:2], alone.regret["ids"])
    table = experiment.run(tmp_path).to_pylist()
    assert {row["seed"] for row in table if row["policy"] == "ids"} == {4, 1}
    (stored,) = stored_comparisons(open_store(tmp_path))
    for name in ("random", "cbp", "ids"):
        np.testing.assert_array_equal(stored.result.regret[name], found.result.regret[name])


def test_reports_show_policies_with_fewer_seeds(experiment: pm.Experiment, tmp_path: Path) -> None:
    page = pm.write_report(experiment.compare(), tmp_path, figures=False)
    assert "ids" in page.read_text(encoding="utf-8")
    rows = (tmp_path / "tables" / "leaderboard.md").read_text(encoding="utf-8")
    assert rows.count("\n") == 5


def test_bad_numbers_of_seeds_are_refused() -> None:
    bad = (({"cbp": 0}, "fewer_seeds"), ({"ibs": 1}, "ibs"), (3, "fewer_seeds"))
    for given, message in (*bad, (np.ones(2), "fewer_seeds"), ([], "fewer_seeds")):
        with pytest.raises(InvalidInput, match=message):
            pm.Experiment("apple_tasting", "cbp", horizon=5, fewer_seeds=given)  # type: ignore[arg-type]


# -- the file ---------------------------------------------------------------------------------


LEADERBOARD = Path(__file__).parents[2] / "leaderboard.toml"


def test_the_leaderboard_has_all_policies_and_many_games() -> None:
    experiment = pm.load_experiment(LEADERBOARD)
    kinds = {type(policy) for policy in experiment.policies.values()}
    missing = {name for name, own in pm.policies.POLICIES.items() if own not in kinds}
    assert missing == {"probing", "refitted", "dueling_ts"}  # wrappers, and duels over functions
    assert len(experiment.settings) >= 20
    assert (experiment.horizon, len(experiment.seeds)) == (10_000, 200)
    against = {setting.truth.against for setting in experiment.settings}
    assert len(against) >= 3  # outcomes drawn at random, moving truths, opponents


def test_a_short_leaderboard_plays_all_policies_on_the_first_instance_of_every_game() -> None:
    """The whole takes hours; this is the same file with few rounds, seeds and instances."""
    data = tomllib.loads(LEADERBOARD.read_text(encoding="utf-8"))
    data |= {"horizon": 40, "seeds": 2, "checkpoints": [20]}
    for policy in data["policies"].values():
        policy.pop("seeds", None)
    for game in data["games"].values():
        if "instances" in game:
            game["instances"] = dict(list(game["instances"].items())[:1])
    comparisons = experiment_from_dict(data).compare()
    table = {place.policy: place for place in leaderboard(sections(comparisons))}
    assert set(table) == set(data["policies"])
    assert all(place.ratio >= 1 for place in table.values() if place.instances)
    for comparison in comparisons:
        for name, regret in comparison.result.regret.items():
            assert regret.shape == (2, 2), name
            assert (np.diff(regret, axis=1) >= -1e-9).all(), (comparison.game, name)
