"""Our runs lose what published runs of the same algorithms lose."""

from __future__ import annotations

import pytest
from benchmarks.published import PUBLISHED, apart, regret


@pytest.mark.nightly
@pytest.mark.parametrize("key", PUBLISHED, ids=", ".join)
def test_published_regret(key: tuple[str, str, str]) -> None:
    """Within three standard errors of the difference of two means over 96 opponents."""
    assert abs(apart(PUBLISHED[key], regret(*key))) < 3


def test_published_regret_of_the_quickest() -> None:
    key = "RandCBP", "apple tasting", "imbalanced"
    assert abs(apart(PUBLISHED[key], regret(*key))) < 3
