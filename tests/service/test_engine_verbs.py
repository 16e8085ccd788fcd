"""What else can be done to a study: cancel, hold, history, corrections, edits, pauses."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import partial_monitoring as pm
from partial_monitoring.service.engine.engine import Engine
from tests.service.engines import PRICING, asked, do, refused, running, seen, told

APPLES = {"named": "apple_tasting"}


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with running(tmp_path) as own:
        yield own


def played(engine: Engine, count: int) -> list[Any]:
    found = []
    for number in range(count):
        found.append(own := asked(engine))
        told(engine, own["id"], "yes" if number % 3 else seen(own))
    return found


def same(engine: Engine, learner: pm.Learner) -> None:
    """Whether the study knows what a learner knows."""
    hosted = engine.hosted("pricing")
    assert str(hosted.status()) == str(learner.status())
    mine, own = learner.ask(), asked(engine)
    assert (mine.label, mine.probability) == (own["label"], own["probability"])


def test_cancelled_decisions_do_not_count(engine: Engine) -> None:
    own = asked(engine)
    (result,) = do(engine, "cancel", decision=own["id"])["decisions"]
    assert result == {"decision": own["id"], "result": "cancelled"}
    assert do(engine, "cancel", decisions=[own["id"]])["decisions"][0]["result"] == "duplicate"
    assert refused(engine, "tell", decision=own["id"], observation="yes").status == 409
    assert refused(engine, "cancel", decision="x-1").status == 404
    other = asked(engine)
    told(engine, other["id"], "yes")
    assert refused(engine, "cancel", decisions=[other["id"]]).status == 409


def test_logged_data_are_learned_once(engine: Engine) -> None:
    rows = [{"action": "$3", "observation": "no", "key": f"row {i}", "count": 3} for i in range(5)]
    assert do(engine, "history", rows=rows) == {"accepted": 5, "repeated": 0}
    more = [*rows, {"action": "$2", "observation": "yes", "key": "new"}]
    assert do(engine, "history", rows=more) == {"accepted": 1, "repeated": 5}
    problem = refused(engine, "history", rows=[*rows, {"action": "$9", "observation": "yes"}])
    assert problem.status == 422
    learner = pm.Learner("dynamic_pricing", seed=3)
    learner.tell_past(["$3"] * 5 + ["$2"], ["no"] * 5 + ["yes"], counts=[3] * 5 + [1])
    same(engine, learner)
    assert all("key" not in row for row in engine.hosted("pricing").history)


def test_voided_answers_were_never_told(engine: Engine) -> None:
    decisions = played(engine, 6)
    version = engine.hosted("pricing").version
    dry = do(engine, "void", **{"from": 2, "to": 3}, reason="a bad day", dry_run=True)
    assert dry["amended"] == 2
    assert (dry["round_before"], dry["round"]) == (7, 5)
    assert engine.hosted("pricing").version == version
    done = do(engine, "void", **{"from": 2, "to": 3}, reason="a bad day", key="v")
    assert done["decisions"] == [own["id"] for own in decisions[2:4]]
    assert do(engine, "void", decisions=done["decisions"], reason="again", key="v")["repeated"]
    learner = pm.Learner("dynamic_pricing", seed=3)
    names = []
    for number in range(6):
        names.append(own := learner.ask())
        learner.tell(own, "yes" if number % 3 or own.label == "$1" else "no")
    learner.amend(names[2:4], [None, None])
    same(engine, learner)
    amended = [event for event in engine.hosted("pricing").events if event["kind"] == "amend"]
    assert [event["reason"] for event in amended] == ["a bad day"] * 2
    assert refused(engine, "void", decisions=["x-1"], reason="?").status == 404
    assert refused(engine, "void", decisions=[decisions[0]["id"]]).status == 422


def test_an_amended_answer_was_told_right(engine: Engine) -> None:
    own = played(engine, 2)[1]
    do(engine, "amend", decision=own["id"], observation=seen(own), reason="a typo")
    rows = engine.hosted("pricing").history
    assert [row["observation"] for row in rows][1] == seen(own)
    assert refused(engine, "amend", decision="x-9", observation="no", reason="?").status == 404


def test_a_reset_forgets(engine: Engine) -> None:
    played(engine, 5)
    do(engine, "reset", reason="new prices", key="r")
    do(engine, "reset", reason="new prices", key="r")
    resets = [event for event in engine.hosted("pricing").events if event["kind"] == "reset"]
    assert [event["reason"] for event in resets] == ["new prices"]


def test_a_paused_study_takes_answers(engine: Engine) -> None:
    own = asked(engine)
    assert do(engine, "pause", reason="sale")["state"] == "paused"
    assert refused(engine, "ask").status == 409
    do(engine, "settings", fallback="$2", max_open=2)
    assert refused(engine, "settings", fallback="$9").status == 422
    found = asked(engine)
    assert (found["label"], found["fallback"], found["id"]) == ("$2", True, None)
    assert told(engine, own["id"], "yes") == "told"
    hosted = engine.hosted("pricing")
    assert (hosted.state, hosted.settings["fallback"], hosted.version) == ("paused", "$2", 4)
    assert do(engine, "resume")["state"] == "running"
    asked(engine, count=2)
    assert refused(engine, "ask").status == 429


def test_an_edited_study_keeps_its_name_and_open_decisions(engine: Engine) -> None:
    decisions, still = played(engine, 8), asked(engine, key="open")
    version = engine.hosted("pricing").version
    game = {"named": "dynamic_pricing", "options": {"prices": [1, 2, 3, 4]}}
    refused_one = refused(engine, "edit", game=game, reason="$4", if_version=version - 1)
    assert refused_one.status == 412
    dry = do(engine, "edit", game=game, reason="a fourth price", dry_run=True)
    assert engine.hosted("pricing").version == version
    done = do(engine, "edit", game=game, reason="a fourth price", if_version=version, key="e")
    assert done["archived"] == "pricing~1"
    assert {name: done[name] for name in dry if name != "dry_run"}.items() <= done.items()
    hosted = engine.hosted("pricing")
    assert hosted.game.k == 4
    assert engine.names() == ["pricing~1", "pricing"] or "pricing~1" in engine.names()
    assert engine.hosted("pricing~1").state == "archived"
    assert asked(engine, key="open") == still | {"repeated": True}
    assert told(engine, still["id"], "yes") == "told"
    assert told(engine, still["id"], "yes") == "duplicate"
    assert told(engine, decisions[1]["id"], "yes") == "duplicate"
    assert do(engine, "edit", game=game, reason="a fourth price", key="e")["repeated"]
    assert asked(engine)["number"] == 9
    assert [event["seq"] for event in hosted.events] == list(range(1, hosted.version + 1))
    with pytest.raises(Exception, match="archived"):
        engine.submit("pricing~1", "ask", {}).result(20)
    again = do(engine, "edit", policy="random", reason="just try")
    assert again["archived"] == "pricing~2"
    assert asked(engine, key="open") == still | {"repeated": True}


def test_hopeless_games_are_refused(engine: Engine) -> None:
    table = {"rewards": [[1, 0], [0, 1]], "signals": [["a", "a"], ["a", "a"]]}
    with pytest.raises(Exception, match="cannot"):
        engine.create({"name": "blind", "game": {"table": table}})
    engine.create({"name": "blind", "game": {"table": table}, "allow_hopeless": True})
    assert engine.hosted("blind").allow_hopeless


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        ({"name": "a b", "game": PRICING}, 422),
        ({"name": "x"}, 422),
        ({"name": "x", "game": {"named": "nothing"}}, 422),
        ({"name": "x", "game": {"named": "dynamic_pricing", "options": {"price": 2}}}, 422),
        ({"name": "x", "game": PRICING, "policy": {"name": "ids", "gap": "?"}}, 422),
        ({"name": "x", "game": PRICING, "window": {"days": -1}}, 422),
        ({"name": "x", "game": PRICING, "settings": {"max_open": 0}}, 422),
        ({"name": "pricing", "game": PRICING}, 409),
        ([], 422),
    ],
)
def test_what_cannot_be_created_is_refused(engine: Engine, arguments: Any, status: int) -> None:
    from partial_monitoring.service.problems import Problem

    with pytest.raises(Problem) as found:
        engine.create(arguments)
    assert found.value.status == status
    assert engine.names() == ["pricing"]
