"""Values of the wrong kind are refused in one sentence, and nothing is changed."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput
from partial_monitoring.model.files import game_from_dict

SE = pm.kernels.SquaredExponential
RAGGED: Any = [[0, 1], [2]]


def two_by_two(**options: Any) -> pm.FiniteGame:
    return pm.FiniteGame([[0, 1], [1, 0]], ["ab", "ab"], **options)


@pytest.mark.parametrize(
    "labels", [{"sell", "taste"}, frozenset({"a", "b"}), {"a": 1, "b": 2}, {"a": 1}.keys(), b"ab"]
)
def test_labels_have_an_order(labels: Any) -> None:
    with pytest.raises(InvalidInput, match="actions must be a sequence of 2 labels"):
        two_by_two(actions=labels)


def test_labels_can_be_written_to_files() -> None:
    for name in ("actions", "outcomes"):
        with pytest.raises(InvalidInput, match=f"{name} must be text that UTF-8 can encode"):
            two_by_two(**{name: ["\ud800", "b"]})


@pytest.mark.parametrize("missing", [np.ma.array([7.0], mask=[True]), [np.ma.masked], np.ma.masked])
def test_a_masked_observation_is_not_learned(missing: Any) -> None:
    learner = pm.Learner(pm.games.linear_bandit(), seed=0)
    decision = learner.ask()
    with pytest.raises(InvalidInput, match="observation must"):
        learner.tell(decision, missing)
    learner.tell(decision, np.ma.array([7.0], mask=[False]))


def test_a_table_has_a_signal_in_every_cell() -> None:
    pd = pytest.importorskip("pandas")
    earn = pd.DataFrame({"x": [1, 2]})
    for missing in (None, pd.NA, pd.NaT, float("nan")):
        with pytest.raises(InvalidInput, match="signal"):
            pm.from_table({"a": {"x": 1}}, {"a": {"x": missing}})
        with pytest.raises(InvalidInput, match="signal"):
            pm.from_table(earn, pd.DataFrame({"x": ["a", missing]}, dtype=object))
    with pytest.raises(InvalidInput, match="earn must map each action"):
        pm.from_table(pd.Series([1, 2]))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"rewards": [[1]], "rewards": [[2]], "signals": [["a"]]}', "'rewards' appears twice"),
        ('{"rewards": [[true, 1]], "signals": [["a", "b"]]}', "rewards must be real numbers"),
        ('{"rewards": [[0]], "signals": [["a"]], "actions": {"a": 1}}', "actions must be a seq"),
    ],
)
def test_game_files_mean_one_thing(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "game.json"
    path.write_text(text)
    with pytest.raises(InvalidInput, match=words):
        pm.load_game(path)


@pytest.mark.parametrize("path", [None, 3, b"x", "", "a\0.json", [1]])
def test_a_path_is_the_name_of_a_file(path: Any) -> None:
    game = pm.games.apple_tasting()
    for use in (pm.load_game, pm.from_csv, lambda p: pm.save_game(game, p), pm.Learner(game).save):
        with pytest.raises(InvalidInput, match="path must be the name of a file"):
            use(path)


GAME = pm.games.apple_tasting()
BOX = pm.KernelBoxGame(SE(), [0, 0], [1, 1])


@pytest.mark.parametrize(
    "call",
    [
        lambda: pm.KernelBoxGame(SE(), RAGGED, [1, 1]),
        lambda: pm.candidates.grid(RAGGED, [1, 1], 3),
        lambda: pm.candidates.sobol([0, 0], RAGGED, 3),
        lambda: BOX.points_of(RAGGED),
        lambda: pm.Measurement("m", RAGGED),
        lambda: pm.bounds(GAME, RAGGED),
        lambda: pm.games.make({}),  # type: ignore[arg-type]
        lambda: pm.games.options_of([]),  # type: ignore[arg-type]
        lambda: pm.games.summary({}),  # type: ignore[arg-type]
        lambda: GAME.restricted(3),  # type: ignore[arg-type]
        lambda: GAME.restricted("ab"),
        lambda: pm.games.kernelized_bandit().restricted(3),  # type: ignore[arg-type]
        lambda: BOX.restricted(3),  # type: ignore[arg-type]
        lambda: GAME.observation(0, np.zeros(3)),  # type: ignore[arg-type]
        lambda: GAME.observation(0, (np.zeros(2),)),  # type: ignore[arg-type]
        lambda: GAME.feedback(np.zeros(2)),  # type: ignore[arg-type]
        lambda: pm.games.graph_dueling(feedback=np.zeros(3)),  # type: ignore[arg-type]
        lambda: pm.games.combinatorial_bandit(subsets=np.zeros((2, 2, 2, 2))),
        lambda: pm.games.functions.named([]),  # type: ignore[arg-type]
    ],
)
def test_anything_else_is_refused_in_one_line(call: Callable[[], Any]) -> None:
    with pytest.raises(InvalidInput) as caught:
        call()
    assert "\n" not in str(caught.value)


def test_flags_and_seeds_that_are_not_needed_are_checked() -> None:
    with pytest.raises(InvalidInput, match="integrated must be true or false; got 'no'"):
        pm.local_alignment(GAME, GAME.parameters, integrated="no")  # type: ignore[call-overload]
    learner = pm.Learner(pm.games.dynamic_pricing(), seed=1, probe=0.5)
    learner.tell(learner.ask(available=["$1"]), "yes")
    with pytest.raises(InvalidInput, match="seed must be"):
        pm.off_policy(learner, seed="no")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "game",
    [
        pm.games.apple_tasting(),
        pm.games.linear_bandit(),
        pm.games.survey(),
        pm.games.kernelized_bandit(),
        game_from_dict(
            {
                "features": [[1.0]],
                "observation_maps": [[[1.0]]],
                "parameters": {"type": "ball", "center": [0.0], "radius": 1.0},
            }
        ),
    ],
)
@pytest.mark.parametrize("copied", [copy.deepcopy, lambda game: pickle.loads(pickle.dumps(game))])
def test_copies_of_games_are_read_only(game: Any, copied: Callable[[Any], Any]) -> None:
    assert not list(writeable(copied(game)))


def writeable(thing: Any) -> Any:
    for name, value in vars(thing).items():
        if isinstance(value, np.ndarray) and value.flags.writeable:
            yield name
        for part in value if isinstance(value, tuple) else (value,):
            if hasattr(part, "__dict__"):
                yield from writeable(part)
