"""What the library says is said in words of the service: verbs, not Python."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from partial_monitoring.service import views
from partial_monitoring.service.engine.engine import Engine
from partial_monitoring.service.problems import Problem
from partial_monitoring.service.words import SPOKEN
from partial_monitoring.storage.opened import database_at

PYTHON = re.compile(r"\bpm\.|learner\.|=True|\w=0\.|\(\.\.\.|\w\(\)|\w= ")

LINEAR = {"named": "linear_bandit"}


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    database = database_at(f"sqlite:///{tmp_path}/shop.db")
    engine = Engine(database)
    yield engine
    engine.close()
    database.close()


def test_phrases_are_those_of_the_library() -> None:
    """A phrase that changes there would not be found any more."""
    folder = Path(views.__file__).parents[2]
    source = "".join(own.read_text() for own in folder.rglob("*.py") if "service" not in own.parts)
    joined = re.sub(r'"\s*\n\s*f?"', "", source)
    for phrase, _ in SPOKEN:
        assert phrase in joined, phrase


def test_a_study_that_drifts_says_what_to_do(engine: Engine) -> None:
    hosted: Any = engine.create({"name": "x", "game": LINEAR, "policy": "ids"})
    label = hosted.game.actions[0]
    for value in (0.0, 5.0):
        rows = [{"action": label, "observation": [value]}] * 60
        engine.submit("x", "history", {"rows": rows}).result(9)
    found = views.status(hosted)
    said = " ".join([*found["warnings"], *found["sentences"]])
    assert "edit the study to a policy with a half_life to forget gradually, or reset it" in said
    assert not PYTHON.search(said), said


@pytest.mark.parametrize("game", ["apple_tasting", "dynamic_pricing"])
def test_what_cannot_be_estimated_is_said_without_python(engine: Engine, game: str) -> None:
    hosted: Any = engine.create({"name": "x", "game": {"named": game}, "policy": "ids"})
    for _ in range(20):
        [own] = engine.submit("x", "ask", {}).result(9)["decisions"]
        seen = str(hosted.game.signal(own["action"], 0))
        engine.submit("x", "tell", {"decision": own["id"], "observation": seen}).result(9)
    for label in hosted.game.actions:
        found = views.off_policy(hosted, action=label)
        assert not PYTHON.search(json.dumps([found["values"], found["why"]]))


@pytest.mark.parametrize(
    "given",
    [
        {"game": {"table": {"actions": ["a", "b"], "rewards": [[1, 0], [0, 1]]}}},
        {"game": LINEAR, "policy": "bpm"},
        {"game": LINEAR, "policy": "dueling_ids"},
        {"game": {"named": "dueling"}, "policy": "feedexp3"},
    ],
)
def test_refusals_are_said_without_python(engine: Engine, given: Any) -> None:
    with pytest.raises(Problem) as found:
        engine.create({"name": "x", **given})
    assert found.value.status == 422
    assert not PYTHON.search(found.value.detail), found.value.detail
