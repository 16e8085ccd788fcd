"""What can be read of a study: over every kind of game, before and after its first decisions."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput
from partial_monitoring.service import views
from partial_monitoring.service.problems import Problem
from tests.service.studies import KINDS, learner_of, play

every_kind = pytest.mark.parametrize("kind", KINDS)

PLAIN = ("summary", "status", "estimate", "analysis", "advice", "regret", "gauges", "trace")
ROWS = ("events", "decisions", "alarms", "off_policy", "last")


@pytest.fixture
def address(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'shop.db'}"


def check_plain(value: Any) -> None:
    """Only what JSON has, with finite numbers."""
    match value:
        case dict():
            assert all(isinstance(key, str) for key in value)
            list(map(check_plain, value.values()))
        case list():
            list(map(check_plain, value))
        case _:
            assert value is None or type(value) in (str, bool, int, float), repr(value)
    json.dumps(value, allow_nan=False)


@every_kind
def test_all_views_of_all_kinds_of_game(kind: str, address: str) -> None:
    learner: Any = learner_of(kind, storage=address, name="study")
    for rounds in (0, 9):
        made = play(learner, kind, rounds)
        for name in (*PLAIN, *ROWS):
            check_plain(getattr(views, name)(learner))
        for own in made[:1] + made[-1:]:
            check_plain(views.decision(learner, own.id))
            found = views.why(learner, own.id)
            check_plain(found)
            assert found["verified"] is True, found
            assert found["label"] == own.label
            assert found["reason"] == own.sheets()[0].notes[0]
