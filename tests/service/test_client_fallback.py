"""A shop does not stand still because its learner does: fallbacks, the outbox, the breaker."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import partial_monitoring as pm
from partial_monitoring.learner.remote import breaker, outbox
from tests.service import fake as faults
from tests.service.fake import TOKEN, Fake, served

AWAY, REFUSED = pm.errors.StorageError, pm.errors.InvalidInput


@pytest.fixture
def fake() -> Iterator[Fake]:
    with served() as own:
        yield own


@pytest.fixture(autouse=True)
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(breaker, "PAUSE", 0.2)


def again(old: Fake, port: int) -> Any:
    """Return the same study, served at the same port."""
    context = served(old.learner, port)
    own = context.__enter__()
    own.by_key, own.rows, own.told = old.by_key, old.rows, old.told
    return context, own


def test_a_fallback_is_told_when_the_service_is_back(fake: Fake) -> None:
    client: Any = fake.client()
    client.tell(client.ask(), "yes")
    port = fake.server_port
    fake.kill()
    decisions = [client.ask(timeout=0.2, fallback="$2") for _ in range(5)]
    assert all(own.fallback and own.label == "$2" for own in decisions)
    assert len({own.id for own in decisions}) == 5
    assert "this is the fallback" in str(decisions[0])
    assert decisions[0].to_dict()["probability"] == 1.0
    for own in decisions[:3]:
        client.tell(own.id, "yes", action="$2")
    client.tell(decisions[3], None)  # no answer: nothing to learn from
    client.cancel(decisions[4])
    client.tell(decisions[0], "yes")  # again, in another way
    with pytest.raises(REFUSED, match="action must be"):
        client.tell(decisions[4], "yes", action="$3")
    with pytest.raises(REFUSED, match="amended"):
        client.amend(decisions[0], "no")
    context, back = again(fake, port)
    assert not client.ask().fallback
    assert client.flush() == 0
    assert [row["observation"] for row in back.learner.history[2:]] == ["yes"] * 3
    assert back.learner.round == 5
    assert client.refused == []
    context.__exit__(None, None, None)


def test_an_id_that_was_changed_is_refused(fake: Fake) -> None:
    """Whoever carries the id of a fallback cannot tell something of another action."""
    client: Any = fake.client()
    fake.always = faults.refusing(503)
    name = client.ask(timeout=0.2, fallback="$2").id
    for bad in (name[:-4] + "AAAA", name[:20], "fallback.", "fallback.é", name + "x"):
        with pytest.raises(REFUSED, match="decision must be one of this study"):
            client.tell(bad, "yes")
    other = pm.Learner(storage=fake.address, name="other", token=TOKEN)
    with pytest.raises(REFUSED, match="decision must be one of this study"):
        other.tell(name, "yes")


def test_a_lost_ask_is_taken_back(fake: Fake) -> None:
    """It was made, but nobody knows its id: it must not stay open for ever."""
    client: Any = fake.client()
    fake.faults += [faults.lost, *[faults.hang_up] * 50]
    assert client.ask(timeout=0.3, fallback="$2").fallback
    assert len(fake.learner.open) == 1
    fake.faults.clear()
    decision = client.ask()
    assert [own.id for own in fake.learner.open] == [decision.id]
    fake.faults += [faults.lost, *[faults.hang_up] * 50]
    assert client.ask(timeout=0.3, fallback="$2", key="customer-7").fallback
    fake.faults.clear()
    assert client.ask(key="customer-7").repeated
    assert len(fake.learner.open) == 2


def test_after_failures_it_answers_at_once(fake: Fake) -> None:
    client: Any = fake.client()
    fake.always = faults.slow(0.5)
    for _ in range(breaker.FAILURES):
        client.ask(timeout=0.1, fallback="$2")
    before, start = len(fake.seen), time.monotonic()
    for _ in range(100):
        assert client.ask(timeout=5, fallback="$2").fallback
    assert time.monotonic() - start < 0.2
    assert len(fake.seen) == before
    fake.always = None
    time.sleep(0.6)
    assert not client.ask(timeout=5, fallback="$2").fallback
    assert not client.ask(timeout=5, fallback="$2").fallback


def test_only_one_caller_tries_whether_it_is_back() -> None:
    own = breaker.Breaker()
    for _ in range(breaker.FAILURES):
        assert not own.is_open
        own.failed()
    assert own.is_open
    time.sleep(0.3)
    assert [own.is_open for _ in range(3)] == [False, True, True]
    own.succeeded()
    assert not own.is_open


def test_tells_raise_without_an_outbox_and_wait_in_one(fake: Fake, tmp_path: Path) -> None:
    plain: Any = fake.client()
    keeping: Any = fake.client(outbox=tmp_path / "answers.ndjson")
    decisions = plain.ask(count=6)
    port = fake.server_port
    fake.kill()
    with pytest.raises(AWAY, match="cannot be used now"):
        plain.tell(decisions[0], "yes", timeout=0.2)
    keeping.tell(decisions[0], "yes", timeout=0.2)
    start = time.monotonic()
    for own in decisions[1:4]:
        keeping.tell(own, "no")
    assert time.monotonic() - start < 3.5
    keeping.tell([own.id for own in decisions[4:]], ["yes", "maybe"], timeout=0.2)
    assert keeping.flush(timeout=0.1) == 6
    del keeping
    path = tmp_path / "answers.ndjson"
    assert (path.stat().st_mode & 0o777) == 0o600
    assert TOKEN not in path.read_text()
    with path.open("a") as file:
        file.write('{"verb": "tell", "row": {"decis')  # and the process was killed
    context, back = again(fake, port)
    keeping = back.client(outbox=path)
    with pytest.raises(REFUSED, match="of study"):
        pm.Learner(storage=back.address, name="other", token=TOKEN, outbox=path)
    keeping.tell(keeping.ask(), "yes")
    assert keeping.flush() == 0
    assert path.read_bytes() == b""
    told = [row["observation"] for row in back.learner.history]
    assert told == ["yes", "no", "no", "no", "yes", None, "yes"]
    told = [event["decision"] for event in back.learner.events if event["kind"] == "tell"]
    assert told[:5] == [own.id for own in decisions[:5]]
    assert len(keeping.refused) == 1
    assert "maybe" in keeping.refused[0]
    context.__exit__(None, None, None)


def test_what_was_sent_before_a_crash_counts_once(fake: Fake, tmp_path: Path) -> None:
    client: Any = fake.client(outbox=tmp_path / "box")
    decision = client.ask()
    fake.always = faults.hang_up
    client.tell(decision, "yes", timeout=0.1)
    fallback = client.ask(timeout=0.1, fallback="$2")
    client.tell(fallback, "no", timeout=0.1)
    kept = (tmp_path / "box").read_bytes()
    fake.always = None
    assert client.flush() == 0
    (tmp_path / "box").write_bytes(kept)  # as if it had died before it could take them out
    assert client.flush() == 0
    assert fake.learner.round == 3


def test_processes_share_an_outbox(fake: Fake, tmp_path: Path) -> None:
    code = """
