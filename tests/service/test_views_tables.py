"""Tables that somebody writes, classified while they are written."""

from __future__ import annotations

from typing import Any

import pytest

from partial_monitoring.errors import InvalidInput
from partial_monitoring.service import views

TASTING = {
    "actions": ["sell", "taste"],
    "outcomes": ["good", "rotten"],
    "earns": [[0, -1], [-1, 0]],
    "shows": [[None, None], ["good", "rotten"]],
}
FILE = {"rewards": [[0, -1], [-1, 0]], "signals": [["", ""], ["g", "r"]]}
CELLS = {"sell": {"x": [0, ""], "y": [-1, ""]}, "taste": {"x": [-1, "g"], "y": [0, "r"]}}


@pytest.mark.parametrize("table", [TASTING, FILE, CELLS])
def test_a_table_is_classified(table: Any) -> None:
    found = views.classify(table)
    assert found["category"] == "easy"
    assert found["explanation"][0].startswith("Easy: ")
    assert found["advice"]["sentences"]


def test_what_to_measure_is_said() -> None:
    silent = TASTING | {"shows": [[None, None], [None, None]]}
    found = views.classify(silent)
    assert found["category"] == "hopeless"
    assert found["advice"]["measurements"]


@pytest.mark.parametrize(
    "wrong",
    [
        None,
        [],
        7,
        "table",
        {},
        {"a": 1},
        {"a": {"x": 1}},
        {"a": {"x": [1, None]}},
        TASTING | {"earns": [[0, "much"], [-1, 0]]},
        TASTING | {"earns": [[0], [-1, 0]]},
        TASTING | {"earns": [[0, float("nan")], [-1, 0]]},
        TASTING | {"earns": [[0, True], [-1, 0]]},
        TASTING | {"earns": None},
        TASTING | {"actions": ["sell", "sell"]},
        TASTING | {"actions": ["sell", ""]},
        TASTING | {"actions": []},
        TASTING | {"outcomes": "good"},
        TASTING | {"shows": [[{}, []], ["a", "b"]]},
        FILE | {"signals": [[""]]},
        FILE | {"rewards": None},
        FILE | {"more": 1},
        {str(a): {str(x): [0, "s"] for x in range(30)} for a in range(30)},
        FILE | {"rewards": [[0] * 30] * 30, "signals": [["s"] * 30] * 30},
    ],
)
def test_what_is_no_table_is_refused_in_a_sentence(wrong: Any) -> None:
    with pytest.raises(InvalidInput) as found:
        views.classify(wrong)
    text = str(found.value)
    assert text.endswith(".")
    assert "\n" not in text
