"""A window removes the bias of answers that come later if they are good; all seeded."""

from __future__ import annotations

import pytest
from benchmarks.windows import BUSY, WAYS, counts, play


def test_bad_news_first_make_a_learner_wrong() -> None:
    """In ten short runs; all that differs is when answers are told."""
    late, window = ([play(x, days=60, **WAYS[name]) for x in range(10)] for name in [*WAYS][1:])
    assert sum(own.wrong for own in late) >= 8
    assert sum(own.wrong for own in window) < sum(own.wrong for own in late)


@pytest.mark.nightly
def test_windows_remove_the_bias_of_late_answers() -> None:
    """With one, 120 days are as good as 90 in which every answer is known at once."""
    at_once, late, window = counts().values()
    assert late.wrong >= 2 * at_once.early
    assert window.wrong <= at_once.early + 6  # two standard errors of the difference


@pytest.mark.nightly
def test_windows_remove_false_warnings_of_drift() -> None:
    at_once, late, window = counts(20, days=60, per_day=BUSY).values()
    assert late.drifting >= 10
    assert window.drifting == at_once.drifting == 0
