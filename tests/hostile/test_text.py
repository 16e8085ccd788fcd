"""Labels with control characters, very long ones, and arrays in messages."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import partial_monitoring as pm
from partial_monitoring.cli import main
from partial_monitoring.errors import CONTROL, InvalidInput, visible

BAD = "x\x1b[2Jy\x1b]0;t\x07\r\x9b1m\u202e\u2066\x7f"


def game() -> pm.FiniteGame:
    return pm.FiniteGame(
        [[0, 1], [1, 0]], [[BAD, "b"], ["c", "c"]], actions=[BAD, "b"], outcomes=[BAD, "z"]
    )


def assert_clean(text: str) -> None:
    assert not CONTROL.search(text.replace("\n", ""))
    assert "\\x1b[2J" in text


def test_control_characters_are_shown_as_escapes() -> None:
    assert visible(BAD) == r"x\x1b[2Jy\x1b]0;t\x07\r\x9b1m\u202e\u2066\x7f"
    assert visible("käse 10 € 漢字 👨‍👩‍👧") == "käse 10 € 漢字 👨‍👩‍👧"


def test_labels_never_reach_a_terminal_raw() -> None:
    own = game()
    learner = pm.Learner(own, seed=0)
    decision = learner.ask()
    for text in (own, own._repr_html_(), pm.analyze(own).explain(), decision, learner.status()):
        assert_clean(str(text))
    context = pm.ContextualGame([own, own], contexts=[BAD, "b"])
    assert_clean(str(context))
    assert_clean(pm.analyze(context).explain())


def test_labels_in_messages_are_clean_and_short() -> None:
    with pytest.raises(InvalidInput) as caught:
        game().action_index("nothing")
    assert_clean(str(caught.value))
    long = pm.FiniteGame([[0, 1], [1, 0]], ["ab", "ab"], actions=["y" * 100_000, "b"])
    for name in ("x" * 100_000, "b2", "y" * 99_999):
        with pytest.raises(InvalidInput) as caught:
            long.action_index(name)
        assert len(str(caught.value)) < 300


@pytest.mark.parametrize("command", ["show", "analyze"])
def test_commands_print_no_control_characters(command: str, tmp_path: Any) -> None:
    path = tmp_path / "game.json"
    pm.save_game(game(), path)
    for options in ([], ["--json"]):
        result = CliRunner().invoke(main, [command, str(path), *options])
        assert result.exit_code == 0
        assert not CONTROL.search(result.output.replace("\n", ""))
    assert_clean(CliRunner().invoke(main, [command, str(path)]).output)
    if command == "show":
        shown = json.loads(CliRunner().invoke(main, ["show", str(path), "--json"]).output)
        assert shown["actions"][0] == BAD


def test_arrays_in_messages_take_one_short_line() -> None:
    array: Any = np.arange(3000.0).reshape(1000, 3)
    calls = [
        lambda: pm.simulate(array, "ids", [0.5, 0.5], horizon=2, seeds=1),
        lambda: pm.games.survey(answer_rate=array),
        lambda: pm.ContextualGame(array),
        lambda: pm.games.linear_bandit(parameters=array),
        lambda: pm.Learner(game(), array),
        lambda: pm.EpsilonGreedy(epsilon=array),
        lambda: pm.analyze(array),
        lambda: pm.kernels.as_kernel(array),
        lambda: game().action_index(array),
        lambda: game().observation(0, array),
    ]
    for call in calls:
        with pytest.raises(InvalidInput) as caught:
            call()  # type: ignore[no-untyped-call]
        assert "\n" not in str(caught.value)
        assert len(str(caught.value)) < 300


@pytest.mark.parametrize("name", ["zzz", "aple_tasting", "x" * 5000])
def test_long_lists_of_known_names_are_cut(name: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        pm.games.make(name)
    assert len(str(caught.value)) < 500
    assert re.search(r", and \d+ more\.$", str(caught.value))
    many = pm.FiniteGame([range(400)], [[f"signal {i}" for i in range(400)]])
    with pytest.raises(InvalidInput) as caught:
        many.observation(0, "missing")
    assert len(str(caught.value)) < 500


def test_a_path_that_cannot_be_read_is_named_once() -> None:
    with pytest.raises(InvalidInput) as caught:
        pm.load_game("x" * 300 + ".json")
    assert str(caught.value) == "x" * 300 + ".json: cannot be read: File name too long."
