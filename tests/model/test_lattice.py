"""Points of a box have numbers, names and labels that belong together."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput
from partial_monitoring.model.lattice import Lattice

NAMES, UNITS = ["temperature", "pressure"], ["°C", "bar"]


def machine(build: Any = pm.KernelBoxGame, **options: Any) -> Any:
    named = {"names": NAMES, "units": UNITS} | options
    return build(pm.kernels.SquaredExponential([6.0, 2.0]), [80, 5], [100, 12], **named)


@given(
    st.floats(-1e6, 1e6),
    st.floats(1e-3, 1e6),
    st.integers(1, 4),
    st.integers(0, 2**32),
    st.sampled_from([None, 2, 37]),
    st.booleans(),
)
def test_no_two_points_have_the_same_label(
    low: float, width: float, p: int, seed: int, levels: int | None, named: bool
) -> None:
    options = ([f"x (no. {i}), a.b" for i in range(p)], ["%"] * p) if named else ()
    own = Lattice.of([low] * p, [low + width] * p, 62, levels, *options)
    rng = np.random.default_rng(seed)
    numbers = rng.integers(0, own.count, 10)
    near = np.unique(np.clip(np.concatenate([numbers, numbers + 1]), 0, own.count - 1))
    labels = [own.label(int(number)) for number in near]
    assert len(set(labels)) == len(labels)
    assert [own.number_called(label) for label in labels] == near.tolist()
    assert [own.number_at(point) for point in own.points_of(near)] == near.tolist()


def test_all_points_of_a_box_without_names_can_be_named() -> None:
    game = pm.KernelBoxGame(pm.kernels.SquaredExponential(), [0.0], [1.0])
    last = range(game.k - 1000, game.k)  # six digits were not enough for them
    assert [game.action_index(game.action_label(own)) for own in last] == list(last)


def test_labels_and_settings_have_names_and_units() -> None:
    game = machine(levels=21)
    number = int(game.nearest([[93.0, 8.5]])[0])
    assert game.action_label(number) == "temperature 93 °C, pressure 8.5 bar"
    assert game.action_index("temperature 93 °C, pressure 8.5 bar") == number
    assert game.described(number) == {"settings": {"temperature": 93.0, "pressure": 8.5}}
    assert "temperature (°C)" in str(game)
    game = machine(levels=[41, 15])
    number = int(game.nearest([[93.4, 8.4]])[0])
    assert game.action_label(number) == "temperature 93.5 °C, pressure 8.5 bar"
    assert (game.k, game.levels) == (41 * 15, (41, 15))
    for other in ("temperature 93.1 °C, pressure 8.5 bar", "93, 8.5", "temperature 93"):
        with pytest.raises(InvalidInput, match="action must be the number of a point"):
            game.action_index(other)


def test_decisions_have_settings(tmp_path: Path) -> None:
    learner = pm.Learner(machine(noise_std=0.1), pm.IDS(gap=pm.gaps.mean), seed=0)
    decision = learner.ask()
    assert decision.settings is not None
    assert list(decision.settings) == NAMES
    assert list(decision.settings.values()) == learner.game.point(decision.action).tolist()  # type: ignore[attr-defined]
    assert decision.to_dict()["settings"] == decision.settings
    assert len(set(decision.labels)) == len(decision.labels)
    learner.tell(decision, 0.3)
    status = learner.status()
    assert status.settings == learner.game.described(status.action)["settings"]
    assert status.item is None
    learner.save(tmp_path / "learner.json")
    assert pm.Learner.load(tmp_path / "learner.json").ask().settings == learner.ask().settings
    unnamed = pm.KernelBoxGame(pm.kernels.Matern(2.5, 0.3), [0, 0], [1, 1])
    assert list(unnamed.described(5)["settings"]) == ["x1", "x2"]


@pytest.mark.parametrize("build", [pm.KernelBoxGame, pm.KernelBoxDuelingGame])
@pytest.mark.parametrize("options", [{}, {"levels": [9, 15]}, {"names": None, "units": None}])
def test_files_keep_names_and_units(build: Any, options: Any, tmp_path: Path) -> None:
    game = machine(build, **options)
    for name in ("game.json", "game.toml"):
        pm.save_game(game, tmp_path / name)
        again: Any = pm.load_game(tmp_path / name)
        assert type(again) is build
        assert again.action_label(77) == game.action_label(77)
        assert (again.lattice.names, again.lattice.units) == (
            game.lattice.names,
            game.lattice.units,
        )
        assert again.levels == game.levels


@pytest.mark.parametrize("build", [pm.KernelBoxGame, pm.KernelBoxDuelingGame])
@pytest.mark.parametrize("options", [{}, {"names": None, "units": None}])
def test_a_log_survives_programs_that_round_large_numbers(build: Any, options: Any) -> None:
    """JavaScript reads whole numbers as doubles: points are named by their coordinates."""
    game = machine(build, **options)
    learner = pm.Learner(game, seed=4)
    for answer in (0.5, 0.25, -0.5):
        decision = learner.ask()
        learner.tell(decision, answer, action=decision.label)
    learner.tell_past([game.k - 2], [0.5])
    lossy = json.loads(json.dumps(learner.events), parse_int=lambda text: int(float(text)))
    again = pm.Learner.replay(game, None, 4, lossy, check=True)
    assert again.ask().action == learner.ask().action
    exact = json.loads(json.dumps(learner.events))
    assert pm.Learner.replay(game, None, 4, exact, check=True).round == learner.round
    old = [{key: value for key, value in event.items() if key != "point"} for event in exact]
    assert pm.Learner.replay(game, None, 4, old, check=True).round == learner.round
    assert learner.history[0]["point"] == exact[0]["point"]


def test_bad_names_and_points_are_refused() -> None:
    game = machine()
    cases: list[tuple[Any, str]] = [
        (lambda: machine(names=["a"]), "names must have 2 labels"),
        (lambda: machine(names=["a", "a"]), "names must be different"),
        (lambda: machine(units=["a"]), "units must hold one entry per coordinate, 2; got 1"),
        (lambda: machine(levels=1), "levels must be"),
        (lambda: machine(levels=[5]), "levels must hold one entry per coordinate"),
        (lambda: machine(levels=[5, 2.5]), "levels must be"),
        (lambda: machine(levels="ab"), "levels must be"),
        (lambda: machine(levels=2**21), "levels must be"),
        (lambda: machine(pm.KernelBoxDuelingGame, names=["a | b", "c"]), "names must not"),
        (lambda: game.from_exact_form({"point": [80.0, 5.00001]}), "point must be one of"),
        (lambda: game.from_exact_form({"point": [80.0]}), "points must"),
        (lambda: pm.games.apple_tasting().from_exact_form({"point": 1}), "point must be left out"),
    ]
    for call, message in cases:
        with pytest.raises(InvalidInput, match=message):
            call()


@pytest.mark.parametrize(
    ("scale", "message"),
    [
        (0.3, "lengthscale 0.3 of x1 does not fit its range of 20"),
        (2000.0, "lengthscale 2000 of x1 does not fit its range of 20"),
        ([5.0, 0.01], "lengthscale 0.01 of x2 does not fit its range of 20"),
    ],
)
@pytest.mark.parametrize("build", [pm.KernelBoxGame, pm.KernelBoxDuelingGame])
def test_a_lengthscale_that_does_not_fit_is_named(build: Any, scale: Any, message: str) -> None:
    with pytest.warns(UserWarning, match=message) as found:
        build(pm.kernels.SquaredExponential(scale), [80, 80], [100, 100])
    assert found[0].filename == __file__


def test_lengthscales_that_fit_are_accepted_in_silence() -> None:
    kernel, short = pm.kernels.SquaredExponential(5.0), pm.kernels.SquaredExponential(0.01)
    for fine in (kernel, kernel + short, kernel * pm.kernels.Matern(1.5, [1.0, 40.0]), short + 1):
        pm.KernelBoxGame(fine, [80, 80], [100, 100])
    game = pm.KernelBoxGame(kernel, [80, 80], [100, 100])
    game.with_kernel(short)  # fitted kernels are no choice of the user's
