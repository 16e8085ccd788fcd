import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput
from partial_monitoring.model.files import game_from_dict, game_to_dict
from partial_monitoring.parameter_sets import Halfspaces, Polyhedral

SPECIAL = {
    "finite with odd symbols": pm.FiniteGame([[1 / 3, 2]], [[("a", 1), 2.5]], actions=["go"]),
    "polytope": pm.Game([[1, 2]], [[]], pm.Polytope([[1, 1], [-1, 0]], [1.1, 0.3])),
    "flat polytope": pm.Game([[1, 2]], [[[1, 0]]], pm.Polytope(a_eq=[[1, 1]], b_eq=[1])),
    "box": pm.Game([[1, 2]], [[[1e-300, 0.1]]], pm.Box([0, 0.1], [1, 0.7]), [0.3]),
    "unicode": pm.FiniteGame([[0.1]], [["“ü”"]], actions=['say "no"\n']),
    "finite contexts": pm.ContextualGame(
        [pm.FiniteGame([[0, 1]], ["ab"]), pm.FiniteGame([[1, 0]], ["aa"])], [0.1, 0.9]
    ),
}
GAMES = SPECIAL | {name: pm.games.make(name) for name in pm.games.GAMES}


@pytest.mark.parametrize("ending", ["json", "toml"])
@pytest.mark.parametrize("name", GAMES)
def test_round_trips_are_exact(name: str, ending: str, tmp_path: Path) -> None:
    game = GAMES[name]
    path = tmp_path / f"game.{ending}"
    pm.save_game(game, path)
    again = pm.load_game(path)
    assert type(again) is type(game)
    assert game_to_dict(again) == game_to_dict(game)
    assert again.parameters.equals(game.parameters)
    np.testing.assert_array_equal(again.features, game.features)
    np.testing.assert_array_equal(again.observation_maps, game.observation_maps)
    if isinstance(game, pm.FiniteGame) and isinstance(again, pm.FiniteGame):
        assert again.signals == game.signals


@given(
    st.lists(
        st.lists(st.floats(-1e100, 1e100), min_size=2, max_size=2),
        min_size=1,
        max_size=3,
    )
)
def test_every_double_survives(features: list[list[float]]) -> None:
    features = [*features, [1.0, 0.0]]  # all of them together may be too small
    game = pm.Game(features, [[]] * len(features), pm.AllParameters(2))
    again = game_from_dict(json.loads(json.dumps(game_to_dict(game))))
    np.testing.assert_array_equal(again.features, game.features)


def test_losses_and_fractions() -> None:
    game = game_from_dict({"losses": [["1/3", 0]], "signals": [["a", "b"]]})
    assert game.features.tolist() == [[-1 / 3, 0]]


def test_the_documented_forms_load(tmp_path: Path) -> None:
    path = tmp_path / "game.toml"
    path.write_text(
        """
features = [[1, 0], [0, 1]]
observation_maps = [[], [[1, 0], [0, 1]]]
parameters = { type = "polytope", a_ub = [[1, 1]], b_ub = [1] }
"""
    )
    game = pm.load_game(path)
    assert isinstance(game, pm.Game)
    assert game.row_counts == (0, 2)
    assert game.noise_std == 1.0


