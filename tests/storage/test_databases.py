"""Studies in databases: opened by name, shared, copied, and refused in one sentence."""

from __future__ import annotations

import json
import os
import pickle
import re
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput, PartialMonitoringError, StorageError
from partial_monitoring.learner import snapshots
from partial_monitoring.storage import owner, postgres, sqlite
from partial_monitoring.storage.opened import database_at
from tests.storage.cluster import Cluster
from tests.storage.conftest import Address
from tests.storage.learners import ENVIRONMENT, learner_at, play, pm_store


def test_a_study_is_opened_by_its_name(address: Address) -> None:
    """It is the learner in memory, across two openings and with the game from the database."""
    where, model = address(), pm.Learner("dynamic_pricing", seed=1)
    expected = play(model, 60)
    one = learner_at(where)
    assert play(one, 20) == expected[:20]
    two = pm.Learner(storage=where, name="pricing")
    assert (two.seed, two.round) == (1, 21)
    for first in range(20, 60, 4):
        assert play(two, 2) + play(one, 2) == expected[first : first + 4]
    waiting = two.ask()
    one.tell(waiting, "no")  # another one's decision
    with pytest.raises(InvalidInput, match="already"):
        two.tell(waiting, "no")
    again = pickle.loads(pickle.dumps(one))
    assert (again.round, again.seed) == (62, 1)
    other = pm.Learner("apple_tasting", storage=where, name="apples")
    assert other.round == 1
    assert database_at(where).names() == ["pricing", "apples"]
    assert [event["seq"] for event in one.events] == list(range(1, 123))


def test_something_else_than_what_plays_is_refused(address: Address) -> None:
    where = address()
    kept = play(learner_at(where), 3)
    for said, pattern in (
        ({"game": "apple_tasting"}, r"plays a game with 3 actions; got one with 2\.$"),
        ({"game": pm.games.dynamic_pricing([1, 2, 5])}, r"plays another game, .*\.$"),
        ({"seed": 5}, r"has another seed, 1; got 5\.$"),
        ({"policy": "greedy"}, r"has another policy, .*\.$"),
        ({"probe": 0.1}, r"has another policy, .*\.$"),
        ({"pending": "ignored"}, r"has another setting, .*\.$"),
        ({"game": "no such"}, r"no game named"),
    ):
        with pytest.raises(InvalidInput, match=pattern):
            pm.Learner(storage=where, name="pricing", **said)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match=r"game must be given: .* has no study 'other' yet\.$"):
        pm.Learner(storage=where, name="other")
    for name in ("", "x" * 65, " x", "a\nb", 7, "\0"):
        with pytest.raises(InvalidInput, match=r"^name must be that of a study"):
            pm.Learner("apple_tasting", storage=where, name=name)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match=r"^name must be given with the address of a database"):
        pm.Learner("apple_tasting", storage=where)
    own = pm.IDS(gap=lambda game, e: pm.gaps.mean(game, e))
    with pytest.raises(InvalidInput, match=r"parts of your own, keep the log in a file"):
        pm.Learner("apple_tasting", own, storage=where, name="own")
    assert database_at(where).names() == ["pricing"]
    assert learner_at(where).round == len(kept) + 1


def test_names_are_given_with_databases_only(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"^name must be left out unless storage is"):
        pm.Learner("apple_tasting", name="x")
    with pytest.raises(InvalidInput, match=r"^game must be given unless storage is"):
        pm.Learner()
    for where in ("mysql://x", "ftp://x", "sqlite://x", "sqlite:///", "sqlite:///:memory:"):
        with pytest.raises(InvalidInput, match=r"^storage must .*\.$"):
            pm.Learner("apple_tasting", storage=where, name="x")
    with pytest.raises(InvalidInput, match=r"no option but synchronous"):
        pm.Learner("apple_tasting", storage=f"sqlite:///{tmp_path}/x.db?mode=ro", name="x")


def test_snapshots_save_folding_and_may_be_lost(
    address: Address, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshots, "EVERY", 20)
    where = address()
    learner = learner_at(where)
    play(learner, 45)
    expected, folded, own = learner.status().to_dict(), [], snapshots.steps.fold
    study: Any = learner._storage
    assert study.latest()["seq"] == 80

    def counted(*args: Any) -> Any:
        folded.append(1)
        return own(*args)

    monkeypatch.setattr(snapshots.steps, "fold", counted)

    def opened() -> int:
        folded.clear()
        assert learner_at(where).status().to_dict() == expected
        return len(folded)

    damage = "UPDATE pm_snapshot SET body = '{}' WHERE seq = 80"
    assert opened() == 10
    with study._handle.transaction():
        study._handle.run(damage)
    assert opened() == 30  # from the one before
    study.forget_snapshots()
    assert opened() == 90


