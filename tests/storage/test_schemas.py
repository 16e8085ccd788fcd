"""Databases of earlier and later versions: upgraded, all or nothing, or refused."""

from __future__ import annotations

import re
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput, StorageError
from partial_monitoring.storage import migrations
from partial_monitoring.storage.opened import database_at
from tests.storage.cluster import Cluster
from tests.storage.conftest import Address
from tests.storage.learners import ENVIRONMENT, learner_at, play, pm_store
from tests.storage.schemas import first_version, logged


def check_upgraded(where: str) -> None:
    """All is there, can be found as if it had been stored now, and goes on."""
    learner = learner_at(where)
    assert learner.events == logged(1)
    assert database_at(where).study("windowed").row[:2] == ("running", {})  # type: ignore[union-attr]
    study: Any = learner._storage
    again = pm.Learner.replay("dynamic_pricing", None, 1, learner.events)
    waiting = [own.id for own in learner.open]
    rows = study.decisions()
    assert [row.number for row in rows] == list(range(18))
    assert [row.asked["decision"] for row in rows if row.closed is None] == waiting
    amended = study.about(rows[14].asked["decision"])
    assert [event["kind"] for event in amended] == ["ask", "tell", "amend"]
    other: Any = database_at(where).study("windowed")
    first = other.decisions(limit=1)[0].asked["decision"]
    assert [event["kind"] for event in other.about(first)] == ["ask", "lapse", "late"]
    assert play(learner, 20) == play(again, 20)
    check_compared(pm_store("check", where, code=1).splitlines())


def check_compared(lines: list[str]) -> None:
    """All is as it was written, but the rule that made some of the decisions was another one."""
    *first, second = lines
    assert second == "windowed: 14 events; replayed, all is equal."
    differs = (
        r"pricing: event \d+ has '\$3' with probability 1, computed again it is '\$2' with 1\."
    )
    assert 1 <= len(first) <= 3
    assert all(re.fullmatch(differs, line) for line in first)


def test_a_file_of_the_first_version_upgrades_itself(tmp_path: Path) -> None:
    where, copy = f"sqlite:///{tmp_path}/shop.db", tmp_path / "shop.db.schema-1"
    first_version(where)
    with pytest.raises(StorageError, match=r"has schema 1 of an earlier version; upgrade it to 2"):
        database_at(where, writes=False)
    assert not copy.exists()
    check_upgraded(where)
    with sqlite3.connect(copy) as kept:
        assert kept.execute("SELECT value FROM pm_meta").fetchall() == [("1",)]
        assert kept.execute("SELECT count(*) FROM pm_event").fetchall() == [(50,)]
    kept.close()


def test_a_server_of_the_first_version_is_upgraded_by_hand(cluster: Cluster) -> None:
    where = cluster.new("first")
    first_version(where)
    said = r"has schema 1 of an earlier version; upgrade it to 2 with pm store upgrade\.$"
    with pytest.raises(StorageError, match=said):
        learner_at(where)
    assert pm_store("upgrade", where) == "Schema 1 is now 2.\n"
    assert pm_store("upgrade", where) == "Schema 2, as before.\n"
    check_upgraded(where)
    handle = database_at(where).handle
    with pytest.raises(StorageError, match="pm_event_numbered"), handle.transaction():
        handle.run("INSERT INTO pm_event VALUES (1, 1000, 0, 'ask', 'x-99', 0, '{}')")


def test_upgrades_are_all_or_none(address: Address, monkeypatch: pytest.MonkeyPatch) -> None:
    where = address()
    play(learner_at(where), 2)
    own = migrations.scripts
    more = ["CREATE TABLE pm_more (x INTEGER)", "CREATE nonsense"]
    database_at(where).close()
    monkeypatch.setattr(migrations, "scripts", lambda dialect: [*own(dialect), *more])
    assert "syntax error" in pm_store("upgrade", where, code=2)
    assert migrations.schema(database_at(where, check=False).handle) == 2
    more.pop()
    assert "Schema 2 is now 3." in pm_store("upgrade", where)
    assert "Schema 3, as before." in pm_store("upgrade", where)
    learner = learner_at(where)
    assert learner.round == 3
    del learner
    database_at(where).close()
    monkeypatch.setattr(migrations, "scripts", own)
    for writes in (True, False):
        with pytest.raises(StorageError, match=r"has schema 3 of a later version; this one knows"):
            database_at(where, writes=writes)
    assert "later version" in pm_store("upgrade", where, code=2)


# -- deaths ------------------------------------------------------------------------------------

UPGRADE = """
import os, sys
from partial_monitoring.storage import migrations
from partial_monitoring.storage.opened import database_at
for where, at in zip(sys.argv[1::2], sys.argv[2::2]):
    if (child := os.fork()) == 0:
        os.environ[migrations.DEATH] = at
        database_at(where, check=False).upgrade()
        os._exit(0)
    print(os.waitpid(child, 0)[1], flush=True)
"""

STEPS = ("copy", "copied", "script 2", "commit", "committed")


def test_a_process_may_die_at_any_step_of_an_upgrade(address: Address) -> None:
    """Whatever it has done, the database is that of one version or the other."""
    places = {name: address() for name in STEPS}
    for where in places.values():
        first_version(where)
    words = [word for name, where in places.items() for word in (where, name)]
    command = [sys.executable, "-c", UPGRADE, *words]
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [str(int(signal.SIGKILL))] * len(STEPS), done.stderr
    for name, where in places.items():
        found = database_at(where, check=False)
        assert found.schema() == (2 if name == "committed" else 1)
        assert len(found.handle.rows("SELECT seq FROM pm_event")) == 50
        found.close()
        if name == "commit":
            assert "2." in pm_store("upgrade", where)
            check_upgraded(where)


def test_a_new_database_is_whole_or_empty(address: Address) -> None:
    names = ("script 1", "script 2", "commit")
    words = [word for name in names for word in (address(), name)]
    command = [sys.executable, "-c", UPGRADE, *words]
    subprocess.run(command, env=ENVIRONMENT, capture_output=True, check=True)
    for where in words[::2]:
        assert database_at(where, check=False).schema() == 0
        play(learner_at(where), 1)


# -- copies ------------------------------------------------------------------------------------


def test_a_file_is_copied_while_it_is_in_use(tmp_path: Path) -> None:
    where, path = f"sqlite:///{tmp_path}/shop.db", tmp_path / "copy.db"
    learner = learner_at(where)
    play(learner, 30)
    (tmp_path / "shop.db").chmod(0o600)
    database = database_at(where)
    with database.together():
        play(learner, 1)  # not stored yet
        database.back_up(path)
    assert path.stat().st_mode & 0o777 == 0o600
    with pytest.raises(InvalidInput, match=r"copy\.db: exists already\.$"):
        database.back_up(path)
    with pytest.raises(StorageError, match=r"none/x\.db: cannot be written: No such file"):
        database.back_up(tmp_path / "none" / "x.db")
    assert learner_at(f"sqlite:///{path}").events == learner.events[:60]
    assert [own.name for own in tmp_path.iterdir() if "unfinished" in own.name] == []


def test_a_server_is_not_copied_to_a_file(cluster: Cluster, tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"is copied by pg_dump, not to a file\.$"):
        database_at(cluster.new("copies")).back_up(tmp_path / "x.db")
