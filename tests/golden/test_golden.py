"""What every kind of game and policy gave before, it gives again."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.golden import runs

GOLDEN = json.loads(Path(__file__).with_name("golden.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", list(runs.cases()))
def test_a_simulation_gives_what_it_gave_before(case):
    expected, own = GOLDEN["simulated"][case], runs.played(case)
    assert own["plays"] == expected["plays"]
    near = runs.FITTED.get(case, 1e-9)
    for key in runs.NUMBERS:
        np.testing.assert_allclose(own[key], expected[key], rtol=near, atol=near)


@pytest.mark.parametrize("game", list(runs.GAMES))
def test_a_learner_decides_as_it_decided_before(game):
    for expected, own in zip(GOLDEN["decided"][game], runs.decisions(game), strict=True):
        assert own.pop("label") == expected["label"]
        for key, value in own.items():
            np.testing.assert_allclose(value, expected[key], rtol=1e-9, atol=1e-9)
