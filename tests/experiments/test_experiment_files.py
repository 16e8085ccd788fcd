"""Experiment files: what they say, and what is said with file, key and value if they are wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput
from partial_monitoring.simulation.truths.kinds import Among, FixedTruth, Random, Worst

FULL = """
name = "prices"
horizon = 200
seeds = [1, 2, 5]
checkpoints = [10, 100]

[games.pricing]
game = "dynamic_pricing"
options = { prices = [1, 2, 3, 4], cost = 1 }

[games.pricing.instances]
typical = [0.1, 0.2, 0.3, 0.4]
any = "random"
bad = "worst"
two = { among = [[1, 0, 0, 0], [0, 0, 0, 1]], weights = [0.25, 0.75] }

[games.apples]
game = "apples.json"
theta = [0.9, 0.1]

[games.linear_bandit]

[policies.ids]
[policies."IDS, relaxed"]
policy = "ids"
options = { gap = "relaxed", sampling = ["generalized", 3.0] }
[policies.cbp]
"""


def write(folder: Path, text: str) -> Path:
    pm.save_game(pm.games.apple_tasting(), folder / "apples.json")
    path = folder / "experiment.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_everything_a_file_can_say(tmp_path: Path) -> None:
    experiment = pm.load_experiment(write(tmp_path, FULL))
    assert experiment.name == "prices"
    assert experiment.seeds.tolist() == [1, 2, 5]
    assert experiment.checkpoints.tolist() == [10, 100, 200]
    names = [(s.game_name, s.truth_name) for s in experiment.settings]
    assert names == [
        ("pricing", "typical"),
        ("pricing", "any"),
        ("pricing", "bad"),
        ("pricing", "two"),
        ("apples", "(0.9, 0.1)"),
        ("linear_bandit", "random"),
    ]
    kinds = [type(setting.truth) for setting in experiment.settings]
    assert kinds == [FixedTruth, Random, Worst, Among, FixedTruth, Random]
    assert experiment.settings[0].game.k == 4
    assert experiment.policies["IDS, relaxed"] == pm.IDS(
        gap=pm.gaps.relaxed, sampling=pm.sampling.generalized(3.0)
    )
    assert list(experiment.settings[-1].players) == ["ids", "IDS, relaxed"]
    assert "CBP plays finite games" in experiment.settings[-1].refused["cbp"]


def test_a_short_file(tmp_path: Path) -> None:
    text = 'horizon = 30\nseeds = 2\ngames = ["apple_tasting"]\npolicies = ["ids", "cbp"]\n'
    experiment = pm.load_experiment(write(tmp_path, text))
    assert experiment.name == "experiment"
    np.testing.assert_array_equal(experiment.seeds, [0, 1])
    assert experiment.run().num_rows == 2 * 2 * len(experiment.checkpoints)


def but(old: str, new: str) -> str:
    """Return the full file with something changed."""
    assert old in FULL
    return FULL.replace(old, new)


SHORT = 'horizon = 30\nseeds = 2\npolicies = ["ids"]\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("horizon = 1", "seeds is missing"),
        ("horizon =", "is not TOML"),
        (
            but("horizon = 200", "horizon = -5"),
            "horizon must be a whole number >= 1; got -5",
        ),
        (
            but("seeds = [1", "seedz = [1"),
            "no key of an experiment named 'seedz'; did you",
        ),
        (
            but('"dynamic_pricing"', '"dynamic_prizing"'),
            "games.pricing: no game named 'dynamic_prizing'; did you mean 'dynamic_pricing'?",
        ),
        (
            but("cost = 1", "cots = 1"),
            "games.pricing: no option of dynamic_pricing named 'cots'; did you mean 'cost'?",
        ),
        (
            but("[0.1, 0.2, 0.3, 0.4]", "[0.1, 0.2, 0.3, 0.5]"),
            "games.pricing: instances.typical: ",
        ),
        (but("[0.1, 0.2, 0.3, 0.4]", "[0.5, 0.5]"), "got (2,)"),
        (but("[0.25, 0.75]", "[0.25, 0.7]"), "weights must be non-negative and sum to 1"),
        (but("[0.25, 0.75]", "[1.0]"), "games.pricing: instances.two: weights"),
        (but("theta = [0.9, 0.1]", "theta = [1.9, -0.9]"), "games.apples: theta: "),
        (
            but('any = "random"', 'any = "randon"'),
            "instances.any: no kind of true parameter",
        ),
        (but("apples.json", "pears.json"), "games.apples: "),
        (
            but('policy = "ids"', 'policy = "idz"'),
            "policies.IDS, relaxed: no policy named",
        ),
        (but('"relaxed", sampling', '"loose", sampling'), "no gap named 'loose'"),
        (but("gap =", "gaps ="), "no option of ids named 'gaps'; did you mean 'gap'?"),
        (
            but("checkpoints = [10, 100]", "checkpoints = [10, 1000]"),
            "checkpoints must be",
        ),
        (SHORT + "games = []", "games must hold at least one game"),
        (SHORT + "games = [1]", "games must be a table, or a list of names; got 1"),
        (SHORT + 'games = "apple_tasting"', "games must be a table; got 'apple_tasting'"),
        (
            SHORT.replace("ids", "cbp") + 'games = ["survey"]',
            "CBP takes no contexts; the game has 2",
        ),
        (
            SHORT + '[games.apple_tasting]\ntheta = "random"\ninstances = { a = "random" }',
            "has both theta and instances",
        ),
        (SHORT + "[games.apple_tasting]\ntheta = [[0.5, 0.5]]", "theta must be one parameter"),
        (
            SHORT + '[games.a]\ngame = "apples.json"\noptions = { b = 1 }',
            "options are for games by",
        ),
    ],
)
def test_bad_files_say_where(tmp_path: Path, text: str, message: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(InvalidInput) as caught:
        pm.load_experiment(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert message in str(caught.value)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["apples.json", "experiment.toml"]


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"nothing\.toml: cannot be read: No such file"):
        pm.load_experiment(tmp_path / "nothing.toml")


@pytest.mark.parametrize(
    "text",
    [
        "a = " + "[" * 100_000,
        "a = " + "{a = " * 10_000,
        "a = " + "1" * 5000,
        'horizon = 5\nseeds = 2\npolicies = ["ids"]\n[games.x]\ngame = {a = 1}\n',
        'horizon = 5\nseeds = 2\ngames = ["survey"]\n[policies.x]\npolicy = {a = 1}\n',
        'horizon = 5\nseeds = 2\ngames = ["survey"]\n[policies.x]\npolicy = [1]\n',
    ],
    ids=lambda text: text[:12],
)
def test_deep_and_odd_files_are_refused_in_one_sentence(text: str, tmp_path: Path) -> None:
    path = tmp_path / "odd.toml"
    path.write_text(text)
    with pytest.raises(InvalidInput) as caught:
        pm.load_experiment(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)


def test_policies_that_are_nested_deeply_are_refused() -> None:
    nested: dict[str, Any] = {"policy": "ids"}
    for _ in range(3000):
        nested = {"policy": "refitted", "inner": nested}
    with pytest.raises(InvalidInput, match="policies are nested too deeply"):
        pm.policies.policy_from_dict(nested)


def test_a_table_with_a_huge_cell_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "huge.csv"
    path.write_text("do,a\nx," + "1" * 200_000 + "\n")
    with pytest.raises(InvalidInput, match=r"huge.csv: line \d: field larger than field limit"):
        pm.load_game(path)
