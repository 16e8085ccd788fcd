"""What is refused in one sentence: parts that are none, texts that are none, files and sizes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import partial_monitoring as pm
from partial_monitoring.cli import main
from partial_monitoring.errors import InvalidInput

NESTED: list[Any] = []
for _ in range(5000):
    NESTED = [NESTED]
LONG = -(10**5000)


class NoArray:
    """Says that it is an array, and is none."""

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise ValueError("no array")


def result() -> pm.Result:
    return pm.simulate("apple_tasting", "greedy", [0.7, 0.3], horizon=3, seeds=2)


def told(observation: Any) -> None:
    learner = pm.Learner(pm.games.linear_bandit())
    learner.tell(learner.ask(), observation)


def report(**options: Any) -> None:
    compared = pm.Experiment("apple_tasting", "greedy", [0.7, 0.3], horizon=3, seeds=2).compare()
    pm.write_report(compared, "report", **{"figures": False, **options})


ONES = np.ones(100_000)
REFUSED: dict[str, tuple[Callable[[], object], str]] = {
    "storage": (lambda: pm.Learner("apple_tasting", storage=3), "storage must have the methods"),
    "events": (lambda: pm.Learner.replay("apple_tasting", events=3), "events must be a list"),
    "rows": (lambda: pm.Learner.replay("apple_tasting", events=np.eye(2)), "event must be one of"),
    "observation": (lambda: told(NoArray()), "observation must be real numbers"),
    "summary": (lambda: pm.policies.summary([]), r"no policy named \[\]"),
    "options of": (lambda: pm.policies.options_of("idss"), "no policy named 'idss'"),
    "a long name": (lambda: pm.policies.make(LONG), "no policy named an object of type int"),
    "a deep name": (lambda: pm.games.make(NESTED), "no game named an object of type list"),
    "deep labels": (lambda: pm.FiniteGame([[1]], ["a"], actions=NESTED), "actions must be labels"),
    "title": (lambda: report(title=np.ones(3)), "title must be a text"),
    "command": (lambda: report(command=np.ones(3)), "command must be a text"),
    "figures": (lambda: report(figures=np.ones(3)), "figures must be true or false"),
    "plot title": (lambda: pm.plot.regret(result(), title=3), "title must be a text"),
    "plot columns": (lambda: pm.plot.regret(result(), columns=np.ones(3)), "columns must be 1 or"),
    "plot ax": (lambda: pm.plot.regret(result(), [[1], [1, 2]]), "ax must be matplotlib axes"),
    "no seeds": (lambda: result().only([]), "seeds must be a list of whole numbers"),
    "key": (lambda: result().save("result.parquet", key=3), "key must be a text"),
    "a policy's name": (
        lambda: pm.simulate("apple_tasting", {"\ud800": pm.Greedy()}, horizon=3, seeds=2),
        "policies must be text that UTF-8 can encode",
    ),
    "a game's name": (
        lambda: pm.Experiment({"\ud800": "apple_tasting"}, "greedy", horizon=3, seeds=2),
        "games must be text that UTF-8 can encode",
    ),
    "a truth's name": (
        lambda: pm.Experiment(
            {"a": "apple_tasting"}, "ids", {"a": {"\ud800": [0.7, 0.3]}}, horizon=3, seeds=2
        ),
        "theta must be text that UTF-8 can encode",
    ),
    "subsets": (
        lambda: pm.games.combinatorial_bandit(3, subsets=[[[0], [1]]]),
        "subsets must be lists of item indices",
    ),
    "prices": (lambda: pm.games.dynamic_pricing(ONES), "rewards would have 100000 x 100000"),
    "premiums": (lambda: pm.games.segment_pricing(premiums=ONES), "premiums must be different"),
    "pairs": (lambda: pm.games.kernelized_localized_dueling(ONES), "pairs would have 100000 x"),
    "a module": (lambda: pm.Ball([0.0], 1.0).contains(np), "points must be real numbers"),
    "a long path": (lambda: pm.load_game("x" * 5000), "path must be the name of a file"),
    "a surrogate": (lambda: pm.load_game("\ud800.json"), "path must be the name of a file"),
}


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED.keys())
def test_one_sentence(
    case: tuple[Callable[[], object], str], tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidInput, match=case[1]) as caught:
        case[0]()
    assert len(str(caught.value)) < 400
    assert list(tmp_path.iterdir()) == []


def test_whole_numbers_beyond_64_bits_are_numbers() -> None:
    pm.simulate("dynamic_pricing", {"mine": pm.RandCBP(spread=10**20)}, horizon=3, seeds=2)
    assert pm.plot.regret(result(), height=10**20).get_figheight() == 1e20


def test_a_bound_of_zero_times_infinity_is_no_warning() -> None:
    bounds = pm.contextual_bounds(pm.games.survey(), 100, norm_bound=0)
    assert not np.isnan(bounds.regret).any()


@pytest.mark.parametrize(
    "words",
    [
        ("policies", "x" * 5000),
        ("policies", "\u202eabc\x1b[31m"),
        ("x" * 5000,),
        ("simulate", "apple_tasting", "--horizon", "x" * 5000),
        ("simulate", "apple_tasting", "--seeds", "\udcff"),
        ("analyze", "apple_tasting", "--plot", "x" * 5000),
        ("report", "x" * 5000),
        ("run", "x" * 5000),
    ],
    ids=lambda words: ascii(" ".join(words))[:40],
)
def test_commands_repeat_what_was_typed_briefly_and_visibly(words: tuple[str, ...]) -> None:
    found = CliRunner().invoke(main, list(words))
    assert found.exit_code == 2
    last = found.stderr.splitlines()[-1]
    assert len(last) < 500
    assert last.isprintable()


def test_a_result_keeps_a_key_that_no_file_name_can_be(tmp_path: Path) -> None:
    result().save(tmp_path / "result.parquet", key="\ud800")
    assert pm.Result.load_with_key(tmp_path / "result.parquet")[1] == "\ud800"


@pytest.mark.parametrize("signals", [["ab", "cd"], ["abc", "cdd"]])
def test_an_empty_label_is_drawn(signals: list[str]) -> None:
    rewards = [[0, -1, 1], [-2, 0, 1]]
    own = [row[: len(signals[0])] for row in rewards]
    assert pm.analyze(pm.FiniteGame(own, signals, actions=["", "b"])).plot().axes
