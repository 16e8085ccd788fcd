"""Lists of decisions: what was open when a study was edited, and what is looked for."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from partial_monitoring.cli import main
from partial_monitoring.errors import InvalidInput
from partial_monitoring.service import views
from partial_monitoring.service.engine.engine import Engine
from partial_monitoring.service.views import listing
from partial_monitoring.service.views.taken import close_reader
from partial_monitoring.storage.opened import database_at
from tests.service.engines import PRICING, asked, do, seen, told
from tests.storage import cluster as postgres

FOUR = {"named": "dynamic_pricing", "options": {"prices": [1, 2, 3, 4]}}


@pytest.fixture(params=["sqlite", "postgres"])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    address = f"sqlite:///{tmp_path}/shop.db"
    if request.param == "postgres":
        cluster: postgres.Cluster = request.getfixturevalue("crashable")
        address = cluster.new("decisions")
    database = database_at(address)
    engine = Engine(database)
    engine.create({"name": "pricing", "game": PRICING, "seed": 3})
    yield engine
    engine.close()
    close_reader(database)
    database.close()


def listed(engine: Engine, limit: int = 100, study: str = "pricing", **sought: Any) -> list[Any]:
    """All pages from the first one on; the same ones from the last one on."""
    hosted, forward, backward = engine.hosted(study), list[Any](), list[Any]()
    after: Any = -1
    while after is not None:
        page = views.decisions(hosted, after=after, limit=limit, **sought)
        forward += page["decisions"]
        after = page["next"]
    before: Any = 2**40
    while before is not None:
        page = views.decisions(hosted, before=before, limit=limit, **sought)
        backward = page["decisions"] + backward
        before = page["previous"]
    assert forward == backward
    return forward


def exported(engine: Engine, study: str = "pricing") -> list[Any]:
    content = b"".join(views.export(engine.hosted(study)))
    return [json.loads(line) for line in content.splitlines()]


def edited(engine: Engine) -> list[Any]:
    """Play, edit while decisions are open, and answer some of them afterwards."""
    made = [asked(engine, meta={"round": number}, key=f"k{number}") for number in range(6)]
    for own in made[:2]:
        told(engine, own["id"], seen(own))
    do(engine, "edit", game=FOUR, reason="another price")
    told(engine, made[3]["id"], seen(made[3]))
    do(engine, "cancel", decision=made[4]["id"])
    later = [asked(engine) for _ in range(3)]
    told(engine, later[0]["id"], seen(later[0]))
    return [*made[2:], *later]


@pytest.mark.parametrize("limit", [1, 3])
def test_what_was_open_at_an_edit_is_listed(engine: Engine, limit: int) -> None:
    made = edited(engine)
    rows = listed(engine, limit)
    assert [row["id"] for row in rows] == [own["id"] for own in made]
    assert [row["state"] for row in rows] == [
        *("open", "told", "cancelled", "open"),
        *("told", "open", "open"),
    ]
    known = {key: rows[1][key] for key in ("label", "probability", "asked_at")}
    assert known == {key: made[1][key] for key in known}
    assert (rows[1]["meta"], rows[1]["key"]) == ({"round": 3}, "k3")
    assert rows[1]["observation"] == seen(made[1])
    assert rows[1]["closed_at"] >= rows[1]["asked_at"]
    assert [row["id"] for row in listed(engine, limit, open=True)] == [
        made[number]["id"] for number in (0, 3, 5, 6)
    ]
    last = views.decisions(engine.hosted("pricing"), limit=5)
    assert [row["id"] for row in last["decisions"]] == [own["id"] for own in made[-5:]]
    assert (last["next"], last["previous"]) == (None, made[2]["number"])


def test_what_was_open_at_an_edit_is_exported(engine: Engine, tmp_path: Path) -> None:
    made = edited(engine)
    do(engine, "amend", decision=made[1]["id"], observation="no", reason="misread")
    rows, before = exported(engine), exported(engine, "pricing~1")
    assert [row["decision"] for row in rows] == [own["id"] for own in made]
    assert [row["closed_by"] for row in rows[:5]] == [None, "tell", "cancel", None, "tell"]
    assert (rows[1]["observation"], rows[1]["amended"]) == ("no", True)
    assert [row["asked_at"] for row in rows[:4]] == [row["asked_at"] for row in before[2:]]
    assert (rows[1]["key"], rows[1]["meta"]) == ("k3", {"round": 3})
    file = tmp_path / "own.ndjson"
    if engine.database.handle.dialect == "sqlite":
        words = ["store", "export", engine.database.given, "pricing", str(file)]
        done = CliRunner().invoke(main, [*words, "--what", "decisions"])
        assert done.exit_code == 0, done.output
        assert file.read_bytes() == b"".join(views.export(engine.hosted("pricing")))


def test_a_study_that_is_edited_twice_lists_what_is_still_open(engine: Engine) -> None:
    made = edited(engine)
    do(engine, "edit", policy="random", reason="a test")
    told(engine, made[0]["id"], seen(made[0]))
    still = [made[number] for number in (0, 3, 5, 6)]
    assert [row["id"] for row in listed(engine, 3)] == [own["id"] for own in still]
    rows = exported(engine)
    assert [row["closed_by"] for row in rows] == ["tell", None, None, None]
    assert (rows[0]["key"], rows[0]["asked_at"] > 1e9) == ("k2", True)
    assert [row["id"] for row in listed(engine, study="pricing~2")] == [own["id"] for own in made]


# -- what is looked for ------------------------------------------------------------------------


def played(engine: Engine) -> dict[str, list[int]]:
    """Play some rounds; the numbers of decisions by what became of them."""
    found: dict[str, list[int]] = {}
    made = [asked(engine, meta={"label": "$1"}) for _ in range(40)]
    for number, own in enumerate(made):
        state = ("answered", "open", "cancelled", "lapsed", "answered")[number % 5]
        found.setdefault(state, []).append(number)
        if state == "answered":
            told(engine, own["id"], seen(own))
        elif state == "lapsed":
            told(engine, own["id"], None)
        elif state == "cancelled":
            do(engine, "cancel", decision=own["id"])
    for number in found["answered"][:2]:
        do(engine, "void", decisions=[made[number]["id"]], reason="a fault")
        found["lapsed"] = sorted([number, *found["lapsed"]])
    found["answered"] = found["answered"][2:]
    return found


@pytest.mark.parametrize("piece", [3, 5000])
def test_decisions_are_found_by_what_became_of_them(
    engine: Engine, piece: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "PIECE", piece)
    monkeypatch.setattr(listing, "MOST_READ", 2 * piece)
    found = played(engine)
    every = listed(engine)
    for state in ("open", "answered", "lapsed", "cancelled", "late"):
        for limit in (1, 4, 100):
            rows = listed(engine, limit, state=state)
            assert [row["number"] for row in rows] == found.get(state, []), state
    for label in {row["label"] for row in every} | {"$1"}:
        right = [row for row in every if row["label"] == label]
        assert listed(engine, 3, action=label) == right
        both = [row["number"] for row in right if row["number"] in found["cancelled"]]
        rows = listed(engine, 3, action=label, state="cancelled")
        assert [row["number"] for row in rows] == both


def test_decisions_are_found_by_when_they_were_asked_for(engine: Engine) -> None:
    made = [asked(engine, now=1e9 + number) for number in range(20)]
    do(engine, "edit", game=FOUR, reason="another price")
    made += [asked(engine, now=1e9 + number) for number in range(20, 30)]
    for first, end in ((0, 30), (5, 7), (15, 25), (24, 24), (26, 40), (0, 0)):
        rows = listed(engine, 4, since=1e9 + first, until=1e9 + end)
        assert [row["id"] for row in rows] == [own["id"] for own in made[first:end]]


def test_late_answers_are_found(engine: Engine) -> None:
    engine.create({"name": "timed", "game": PRICING, "window": {"rounds": 2}})
    made = do(engine, "ask", "timed", count=8)["decisions"]
    answer = {"decision": made[3]["id"], "observation": seen(made[3])}
    assert do(engine, "tell", "timed", **answer)["answers"][0]["result"] == "late"
    rows = listed(engine, 3, "timed", state="late")
    assert [(row["id"], row["late"]) for row in rows] == [(made[3]["id"], seen(made[3]))]
    lapsed = listed(engine, 3, "timed", state="lapsed")
    assert [row["number"] for row in lapsed] == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("sought", "said"),
    [
        ({"state": "lost"}, "state must be one of .*lost"),
        ({"action": "$9"}, r"\$9"),
        ({"action": 3}, "action must be the label of an action; got 3"),
        ({"since": -1.0}, "since must be seconds since 1970; got -1"),
        ({"until": "noon"}, "until must be .*noon"),
        ({"after": 3, "before": 5}, "before must be left out"),
        ({"before": -1}, "before must be .*-1"),
    ],
)
def test_what_cannot_be_looked_for_is_refused(tmp_path: Path, sought: Any, said: str) -> None:
    database = database_at(f"sqlite:///{tmp_path}/shop.db")
    engine = Engine(database)
    hosted = engine.create({"name": "pricing", "game": PRICING})
    with pytest.raises(InvalidInput, match=said):
        views.decisions(hosted, **sought)
    engine.close()
