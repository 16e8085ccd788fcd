"""Logs in files: lines that are there or not, torn ends, several writers, and lost processes."""

from __future__ import annotations

import json
import os
import pickle
import random
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput
from partial_monitoring.learner import snapshots
from partial_monitoring.storage import file as module
from partial_monitoring.storage.base import Event

ROOT = Path(__file__).parents[2]


def events(first: int, last: int, word: str = "x") -> list[Event]:
    return [{"seq": seq, "kind": "tell", "observation": word} for seq in range(first, last + 1)]


@settings(max_examples=60, deadline=None)
@given(
    batches=st.lists(st.tuples(st.integers(1, 5), st.integers(0, 120)), max_size=12),
    chunk=st.integers(1, 200),
)
def test_events_are_found_from_any_number_on(
    batches: list[tuple[int, int]], chunk: int, tmp_path_factory: Any
) -> None:
    """By bisection over lines of any length, as by reading all of them."""
    log = pm.LogFile(tmp_path_factory.mktemp("log") / "log.ndjson")
    appended: list[Event] = []
    for count, length in batches:
        appended += events(len(appended) + 1, len(appended) + count, "é" * length)
        log.append(appended[-count:])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "CHUNK", chunk)
        again = pm.LogFile(log.path)
        for seq in range(len(appended) + 2):
            assert list(again.after(seq)) == list(log.after(seq)) == appended[seq:]


def test_a_line_is_what_was_appended_at_once(tmp_path: Path) -> None:
    learner = pm.Learner("dynamic_pricing", storage=tmp_path / "log.ndjson")
    learner.tell(learner.ask(), "yes")
    learner.ask(count=3)
    lines = [json.loads(line) for line in (tmp_path / "log.ndjson").read_text().splitlines()]
    assert [line["kind"] for line in lines[:2]] == ["ask", "tell"]
    assert [event["seq"] for event in lines[2]] == [3, 4, 5]
    assert learner.history[0]["observation"] == "yes"


def test_every_torn_end_is_cut_with_a_warning(tmp_path: Path) -> None:
    path = tmp_path / "log.ndjson"
    learner = pm.Learner("dynamic_pricing", seed=3, storage=path)
    for _ in range(3):
        learner.tell(learner.ask(), "yes")
    learner.ask(count=2)
    whole, kept = path.read_bytes(), learner.events
    ends = [place + 1 for place, byte in enumerate(whole) if byte == 10]
    for size in sorted({*ends, *random.Random(1).sample(range(len(whole)), 20), 0, 1, 12}):
        path.write_bytes(whole[:size])
        complete = max([0, *(end for end in ends if end <= size)])
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            again = pm.Learner("dynamic_pricing", seed=3, storage=path)
        assert [str(own.message) for own in found] == [
            f"{path}: the last line is incomplete, as after a crash; its {size - complete} bytes "
            f"are cut."
        ] * (size > complete)
        assert path.read_bytes() == whole[:complete]
        assert again.events == kept[: len(again.events)]
        assert len(again.events) in (0, 1, 2, 3, 4, 5, 6, 8)  # a batch is there or not


def test_what_is_no_log_is_refused_and_left_alone(tmp_path: Path) -> None:
    for content in (b"notes", b"notes\n", b"[1, 2]\n", b'{"seq": 2, "kind": "ask"}\n', b"\0" * 99):
        (tmp_path / "file").write_bytes(content)
        with pytest.raises(InvalidInput, match=r"file: is not the log of a learner\.$"):
            pm.Learner("dynamic_pricing", storage=tmp_path / "file")
        assert (tmp_path / "file").read_bytes() == content
    (tmp_path / "file").write_bytes(b'{"seq": 1, "kind": "ask"}\nnotes\n')
    with pytest.raises(InvalidInput, match=r"has a line that is no event: 'notes\\n'\.$"):
        pm.Learner("dynamic_pricing", storage=tmp_path / "file")
    for path in (tmp_path, tmp_path / "none" / "log.ndjson"):
        with pytest.raises(InvalidInput, match=r"cannot be opened: .*\.$"):
            pm.Learner("dynamic_pricing", storage=path)
    with pytest.raises(InvalidInput, match=r"^name must be given with the address of a database"):
        pm.Learner("dynamic_pricing", storage="sqlite:///x")


def test_learners_take_turns_with_one_file(tmp_path: Path) -> None:
    """One that does not know the latest events is refused once, and knows them then."""
    path = tmp_path / "log.ndjson"
    one, two = (pm.Learner("dynamic_pricing", seed=1, storage=path) for _ in range(2))
    one.tell(one.ask(), "yes")
    with pytest.raises(InvalidInput, match=r"has appended events up to number 2; .* try again\.$"):
        two.ask()
    assert two.round == 2
    two.tell(two.ask(), "no")
    with pytest.raises(InvalidInput, match="try again"):
        one.ask()
    expected = pm.Learner.replay("dynamic_pricing", None, 1, two.events).ask()
    assert one.ask().action == expected.action
    copy = pickle.loads(pickle.dumps(one))
    copy.ask()
    with pytest.raises(InvalidInput, match="try again"):
        one.ask()
    assert [event["seq"] for event in one.events] == list(range(1, 7))


