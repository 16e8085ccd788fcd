"""Experiments: what is there is not played again, and the numbers are the same everywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput
from partial_monitoring.experiments import runner
from partial_monitoring.experiments import runs as cells
from partial_monitoring.experiments.runs import Configuration
from partial_monitoring.experiments.store import Store, stored_comparisons
from partial_monitoring.simulation.delayed import Late
from partial_monitoring.simulation.truths import FixedTruth
from tests.oracles.fragile import halves
from tests.oracles.small_experiments import assert_same, small

# -- numbers -----------------------------------------------------------------------------------


def test_an_experiment_gives_what_simulate_gives() -> None:
    table = small().run().to_pandas()
    result = pm.simulate(
        pm.games.dynamic_pricing(),
        ["ids", "cbp"],
        [0.2, 0.5, 0.3],
        horizon=40,
        seeds=6,
        checkpoints=[5, 20],
    )
    for policy in ("ids", "cbp"):
        own = table[(table.game == "pricing") & (table.theta == "one") & (table.policy == policy)]
        regret = own.pivot(index="seed", columns="round", values="regret").to_numpy()
        np.testing.assert_array_equal(regret, result.regret[policy])


def test_an_experiment_cannot_be_changed() -> None:
    experiment = pm.Experiment("apple_tasting", "greedy", horizon=9, seeds=[3, 1])
    for array in (experiment.seeds, experiment.checkpoints):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 2


def test_finished_runs_are_not_played_again(
    tmp_path: Path, played: list[tuple[str, list[int]]]
) -> None:
    first = small().run(tmp_path)
    assert len(played) == 6
    played.clear()
    assert_same(small().run(tmp_path), first)
    assert played == []


def test_added_seeds_and_policies_only_cost_what_is_new(
    tmp_path: Path, played: list[tuple[str, list[int]]]
) -> None:
    small("ids", seeds=4).run(tmp_path)
    played.clear()
    more = small("ids", seeds=[9, 0, 5, 1, 2, 3]).run(tmp_path)
    assert [seeds for _, seeds in played] == [[9, 5]] * 3
    played.clear()
    both = small(seeds=[9, 0, 5, 1, 2, 3]).run(tmp_path)
    assert len({key for key, _ in played}) == 3
    assert all(len(seeds) == 6 for _, seeds in played)
    played.clear()
    assert_same(both, small(seeds=[9, 0, 5, 1, 2, 3]).run())
    assert more.num_rows * 2 == both.num_rows


def test_a_changed_definition_or_version_is_another_key(monkeypatch: pytest.MonkeyPatch) -> None:
    game, marks = pm.games.apple_tasting(), np.array([10, 20])
    base = Configuration(game, FixedTruth(np.array([0.7, 0.3])), pm.IDS(), marks)
    others = [
        Configuration(pm.games.apple_tasting(), FixedTruth(np.array([0.6, 0.4])), pm.IDS(), marks),
        Configuration(game, base.truth, pm.IDS(gap=pm.gaps.relaxed), marks),
        Configuration(game, base.truth, pm.IDS(sampling=pm.sampling.generalized(3)), marks),
        Configuration(game, base.truth, pm.IDS(regularization=2.0), marks),
        Configuration(game, base.truth, pm.IDS(gap=halves), marks),
        Configuration(game, base.truth, pm.IDS(), np.array([10, 21])),
        Configuration(game, base.truth, pm.IDS(), marks, "gaussian"),
        Configuration(pm.games.inspection(), base.truth, pm.IDS(), marks),
    ]
    assert len({cell.key for cell in [base, *others]}) == len(others) + 1
    assert Configuration(pm.games.apple_tasting(), base.truth, pm.IDS(), marks).key == base.key
    monkeypatch.setattr(cells.partial_monitoring, "__version__", "99.0")
    assert Configuration(game, base.truth, pm.IDS(), marks).key != base.key


def test_a_run_is_what_its_cell_plays() -> None:
    cell = Configuration(
        pm.games.apple_tasting(), FixedTruth(np.array([0.7, 0.3])), pm.IDS(), np.array([30])
    )
    alone, together = cell.play(np.array([5])), cell.play(np.array([4, 5, 6]))
    np.testing.assert_array_equal(alone.regret["policy"][0], together.regret["policy"][1])


def test_parts_without_a_name_cannot_be_stored() -> None:
    policy = pm.IDS(confidence=lambda t: 2 * np.log(t))
    with pytest.raises(InvalidInput, match="must be dataclasses or functions that have a name"):
        small({"mine": policy}).run()


def test_true_parameters_from_several() -> None:
    game = pm.games.apple_tasting()
    rows = [[0.9, 0.1], [0.1, 0.9]]
    theta = {"among": rows, "weights": [0.75, 0.25]}
    (found,) = pm.Experiment(game, "ids", theta, horizon=1, seeds=400).compare()
    first = (found.result.theta == rows[0]).all(axis=1)
    assert abs(first.mean() - 0.75) < 4 * np.sqrt(0.75 * 0.25 / 400)  # false alarm 6e-5
    assert ((found.result.theta == rows[1]).all(axis=1) | first).all()


def test_games_with_contexts(tmp_path: Path) -> None:
    policies = {"conditional": pm.IDS(), "contextual": pm.ContextualIDS()}
    experiment = pm.Experiment(
        ["survey", "segment_pricing"], policies, "random", horizon=30, seeds=3, checkpoints=[10]
    )
    table = experiment.run(tmp_path)
    assert_same(experiment.run(tmp_path), table)
    for one, two in zip(
        experiment.compare(tmp_path), stored_comparisons(Store(tmp_path)), strict=True
    ):
        np.testing.assert_array_equal(
            one.result.regret["contextual"], two.result.regret["contextual"]
        )
    page = pm.write_report(experiment.compare(tmp_path), tmp_path, figures=False).read_text()
    assert "what it needs to know is shown in other contexts" in page


def test_the_worst_case_is_searched_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    searches = []
    original = runner.worst_for

    def search(*arguments: Any, **options: Any) -> Any:
        searches.append(arguments)
        return original(*arguments, **options)

    monkeypatch.setattr(runner, "worst_for", search)
    experiment = pm.Experiment("apple_tasting", ["ids", "cbp"], "worst", horizon=20, seeds=2)
    first = experiment.run(tmp_path)
    assert_same(experiment.run(tmp_path), first)
    assert len(searches) == 1


# -- bad input ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: small(horizon=0), "horizon must be a whole number >= 1; got 0"),
        (lambda: small(seeds=-1), "seeds must be a whole number >= 1; got -1"),
        (lambda: small("idz"), "no policy named 'idz'; did you mean 'ids'?"),
        (lambda: small([]), "policies must hold at least one policy"),
        (
            lambda: small(["linucb"]),
            "policy 'linucb' plays none of the games: LinUCB plays bandits",
        ),
        (
            lambda: pm.Experiment("dynamic_prizing", "ids", horizon=1, seeds=1),
            "no game named 'dynamic_prizing'; did you mean 'dynamic_pricing'?",
        ),
        (
            lambda: pm.Experiment("apple_tasting", "ids", [0.5, 0.6], horizon=1, seeds=1),
            "a Simplex; got [0.5, 0.6]",
        ),
        (
            lambda: pm.Experiment("apple_tasting", "ids", [0.5, 0.2, 0.3], horizon=1, seeds=1),
            "shape",
        ),
        (lambda: pm.Experiment("apple_tasting", "ids", "worse", horizon=1, seeds=1), "'worst'"),
        (
            lambda: pm.Experiment("survey", "cbp", horizon=1, seeds=1),
            "CBP takes no contexts; the game has 2",
        ),
        (lambda: pm.Experiment([], "ids", horizon=1, seeds=1), "at least one game"),
        (
            lambda: pm.Experiment("apple_tasting", "ids", {"pears": "random"}, horizon=1, seeds=1),
            "no game of the experiment named 'pears'",
        ),
        (lambda: small().run(engine="slurm"), "no engine named 'slurm'"),
        (lambda: small().run(scheduler="tcp://x"), "scheduler is for the engine 'dask'"),
        (lambda: small().run(engine="processes", workers=0), "workers must be a whole number"),
    ],
)
def test_bad_experiments_are_refused_in_one_sentence(make: Any, message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        make()
    assert message in str(caught.value)


def test_when_answers_come_is_part_of_the_key_if_they_come_late() -> None:
    game, truth, marks = pm.games.apple_tasting(), FixedTruth(np.array([0.7, 0.3])), np.array([20])
    options: list[dict[str, Any]] = [{}, {"delay": 2}, {"delay": [0.5, 0.5]}, {"batch": 3}]
    lates = [Late.read(**own) for own in [*options, {"batch": 3, "pending": "ignored"}]]
    runs = [Configuration(game, truth, pm.IDS(), marks, None, late) for late in lates]
    assert len({run.key for run in runs}) == len(runs)
    assert "late" not in runs[0].definition()


def test_experiments_play_late_answers_as_simulations_do(tmp_path: Path) -> None:
    late: dict[str, Any] = {"delay": [0.3, 0.3, 0.4], "batch": 2}
    experiment = pm.Experiment("apple_tasting", "ids", horizon=30, seeds=3, **late)
    (found,) = experiment.compare(tmp_path)
    result = pm.simulate("apple_tasting", "ids", horizon=30, seeds=3, **late)
    assert np.array_equal(found.result.regret["ids"], result.regret["ids"])
    file = tmp_path / "late.toml"
    file.write_text(
        'horizon = 30\nseeds = 3\ndelay = [0.3, 0.3, 0.4]\nbatch = 2\npending = "expected"\n'
        'games = ["apple_tasting"]\npolicies = ["ids"]\n'
    )
    (again,) = pm.load_experiment(file).compare(tmp_path)
    assert np.array_equal(again.result.regret["ids"], result.regret["ids"])