import sys
from partial_monitoring.learner.remote.outbox import InFile
box = InFile("box", "pricing")
for number in range(50):
    row = {"action": "$2", "observation": "yes", "key": f"{sys.argv[1]}-{number}"}
    box.put([{"verb": "history", "row": row}])
"""
    env = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", code]
    own = [subprocess.Popen([*command, name], cwd=tmp_path, env=env) for name in "ab"]
    assert [one.wait(60) for one in own] == [0, 0]
    clients: list[Any] = [fake.client(outbox=tmp_path / "box") for _ in range(2)]
    threads = [threading.Thread(target=own.flush) for own in clients]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert clients[0].flush() == 0
    assert fake.learner.round == 101


def test_memory_is_bounded(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outbox, "MOST", 3)
    client: Any = fake.client()
    fake.always = faults.refusing(429, Retry_After="1")
    for _ in range(3):
        client.tell(client.ask(timeout=0.1, fallback="$2"), "yes", timeout=0.1)
    fake.always = faults.hang_up
    time.sleep(0.3)
    assert client.ask(timeout=0.1, fallback="$2").fallback  # though nothing can be kept
    with pytest.raises(AWAY, match="wait to be sent already"):
        client.tell(client.ask(timeout=0.1, fallback="$2"), "yes", timeout=0.1)


def test_a_fallback_that_is_refused_holds_up_no_other(fake: Fake) -> None:
    client: Any = fake.client()
    fake.always = faults.refusing(503)
    for label in ("$2", "$999", "$3"):
        client.tell(client.ask(timeout=0.1, fallback=label), "yes", timeout=0.1)
    fake.always = None
    assert client.flush() == 0
    assert [row["label"] for row in fake.learner.history] == ["$2", "$3"]
    assert len(client.refused) == 1


def test_several_at_once(fake: Fake) -> None:
    client: Any = fake.client()
    fake.always = faults.refusing(503)
    several = client.ask(count=3, timeout=0.1, fallback="$2")
    assert [own.label for own in several] == ["$2"] * 3
    client.tell(several, ["yes", "no", "yes"], timeout=0.1)
    fake.always = None
    assert client.flush() == 0
    assert client.round == 4
