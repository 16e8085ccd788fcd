"""Disks, folders and files that do not do what they should: one sentence, and nothing is lost."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from partial_monitoring.errors import StorageError
from partial_monitoring.learner import snapshots
from partial_monitoring.storage.opened import database_at
from tests.storage.conftest import Address
from tests.storage.learners import learner_at, play, pm_store
from tests.storage.schemas import first_version

NOBODY = 65534


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that everybody may write to."""
    path = Path(tempfile.mkdtemp(prefix="pm-faults-"))
    path.chmod(0o777)
    yield path
    path.chmod(0o777)
    shutil.rmtree(path)


@contextmanager
def somebody() -> Iterator[None]:
    """Not be root, who may do anything."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


def made(path: Path) -> str:
    """Make a database that belongs to somebody, and close it."""
    where = f"sqlite:///{path}"
    play(learner_at(where), 3)
    database_at(where).close()
    if os.geteuid() == 0:
        for own in path.parent.iterdir():
            shutil.chown(own, NOBODY, NOBODY)
    return where


def test_a_folder_that_can_only_be_read(folder: Path) -> None:
    where = made(folder / "shop.db")
    (folder / "shop.db.lock").unlink()
    folder.chmod(0o555)
    for name in ("shop.db", "new.db"):
        with somebody(), pytest.raises(StorageError, match=r"\.db: cannot be opened: Permission "):
            database_at(f"sqlite:///{folder}/{name}")
    folder.chmod(0o777)
    assert learner_at(where).round == 4


def test_a_file_that_can_only_be_read(folder: Path) -> None:
    where = made(folder / "shop.db")
    (folder / "shop.db").chmod(0o444)
    with somebody(), pytest.raises(StorageError, match=r"shop\.db: cannot be written to, only re"):
        database_at(where)
    with somebody():
        assert database_at(where, writes=False).names() == ["pricing"]
    (folder / "shop.db").chmod(0o000)
    for writes in (True, False):
        with somebody(), pytest.raises(StorageError, match=r"cannot be opened: Permission denied"):
            database_at(where, writes=writes)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to somebody else")
def test_a_file_of_somebody_else(folder: Path) -> None:
    where = made(folder / "shop.db")
    for name in ("shop.db", "shop.db.lock"):
        shutil.chown(folder / name, 0, 0)
    with somebody(), pytest.raises(StorageError, match=r"cannot be opened: Permission denied\.$"):
        database_at(where)
    (folder / "shop.db.lock").unlink()
    with somebody(), pytest.raises(StorageError, match=r"cannot be written to, only read\.$"):
        database_at(where)


def test_a_folder_that_is_not_there(folder: Path) -> None:
    where = f"sqlite:///{folder}/none/shop.db"
    for writes in (True, False):
        with pytest.raises(StorageError, match=r"cannot be opened: No such file or directory\.$"):
            database_at(where, writes=writes)
    assert not (folder / "none").exists()


# -- a disk of its own -----------------------------------------------------------------------------


@pytest.fixture
def disk(folder: Path) -> Iterator[Path]:
    """A disk of a megabyte."""
    path = folder / "disk"
    path.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=1m,mode=777", "none", str(path)]
    try:
        done = subprocess.run(command, capture_output=True, text=True)
        failed = done.stderr.strip() if done.returncode else ""
    except OSError as error:
        failed = str(error)
    if failed:
        pytest.skip(f"no disk can be mounted: {failed}")
    yield path
    subprocess.run(["umount", "-l", str(path)], check=True)


def test_a_file_system_that_can_only_be_read(disk: Path) -> None:
    where = made(disk / "shop.db")
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    for name in ("shop.db", "new.db"):
        with pytest.raises(StorageError, match=r"\.db: cannot be opened: Read-only file system"):
            database_at(f"sqlite:///{disk}/{name}")
    with pytest.raises(StorageError, match=r"SQLite writes beside it, and the folder can only be"):
        database_at(where, writes=False)


def test_a_full_disk_loses_nothing_and_goes_on_by_itself(disk: Path) -> None:
    where, ballast = f"sqlite:///{disk}/shop.db", disk / "ballast"
    learner = learner_at(where)
    play(learner, 10)
    left = os.statvfs(disk)
    ballast.write_bytes(bytes(left.f_bavail * left.f_bsize - 3 * 4096))
    said = r"shop\.db: (database or disk is full|disk I/O error)\.$"
    with pytest.raises(StorageError, match=said):
        play(learner, 1000)
    with pytest.raises(StorageError, match=said):
        learner.ask(count=200)
    assert learner._session.seq == len(learner.events) >= 20
    assert "replayed, all is equal" in pm_store("check", where)  # reads go on
    ballast.unlink()
    play(learner, 3)
    assert "replayed, all is equal" in pm_store("check", where)


def test_no_copy_no_upgrade(disk: Path) -> None:
    where, ballast = f"sqlite:///{disk}/shop.db", disk / "ballast"
    first_version(where)
    left = os.statvfs(disk)
    ballast.write_bytes(bytes(left.f_bavail * left.f_bsize - 15 * 4096))
    with pytest.raises(StorageError, match=r"shop\.db: database or disk is full\.$"):
        learner_at(where)
    assert database_at(where, check=False).schema() == 1
    assert sorted(own.name for own in disk.iterdir() if own.name[:4] != "shop") == ["ballast"]
    assert not (disk / "shop.db.schema-1").exists()
    ballast.unlink()
    assert learner_at(where).round > 1
    assert (disk / "shop.db.schema-1").exists()


# -- snapshots -------------------------------------------------------------------------------------


def test_a_snapshot_with_other_bits_is_not_used(
    address: Address, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshots, "EVERY", 20)
    learner, rng = learner_at(address()), random.Random(1)
    play(learner, 25)
    study: Any = learner._storage
    own = study._handle
    [(seq, text)] = own.rows("SELECT seq, body FROM pm_snapshot ORDER BY seq DESC LIMIT 1")
    assert study.latest()["seq"] == seq == 40
    for _ in range(10):
        place = rng.randrange(len(text))
        other = text[:place] + chr(ord(text[place]) ^ 1 << rng.randrange(5)) + text[place + 1 :]
        other = other.replace("\0", "0")
        with own.transaction():
            own.run("UPDATE pm_snapshot SET body = ? WHERE seq = ?", (other, seq))
        assert study.latest()["seq"] == study.nearest(45)["seq"] == 20
        expected = snapshots.steps.snapshot(learner._spec, learner._session)
        found = snapshots.opened(learner._spec, study)
        assert snapshots.steps.snapshot(learner._spec, found) == expected
