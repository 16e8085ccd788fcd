"""Which games and arguments a learner refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput


def test_hopeless_games_are_refused_with_the_reason() -> None:
    with pytest.raises(InvalidInput) as caught:
        pm.Learner(pm.games.matching_pennies("none"))
    text = str(caught.value)
    for word in ("heads", "tails", "hopeless", "allow_hopeless=True"):
        assert word in text
    pm.Learner(pm.games.matching_pennies("none"), allow_hopeless=True).ask()


HOPELESS: dict[str, pm.Game] = {
    "ball": pm.games.finite_versus_linear("silent ball"),
    "duels": pm.games.graph_dueling([(0, 1), (2, 3)]),
    "half seen": pm.Game(np.eye(2), [[[1.0, 0.0]]] * 2, pm.AllParameters(2)),
}


@pytest.mark.parametrize("name", HOPELESS)
def test_every_hopeless_game_is_refused(name: str) -> None:
    assert pm.analyze(HOPELESS[name]).category == "hopeless"
    with pytest.raises(InvalidInput, match="hopeless"):
        pm.Learner(HOPELESS[name])


LEARNABLE: dict[str, pm.Game] = {
    "trivial": pm.games.finite_versus_linear("simplex"),
    "hard": pm.games.label_efficient(),
    "unseen but irrelevant": pm.Game(
        [[1.0, 0.0], [-1.0, 0.0]], [[[1.0, 0.0]]] * 2, pm.AllParameters(2)
    ),
    "only a dominated action is unseen": pm.Game(
        [[1.0, 0.0], [-1.0, 0.0], [-9.0, 0.1]], [[[1.0, 0.0]]] * 3, pm.Box([0.5, 0.0], [1.0, 1.0])
    ),
}


@pytest.mark.parametrize("name", LEARNABLE)
def test_games_that_can_be_learned_are_not_refused(name: str) -> None:
    assert pm.analyze(LEARNABLE[name]).category != "hopeless"
    pm.Learner(LEARNABLE[name]).ask()


BAD_ARGUMENTS: dict[str, tuple[tuple[Any, ...], str]] = {
    "no game": ((None,), "game"),
    "an unknown name": (("dynamic_prices",), "did you mean 'dynamic_pricing'"),
    "a policy by class": ((pm.games.dynamic_pricing(), pm.IDS), "policy"),
    "a word as policy": ((pm.games.dynamic_pricing(), "best"), "policy"),
    "nearly a policy": ((pm.games.dynamic_pricing(), "randcpb"), "did you mean 'randcbp'"),
    "a number as policy": ((pm.games.dynamic_pricing(), 3), "policy"),
    "a negative seed": ((pm.games.dynamic_pricing(), pm.IDS(), -1), "seed"),
    "a fractional seed": ((pm.games.dynamic_pricing(), pm.IDS(), 0.5), "seed"),
    "no seed": ((pm.games.dynamic_pricing(), pm.IDS(), None), "seed"),
}


@pytest.mark.parametrize("case", BAD_ARGUMENTS.values(), ids=BAD_ARGUMENTS.keys())
def test_bad_arguments_are_refused(case: tuple[tuple[Any, ...], str]) -> None:
    arguments, name = case
    with pytest.raises(InvalidInput, match=name) as caught:
        pm.Learner(*arguments)
    assert str(caught.value).endswith(".")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("power", [31, 32, 62, 63, 64, 70])
def test_large_seeds_are_used_or_refused(power: int) -> None:
    try:
        learner = pm.Learner(pm.games.label_efficient(), seed=2**power)
    except InvalidInput as error:
        assert "seed" in str(error)  # noqa: PT017
        assert power > 62
    else:
        assert learner.ask().probability > 0


def test_what_is_no_storage_and_what_are_no_events_is_refused() -> None:
    with pytest.raises(
        InvalidInput, match=r"^storage must have the methods append, after, .*got 5"
    ):
        pm.Learner("apple_tasting", storage=5)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match=r"^events must be a list; got 5"):
        pm.Learner.replay("apple_tasting", events=5)  # type: ignore[arg-type]