def test_a_failed_write_leaves_the_file_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "log.ndjson"
    learner = pm.Learner("dynamic_pricing", storage=pm.LogFile(path, sync=True))
    learner.ask()
    before = path.read_bytes()

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InvalidInput, match=r"cannot be written: No space left on device\.$"):
        learner.ask()
    monkeypatch.undo()
    assert path.read_bytes() == before
    learner.ask()
    assert [event["seq"] for event in learner.events] == [1, 2]
    path.unlink()
    with pytest.raises(InvalidInput, match=r"cannot be written: No such file"):
        learner.ask()


# -- snapshots beside it -----------------------------------------------------------------------


def played(path: Path, rounds: int, seed: int = 0) -> pm.Learner:
    learner = pm.Learner("dynamic_pricing", seed=seed, storage=path)
    for t in range(rounds):
        learner.tell(learner.ask(), "yes" if t % 3 else "no")
    return learner


def state_of(learner: pm.Learner) -> Any:
    return snapshots.steps.snapshot(learner._spec, learner._session)


def test_a_learner_is_opened_from_a_snapshot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is the learner that all its events make, but only the latest of them are folded."""
    monkeypatch.setattr(snapshots, "EVERY", 50)
    path = tmp_path / "log.ndjson"
    expected, folded = state_of(played(path, 60)), []
    own = snapshots.steps.fold

    def counted(*args: Any) -> Any:
        folded.append(1)
        return own(*args)

    monkeypatch.setattr(snapshots.steps, "fold", counted)
    beside = tmp_path / "log.ndjson.snapshot"
    text = beside.read_text()
    assert state_of(pm.Learner("dynamic_pricing", storage=path)) == expected
    assert len(folded) == 20
    for change in (  # ignored: the events are enough
        lambda: beside.write_text(text.replace("100", "101", 1)),
        lambda: beside.write_text("{"),
        lambda: beside.write_text("[]"),
        beside.unlink,
    ):
        change()
        folded.clear()
        assert state_of(pm.Learner("dynamic_pricing", storage=path)) == expected
        assert len(folded) == 120
    beside.write_text(text)
    folded.clear()
    pm.Learner("dynamic_pricing", seed=5, storage=path)  # another seed
    assert len(folded) == 120
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:80]))
    assert pm.Learner("dynamic_pricing", storage=path).round == 41  # the snapshot is ahead of it


def test_a_snapshot_that_cannot_be_kept_does_no_harm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshots, "EVERY", 2)
    (tmp_path / "log.ndjson.snapshot").mkdir()
    learner = played(tmp_path / "log.ndjson", 3)
    assert pm.Learner("dynamic_pricing", storage=tmp_path / "log.ndjson").round == learner.round


# -- crashes -----------------------------------------------------------------------------------

APPENDING = """
import sys
import partial_monitoring as pm
from partial_monitoring.learner import snapshots
snapshots.EVERY = 16
learner = pm.Learner("dynamic_pricing", pm.Greedy(), seed=1, storage="log.ndjson")
print("ready", flush=True)
while True:
    for decision in learner.ask(count=3):
        print("asked", decision.id, flush=True)
        learner.tell(decision, "yes")
        print("told", decision.id, flush=True)
"""


def test_what_was_acknowledged_survives_kill_9(tmp_path: Path) -> None:
    """Nothing lost, nothing twice, a gapless log, over several lives of one learner."""
    rng, acknowledged = random.Random(0), []
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
    for _ in range(3):
        with subprocess.Popen(
            [sys.executable, "-c", APPENDING],
            cwd=tmp_path,
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
        ) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            said = [process.stdout.readline() for _ in range(rng.randrange(60, 120))]
            process.kill()
            said += process.stdout.read().splitlines(keepends=True)
        acknowledged += [line.split() for line in said if line.endswith("\n")]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a torn line
        learner = pm.Learner(
            "dynamic_pricing", pm.Greedy(), seed=1, storage=tmp_path / "log.ndjson"
        )
    kept = learner.events
    assert [event["seq"] for event in kept] == list(range(1, len(kept) + 1))
    for kind, word in (("ask", "asked"), ("tell", "told")):
        names = [event["decision"] for event in kept if event["kind"] == kind]
        assert len(set(names)) == len(names)
        assert {name for said, name in acknowledged if said == word} <= set(names)
    assert len(acknowledged) > 100
    again = pm.Learner.replay("dynamic_pricing", pm.Greedy(), 1, kept, check=True)
    assert state_of(again) == state_of(learner)
