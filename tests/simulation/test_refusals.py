"""What a simulation refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput
from tests.oracles.simulations import small

BAD: dict[str, tuple[dict[str, Any], str]] = {
    "no game": ({"game": None}, "game"),
    "a name as game": ({"game": "pricing"}, "game"),
    "unknown policy": ({"policies": "idss"}, "idss"),
    "no policy": ({"policies": []}, "policies"),
    "no policy in a dict": ({"policies": {}}, "policies"),
    "a number as policy": ({"policies": 3}, "policies"),
    "none as policy": ({"policies": None}, "policies"),
    "a class as policy": ({"policies": pm.IDS}, "polic"),
    "one policy twice": ({"policies": ["ids", pm.IDS()]}, "ids"),
    "no horizon": ({"horizon": 0}, "horizon"),
    "half a horizon": ({"horizon": 2.5}, "horizon"),
    "no seeds": ({"seeds": 0}, "seeds"),
    "an empty list of seeds": ({"seeds": []}, "seeds"),
    "one seed twice": ({"seeds": [1, 1]}, "seeds"),
    "a negative seed": ({"seeds": [-1]}, "seeds"),
    "half a seed": ({"seeds": [0.5]}, "seeds"),
    "half a count": ({"seeds": 1.5}, "seeds"),
    "a word as seeds": ({"seeds": "three"}, "seeds"),
    "no seeds at all": ({"seeds": None}, "seeds"),
    "a seed that is too large": ({"seeds": [2**70]}, "seeds"),
    "theta outside": ({"theta": [0.5, 0.5, 0.5]}, "theta"),
    "theta too short": ({"theta": [0.5, 0.5]}, "theta"),
    "theta unknown": ({"theta": "worse"}, "theta"),
    "theta nan": ({"theta": [np.nan, 0.5, 0.5]}, "theta"),
    "theta missing": ({"theta": None}, "theta"),
    "too few rows of theta": ({"theta": [[0.2, 0.5, 0.3]] * 2}, "theta"),
    "ragged theta": ({"theta": [[0.2, 0.5, 0.3], [1.0], [0.2, 0.5, 0.3]]}, "theta"),
    "theta with three axes": ({"theta": np.ones((3, 1, 3)) / 3}, "theta"),
    "checkpoint zero": ({"checkpoints": [0, 5]}, "checkpoints"),
    "checkpoint beyond": ({"checkpoints": [25]}, "checkpoints"),
    "half a checkpoint": ({"checkpoints": [2.5]}, "checkpoints"),
    "checkpoint as a word": ({"checkpoints": "often"}, "checkpoints"),
    "noise in a finite game": ({"noise": "gaussian"}, "noise"),
}


@pytest.mark.parametrize("case", BAD.values(), ids=BAD.keys())
def test_bad_input_is_refused(case: tuple[dict[str, Any], str]) -> None:
    options, name = case
    with pytest.raises(InvalidInput) as caught:
        small(**options)
    text = str(caught.value)
    assert name in text
    assert text.endswith(".")
    assert "\n" not in text


@pytest.mark.parametrize("game", [pm.games.linear_bandit(), pm.games.dueling()])
def test_unknown_noise_is_refused(game: pm.Game) -> None:
    with pytest.raises(InvalidInput, match="gausian"):
        small(game, noise="gausian")


def test_means_outside_the_noise_are_refused() -> None:
    with pytest.raises(InvalidInput, match="bernoulli"):
        small(pm.games.linear_bandit(), theta=[0.5, -0.5, 0.0], noise="bernoulli")