FINITE = {"rewards": [[1, 2]], "signals": [["a", "b"]]}
LINEAR = {"features": [[1, 2]], "observation_maps": [[]], "parameters": {"type": "all"}}
PART = {"features": [[1, 2]], "observation_maps": [[]]}
DUEL = {"item_features": [[1, 2], [0, 1]], "parameters": {"type": "all"}}
BAD: list[tuple[Any, str]] = [
    (
        {},
        "a game needs 'rewards' or 'losses' with 'signals' (finite), 'features' (linear), 'kernel'",
    ),
    ([], "a game must be a table of keys; got list."),
    (FINITE | {"reward": 1}, "no key of a finite game named 'reward'; did you mean 'rewards'?"),
    ({"rewards": [[1]]}, "a finite game needs the key 'signals'."),
    ({"signals": [["a"]]}, "a finite game needs either rewards or losses; got neither."),
    (FINITE | {"losses": [[1, 2]]}, "a finite game needs either rewards or losses; got both."),
    (FINITE | {"signals": "ab"}, "signals must be a list with at least one entry; got 'ab'."),
    (FINITE | {"signals": [["a"]]}, "signals must have shape (k, d) = (1, 2) to match rewards"),
    (FINITE | {"rewards": [[1, "x"]]}, "rewards must be real numbers in rows of equal length"),
    (FINITE | {"noise_std": 0}, "noise_std must be positive; got 0."),
    (FINITE | {"actions": ["a", "b"]}, "actions must have 1 labels; got 2: ['a', 'b']."),
    (LINEAR | {"map": 1}, "no key of a linear game named 'map'"),
    ({"features": [[1]]}, "a linear game needs the key 'observation_maps'."),
    (PART, "a linear game needs the key 'parameters'."),
    (PART | {"parameters": "ball"}, "parameters must be a table with the key 'type'; got 'ball'."),
    (PART | {"parameters": {"type": "bal"}}, "no type of parameters named 'bal'; did you mean 'ba"),
    (PART | {"parameters": {"type": "ball"}}, "parameters of type 'ball' need the key 'center'."),
    (
        PART | {"parameters": {"type": "ball", "centre": [0, 0], "radius": 1}},
        "no key of parameters named 'centre'; did you mean 'center'?",
    ),
    (
        PART | {"parameters": {"type": "ball", "center": [0], "radius": 1}},
        "parameters must have dimension 2 to match features; got a Ball in dimension 1.",
    ),
    (LINEAR | {"features": [1, 2]}, "features must have shape (k, d); got (2,)."),
    (LINEAR | {"observation_maps": []}, "observation_maps must be a list with at least one entry"),
    (
        LINEAR | {"noise": "loud"},
        "noise must be one of 'gaussian', 'bernoulli', 'sign'; got 'loud'",
    ),
    ({"contexts": []}, "contexts must be a list with at least one entry; got []."),
    ({"contexts": [5]}, "contexts[0]: must be a table of keys; got 5."),
    ({"contexts": [PART]}, "contexts[0]: a linear game needs the key 'parameters'."),
    (
        {"contexts": [FINITE, {"rewards": [[1]]}]},
        "contexts[1]: a finite game needs the key 'signals",
    ),
    (
        {"contexts": [FINITE | {"probability": 1}, FINITE]},
        "contexts[1] needs the key 'probability' like the others.",
    ),
    (
        {"contexts": [FINITE | {"probability": 0.4}, FINITE | {"probability": 0.4}]},
        "context_distribution must be non-negative and sum to 1; got [0.4, 0.4]",
    ),
    (
        {"contexts": [FINITE], "parameters": {"type": "all"}},
        "parameters must be left out, no context has any; got {'type': 'all'}.",
    ),
    (
        {"contexts": [PART], "parameters": {"type": "all"}, "outcomes": ["a"]},
        "outcomes must be left out, no context has any; got ['a'].",
    ),
    (
        {"contexts": [DUEL], "parameters": {"type": "all"}},
        "contexts[0]: parameters must be given either in each context or outside; got both.",
    ),
    (
        {"contexts": [FINITE | {"outcomes": ["a", "b"]}], "outcomes": ["a", "b"]},
        "contexts[0]: outcomes must be given either in each context or outside; got both.",
    ),
]


