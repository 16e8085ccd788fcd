"""A window removes the bias of answers that come later if they are good; all seeded."""

from __future__ import annotations

import pytest
from benchmarks.windows import WAIT, WAYS, counts, play


def test_bad_news_first_are_what_makes_a_learner_wrong() -> None:
    """In five short runs; all that differs is when answers are told."""
    runs = {name: [play(x, days=60, **own) for x in range(5)] for name, own in WAYS.items()}
    wrong = {name: sum(own.wrong for own in found) for name, found in runs.items()}
    drifting = {name: sum(own.drifting for own in found) for name, found in runs.items()}
    assert wrong["as they come"] >= 3
    assert wrong["with a window"] <= 2
    assert drifting["with a window"] == drifting["at once"] == 0


@pytest.mark.nightly
def test_windows_remove_the_bias_of_late_answers() -> None:
    """What is known with a window on day 120 is what was known at once on day 90."""
    found = counts()
    at_once, late, window = (found[name] for name in WAYS)
    assert WAIT == 30
    assert late.wrong >= 20
    assert late.drifting >= 15
    assert window.wrong <= at_once.early + 6  # two standard errors of the difference
    assert window.drifting == at_once.drifting == 0
