"""Disks that are full, and what must be on them before anybody is answered."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from threading import Thread
from time import monotonic, sleep
from typing import Any

import pytest
from click.testing import CliRunner

from partial_monitoring.cli import main
from partial_monitoring.storage.opened import database_at
from tests.service import crash, load
from tests.service.http_client import Client, Reply

ASK = "/v1/studies/pricing/ask"


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A folder with 3 MB."""
    folder = tmp_path / "small"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(folder)]
    if os.getuid() != 0 or shutil.which("mount") is None:
        pytest.skip("only root can mount a small disk")
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"no disk can be mounted: {done.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def fill(folder: Path) -> None:
    """Leave no room on a disk."""
    with (folder / "filler").open("ab", buffering=0) as out, suppress(OSError):
        while True:
            out.write(bytes(4096))


def test_a_full_disk_is_said_and_waited_for(small: Path, farm: crash.Farm, tmp_path: Path) -> None:
    address = f"sqlite:///{small}/shop.db"
    own = farm.serving(tmp_path, address)
    own.start()
    own.ready()
    client = Client(own.address, own.token)
    client.create("pricing")
    with load.playing([own.address], own.token, count=4) as players:
        players.wait(40)
        for turn in range(2):
            fill(small)
            reply = refused(client, f"large/{turn}")
            assert int(reply.headers["retry-after"]) > 0
            assert "disk is full" in reply.json["detail"]
            assert "Try again with the same key." in reply.json["detail"]
            assert client("GET", "/health/live").status == 200
            for path in ("", "/status", "/decisions", "/events", "/trace", "/alarms"):
                assert client("GET", f"/v1/studies/pricing{path}").status == 200, path
            assert b"\npm_ready " in client("GET", "/metrics").body
            (small / "filler").unlink()
            assert waited(lambda: client("GET", "/health/ready").status == 200)
            players.wait(40)
    assert players.statuses[503] > 0
    players.check(events(address))
    assert not any("large" in event.get("key", "") for event in events(address))
    fill(small)
    begun = monotonic()
    own.signal(signal.SIGTERM)
    assert own.ended() == 0
    assert monotonic() - begun < 10
    players.check(events(address))
    (small / "filler").unlink()
    assert CliRunner().invoke(main, ["store", "check", address]).exit_code == 0


def refused(client: Client, key: str) -> Reply:
    """Ask for what there is no room for, until the server says that it is not ready.

    Small changes may still fit into pages that it has.
    """
    given = {"key": key, "count": 100, "meta": {"note": "x" * 900}}
    end = monotonic() + 15
    while monotonic() < end:
        reply, ready = client("POST", ASK, given), client("GET", "/health/ready")
        assert reply.status == 503
        if ready.status == 503 and b"full" in ready.body:
            return reply
    pytest.fail("the server is ready on a full disk")


def waited(happens: Any, seconds: float = 15.0) -> bool:
    """Whether something happens in time."""
    end = monotonic() + seconds
    while not happens():
        if monotonic() > end:
            return False
        sleep(0.02)
    return True


def events(address: str) -> list[dict[str, Any]]:
    study = database_at(address, writes=False).study("pricing")
    assert study is not None
    return list(study.after())


def refusal(farm: crash.Farm, tmp_path: Path, where: Path) -> str:
    """Return the one sentence with which a server does not start."""
    own = farm.serving(tmp_path, f"sqlite:///{where}/shop.db")
    own.start()
    assert own.ended() == 2, own.printed
    [said] = own.printed.splitlines()
    return said


def test_a_place_that_cannot_be_written_is_refused(
    small: Path, farm: crash.Farm, tmp_path: Path
) -> None:
    fill(small)
    assert re.search(r"shop\.db.*(full|No space).*\.$", refusal(farm, tmp_path, small))
    (small / "filler").unlink()
    subprocess.run(["mount", "-o", "remount,ro", str(small)], check=True)
    assert re.search(r"shop\.db.*[Rr]ead-only.*\.$", refusal(farm, tmp_path, small))
    assert "No such file" in refusal(farm, tmp_path, tmp_path / "nowhere")


# -- power -------------------------------------------------------------------------------------

SENDS = ("write", "writev", "sendto", "sendmsg")

CALL = re.compile(r"^(\d+) +(?:<\.\.\. (\w+) resumed>|(\w+)\()(.*)$")


def test_nobody_is_answered_before_the_disk_has_it(farm: crash.Farm, tmp_path: Path) -> None:
    """By the system calls: write to the log ahead, fdatasync of it, and only then the answer."""
    if shutil.which("strace") is None:
        pytest.skip("strace is not installed")
    own, log = farm.serving(tmp_path, f"sqlite:///{tmp_path}/shop.db"), tmp_path / "calls"
    own.start()
    own.ready()
    Client(own.address, own.token).create("pricing")
    calls = f"trace=pwrite64,fdatasync,{','.join(SENDS)}"
    tracing = subprocess.Popen(
        ["strace", "-f", "-y", "-s", "200000", "-e", calls, "-o", str(log), "-p", str(own.pid)],
        stderr=subprocess.PIPE,
        text=True,
    )
    assert tracing.stderr is not None
    said = tracing.stderr.readline()
    if "attached" not in said:
        tracing.wait()
        pytest.skip(f"strace cannot attach: {said.strip()}")
    found: dict[str, str] = {}

    def play(number: int) -> None:
        caller = load.Caller([own.address], own.token)
        for turn in range(6):
            key = f"key.{number}.{turn}."
            [decision] = caller.surely(ASK, {"key": key})[0]["decisions"]
            found[key] = decision["id"]
        caller.close()

    threads = [Thread(target=play, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    own.signal(signal.SIGTERM)
    assert own.ended() == 0
    tracing.wait(20)
    tracing.stderr.close()
    assert len(found) == 24
    lines = log.read_text().splitlines()
    assert not any("fdatasync" in line and "= -1" in line for line in lines)
    for key, name in found.items():
        written, synced, answered = order(lines, key, name)
        assert written < synced < answered, key


def order(lines: list[str], key: str, name: str) -> tuple[int, int, int]:
    """Return when an event was written, its file was synchronised, and it was answered."""
    written = synced = answered = -1
    syncing: set[str] = set()
    for place, line in enumerate(lines):
        match = CALL.match(line)
        if match is None:
            continue
        thread, ended, begun, rest = match.groups()
        if begun == "pwrite64" and written < 0 and "shop.db-wal>" in rest and key in rest:
            written = place
        elif (begun or ended) == "fdatasync" and written >= 0 and synced < 0:
            if begun and "shop.db-wal>" in rest:
                syncing.add(thread)
            if thread in syncing and "unfinished" not in rest:
                synced = place
        elif begun in SENDS and "socket:" in rest and rf"\"id\":\"{name}\"" in rest:
            answered = place
            break
    assert min(written, synced, answered) >= 0, (key, written, synced, answered)
    return written, synced, answered