@pytest.mark.parametrize(("data", "message"), BAD, ids=[message for _, message in BAD])
def test_bad_files_name_the_file_and_the_key(data: Any, message: str, tmp_path: Path) -> None:
    path = tmp_path / "game.json"
    path.write_text(json.dumps(data))
    with pytest.raises(InvalidInput) as caught:
        pm.load_game(path)
    assert str(caught.value).startswith(f"{path}: {message}")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.json", "{", "is not valid JSON"),
        ("a.toml", "= 3", "is not valid TOML"),
        ("a.yaml", "", "a game file ends in .json, .toml or .csv; got '.yaml'."),
        ("a.json", "[" * 100_000, "is not valid JSON"),
        ("a.json", '{"rewards": [[1]], "signals": [1]}', "signals[0] must be a list with at"),
        ("a.json", '{"rewards": [[1]], "signals": [[null]]}', "signals must be strings, numbers"),
        ("a.json", '{"rewards": [["1e30000000"]], "signals": [["a"]]}', "rewards must be real"),
        (
            "a.json",
            '{"features": [[1]], "observation_maps": [[]], "parameters": {"type": ["ball"]}}',
            "no type of parameters named ['ball']",
        ),
        (
            "a.json",
            '{"parameters": {"type": "all"}, "contexts": [{"features": 3}]}',
            "contexts[0]: features must have shape (k, d); got ().",
        ),
        (
            "a.json",
            '{"parameters": {"type": "all"}, "contexts": [{"features": [[1]], "observation_maps": '
            '[[]], "parameters": {"type": "simplex"}}]}',
            "contexts[0]: parameters must be given either in each context or outside; got both.",
        ),
        (
            "a.json",
            '{"features": [[NaN]], "observation_maps": [[]], "parameters": {"type": "all"}}',
            "features must be finite; got nan at index (0, 0).",
        ),
    ],
)
def test_unreadable_files(name: str, content: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(content)
    with pytest.raises(InvalidInput) as caught:
        pm.load_game(path)
    assert str(caught.value).startswith(f"{path}: {message}")


def test_a_byte_order_mark_is_no_obstacle(tmp_path: Path) -> None:
    for name, text in (
        ("a.json", '{"rewards": [[1]], "signals": [["a"]]}'),
        ("a.toml", 'rewards = [[1]]\nsignals = [["a"]]'),
    ):
        (tmp_path / name).write_text("\ufeff" + text, encoding="utf-8")
        assert pm.load_game(tmp_path / name).d == 1


def test_missing_files_and_bad_targets(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"none\.json: no such file"):
        pm.load_game(tmp_path / "none.json")
    with pytest.raises(InvalidInput, match=r"a game file ends in \.json or \.toml; got '\.txt'"):
        pm.save_game(pm.games.apple_tasting(), tmp_path / "game.txt")
    with pytest.raises(InvalidInput, match="cannot be written: No such file or directory"):
        pm.save_game(pm.games.apple_tasting(), tmp_path / "nowhere" / "game.json")
    odd = pm.FiniteGame([[1]], [[frozenset()]])
    with pytest.raises(InvalidInput, match="signals must be strings, numbers or"):
        pm.save_game(odd, tmp_path / "game.json")
    assert not list(tmp_path.iterdir())


def test_other_polyhedra_are_written_as_polytopes() -> None:
    class Wedge(Polyhedral):
        """{theta >= 0 : theta_1 + theta_2 <= 1}, by its halfspaces alone."""

        d = 2
        inner = pm.Polytope([[-1, 0], [0, -1], [1, 1]], [0, 0, 1])

        def halfspaces(self) -> Halfspaces:
            return self.inner.halfspaces()

        contains = inner.contains
        support = inner.support
        relative_interior_point = inner.relative_interior_point
        difference_basis = inner.difference_basis
        norm_bound = inner.norm_bound
        diameter = inner.diameter

    game = pm.Game([[1, 0], [0, 1]], [[[1, 0]], [[0, 1]]], Wedge())
    again = game_from_dict(game_to_dict(game))
    assert again.parameters.equals(Wedge.inner)  # type: ignore[union-attr]
    pm.testing.check_parameter_set(Wedge())
