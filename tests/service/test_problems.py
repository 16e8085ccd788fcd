"""Who asks over HTTP is told neither where the database is nor what it says."""

from __future__ import annotations

import logging
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from partial_monitoring.errors import InvalidInput, StorageError
from partial_monitoring.service import problems
from partial_monitoring.service.problems import problem_of
from tests.service import page_site

AWAY = "the database server (PostgreSQL) cannot be reached."

SAID = "the database cannot be used now; the log of the service says why."


def test_a_problem_of_the_database_is_told_without_its_address(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(problems, "_noted", {})
    secret = "/srv/shop/shop.db: no such table: pm_event"
    with caplog.at_level(logging.ERROR):
        found = [problem_of(StorageError(secret)) for _ in range(3)]
    assert {(own.status, own.detail) for own in found} == {(503, SAID)}
    assert [own.getMessage() for own in caplog.records] == [secret]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("/srv/shop.db: database or disk is full.", "the database's disk is full."),
        ("postgresql://10.1.1.1/x: No space left on device.", "the database's disk is full."),
        (
            "postgresql://10.1.1.1/x: the connection was lost.",
            AWAY,
        ),
        ("/srv/shop.db: disk I/O error.", "the database's disk fails."),
    ],
)
def test_what_can_be_said_is_said(wrong: str, said: str) -> None:
    assert problem_of(StorageError(wrong)).detail == said


def test_no_answer_says_where_the_database_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from partial_monitoring.storage.sqlite import Connection

    with page_site.serving(tmp_path) as own:
        page_site.api(own, "/v1/studies", {"name": "x", "game": {"named": "dynamic_pricing"}})
        page_site.played(own, "x", 10)

        def broken(self: Connection, *given: Any, **more: Any) -> Any:
            with self._reporting():
                raise sqlite3.OperationalError("no such column: pm_secret")

        for name in ("rows", "append"):
            monkeypatch.setattr(Connection, name, broken)
        replies = [
            page_site.request(own, "GET", path)
            for path in (
                *("/studies/x", "/studies/unread", "/v1/studies/unread", "/studies/x/decisions/3"),
                *(f"/v1/studies/x/{name}" for name in ("decisions", "events", "trace", "export")),
                *("/v1/studies/x/off-policy?action=$1", "/v1/studies/x/decisions/3/why"),
            )
        ]
        headers = {"Authorization": f"Bearer {own.token}", "Content-Type": "application/json"}
        path = "/v1/studies/x/ask"
        replies.append(page_site.request(own, "POST", path, b"{}", headers, token=False))
        replies.append(page_site.request(own, "GET", "/health/ready"))
        monkeypatch.undo()
    for status, _, text in replies:
        assert status == 503, text
        assert "database cannot be used now" in text
        assert str(tmp_path) not in text
        assert "pm_secret" not in text


def test_a_damaged_event_is_told_by_its_number(tmp_path: Path) -> None:
    from partial_monitoring.service.engine.engine import Engine
    from partial_monitoring.service.problems import Problem
    from partial_monitoring.storage.opened import database_at

    database = database_at(f"sqlite:///{tmp_path}/shop.db")
    engine = Engine(database)
    engine.create({"name": "x", "game": {"named": "dynamic_pricing"}})
    for _ in range(3):
        engine.submit("x", "ask", {}).result(9)
    engine.close()
    database.handle.run("DELETE FROM pm_snapshot")
    database.handle.run("UPDATE pm_event SET body = '{' WHERE seq = 2")
    again = Engine(database)
    with pytest.raises(Problem) as found:
        again.hosted("x")
    assert "event 2 is damaged" in found.value.detail
    assert str(tmp_path) not in found.value.detail
    study = database.study("x")
    assert study is not None
    with pytest.raises(InvalidInput, match="the database has a study 'x' already"):
        database.rename(study, "x")
    again.close()
    database.close()