def test_a_copy_and_back_makes_the_same_decisions(cluster: Cluster, tmp_path: Path) -> None:
    one, two = f"sqlite:///{tmp_path}/one.db", cluster.new("copied")
    three, model = f"sqlite:///{tmp_path}/three.db", pm.Learner("dynamic_pricing", seed=1)
    expected = play(model, 150)
    assert play(learner_at(one), 30) == expected[:30]
    assert "60 events, 60 of them new; all are equal" in pm_store("copy", one, two)
    assert play(learner_at(one), 10) == expected[30:40]
    assert "80 events, 20 of them new" in pm_store("copy", one, two)
    assert play(learner_at(two), 10) == expected[40:50]
    assert "which is not the beginning of it." in pm_store("copy", one, two, code=2)
    pm_store("copy", two, three)
    assert "100 events; replayed, all is equal." in pm_store("check", three)
    assert play(learner_at(three), 100) == expected[50:]


def test_a_copy_takes_snapshots_along(
    address: Address, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that a learner is opened there, and decisions are explained, as quickly."""
    monkeypatch.setattr(snapshots, "EVERY", 20)
    one, two = address(), f"sqlite:///{tmp_path}/two.db"
    learner = learner_at(one)
    play(learner, 25)
    pm_store("copy", one, two)
    play(learner, 20)
    study: Any = learner._storage
    with study._handle.transaction():
        study._handle.run("UPDATE pm_snapshot SET body = '{}' WHERE seq = 60")
    pm_store("copy", one, two)
    copy: Any = database_at(two).study("pricing")
    assert [own["seq"] for own in copy.snapshots(90)] == [40, 80]
    assert copy.latest() == study.latest()
    copy._handle.close()
    assert "90 events; replayed, all is equal." in pm_store("check", two)


def test_damage_is_found(address: Address) -> None:
    where = address()
    learner = learner_at(where)
    play(learner, 5)
    handle = learner._storage._handle  # type: ignore[attr-defined]
    body = json.dumps(
        {key: x for key, x in learner.events[2].items() if key not in ("seq", "kind")}
    )
    wrong = re.sub(r'"probability": [0-9.e-]+', '"probability": 0.123', body)
    for sql, values, said in (
        ("UPDATE pm_event SET body = ? WHERE seq = 3", (wrong,), "event 3 has .* 0.123, computed"),
        ("UPDATE pm_event SET body = '[1]' WHERE seq = 3", (), "event 3 is damaged"),
        ("DELETE FROM pm_event WHERE seq = 4", (), "event 4 is missing"),
        ("UPDATE pm_study SET spec = '{}'", (), "what plays in study 'pricing' cannot be read"),
    ):
        with handle.transaction():
            handle.run("UPDATE pm_event SET body = ? WHERE seq = 3", (body,))
            handle.run(sql, values)
        found = pm_store("check", where, code=1)
        assert re.search(said, found), found


# -- files -----------------------------------------------------------------------------------------

SECOND = "import sys, partial_monitoring as pm; pm.Learner(storage=sys.argv[1], name='pricing')"


def test_one_process_writes_to_a_file(tmp_path: Path) -> None:
    where = f"sqlite:///{tmp_path}/shop.db"
    learner = learner_at(where)
    command = [sys.executable, "-c", SECOND, where]
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True)
    assert f"in use by process {os.getpid()}; one process" in done.stderr.splitlines()[-1]
    sqlite.opened(where).announce("http://here:1")
    said = rf"by process {os.getpid()}, which can be reached at http://here:1; one process"
    with pytest.raises(StorageError, match=said):
        sqlite.Sqlite(where)
    assert "replayed" in pm_store("check", where)  # others may read
    if (child := os.fork()) == 0:
        try:
            learner.ask()
        except StorageError as error:
            os._exit(0 if "of which this one is a fork" in str(error) else 1)
        os._exit(2)
    assert os.waitpid(child, 0)[1] == 0
    play(learner, 2)
    learner._storage._database.close()  # type: ignore[attr-defined]
    with pytest.raises(StorageError, match="closed"):
        learner.ask()
    assert learner_at(where).round == 3


def test_files_that_cannot_be_used_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "notes.db").write_text("notes " * 1000)
    with sqlite3.connect(tmp_path / "other.db") as other:
        other.execute("CREATE TABLE pm_meta (x)")
    other.close()
    for name, said in (
        ("notes.db", "file is not a database"),
        ("none/x.db", "cannot be opened: No such file or directory"),
        ("other.db", r"has tables \['pm_meta'\] that are not those of studies"),
    ):
        with pytest.raises(StorageError, match=rf"{name}: {said}\.$"):
            learner_at(f"sqlite:///{tmp_path}/{name}")
    (tmp_path / "folder.db").mkdir()
    with pytest.raises(StorageError, match=r"folder\.db: .*\.$"):
        learner_at(f"sqlite:///{tmp_path}/folder.db")
    mounts = tmp_path / "mounts"
    mounts.write_text(f"1 0 0:1 / / rw - ext4 x rw\n2 1 0:2 / {tmp_path} rw - nfs4 s:/x rw\n")
    monkeypatch.setattr(owner, "MOUNTS", mounts)
    with pytest.raises(StorageError, match=r"is on a network file system \(nfs4\), .*\.$"):
        learner_at(f"sqlite:///{tmp_path}/shop.db")


def test_a_full_disk_loses_nothing(tmp_path: Path) -> None:
    where = f"sqlite:///{tmp_path}/shop.db"
    learner = learner_at(where)
    own = sqlite.opened(where).handle._own
    [(pages,)] = own.execute("PRAGMA page_count").fetchall()
    own.execute(f"PRAGMA max_page_count = {pages + 3}")
    with pytest.raises(StorageError, match=r"shop\.db: database or disk is full\.$"):
        play(learner, 1000)
    before = learner.events
    assert learner._session.seq == len(before) > 10
    own.execute("PRAGMA max_page_count = 100000")
    play(learner, 10)
    assert learner.events[: len(before)] == before
    assert "replayed, all is equal" in pm_store("check", where)


def test_commits_wait_for_the_disk(tmp_path: Path) -> None:
    learner_at(f"sqlite:///{tmp_path}/shop.db")
    for option, level in (("", 2), ("?synchronous=full", 2), ("?synchronous=normal", 1)):
        database = sqlite.Sqlite(f"sqlite:///{tmp_path}/{level}{len(option)}.db{option}")
        assert database.handle.rows("PRAGMA synchronous") == [(level,)]
        assert database.handle.rows("PRAGMA journal_mode") == [("wal",)]


# -- PostgreSQL ------------------------------------------------------------------------------------


def test_a_password_is_never_shown() -> None:
    where = "postgresql://anna:secret@no.such.host.invalid:5/shop?password=secret&user=x"
    assert postgres.shown(where) == "postgresql://no.such.host.invalid:5/shop"


def test_psycopg_is_needed_for_its_addresses_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(StorageError, match=r"needs psycopg; in a clone, install it with pip"):
        learner_at("postgresql://host/shop")


def test_a_database_that_was_away_is_found_again(cluster: Cluster) -> None:
    learner = learner_at(cluster.new("away"))
    play(learner, 3)
    cluster.stop()
    try:
        with pytest.raises(PartialMonitoringError, match=r"^postgresql:///postgres: .*\.$"):
            learner.ask()
    finally:
        cluster.start()
    play(learner, 3)
    cluster.stop()
    cluster.start()
    play(learner, 3)  # the connection was lost before the turn
    assert [event["seq"] for event in learner.events] == list(range(1, 19))


def test_a_connection_lost_in_a_turn_leaves_nothing(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    learner = learner_at(cluster.new("lost"))
    play(learner, 3)
    study: Any = learner._storage
    other = database_at(study._database.given).handle
    append = study.append

    def cut(events: Any) -> None:
        [(process,)] = study._handle.rows("SELECT pg_backend_pid()")
        other.rows("SELECT pg_terminate_backend(?)", (process,))
        append(events)

    monkeypatch.setattr(study, "append", cut)
    for _ in range(2):
        with pytest.raises(StorageError, match=r"^postgresql:///postgres: .*\.$"):
            learner.ask()
    monkeypatch.undo()
    assert learner._session.seq == 6
    play(learner, 1)
    assert [event["seq"] for event in learner.events] == list(range(1, 9))


def test_who_waits_too_long_is_told_so(cluster: Cluster) -> None:
    where = f"{cluster.new('waits')}%20-clock_timeout%3D100"
    one, two = learner_at(where), learner_at(where)
    said = pytest.raises(StorageError, match=r"another process holds the study for too long; try")
    with one._storage.turn(), said:  # type: ignore[attr-defined]
        two.ask()
    assert play(one, 1) + play(two, 1) == play(pm.Learner("dynamic_pricing", seed=1), 2)
