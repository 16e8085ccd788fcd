"""All attacks survive: a sample of them always, the whole list in ``make attacks``."""

from __future__ import annotations

import os
import subprocess
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from partial_monitoring.errors import InvalidInput
from tests.attacks import calls, functions, judge, pages
from tests.attacks.areas import AREAS, attack
from tests.attacks.judge import ANSWERED, FAILED, REFUSED, Attack, Count, Wrong

pytest.importorskip("resource")  # POSIX
pytest.importorskip("pandas")

SEED = int(os.environ.get("ATTACKS_SEED", "0"))

SAMPLE = {
    "functions": 100,
    "options": 40,
    "learners": 40,
    "extremes": 30,
    "labels": 30,
    "files": 40,
    "tampered": 10,
    "commands": 10,
    "threads": 1,
}
"""Attacks that every change is tested with, by area."""


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Attacks write, and some of what they write has odd names."""
    monkeypatch.chdir(tmp_path)


def check(count: Count, record: Callable[[str, object], None]) -> None:
    record("attacks", count.row)
    lines = [f"{failure.name}: {failure.reason}" for failure in count.failures]
    assert not lines, "\n".join([f"{len(lines)} of {count.row[1]} attacks failed:", *lines[:50]])


@pytest.mark.parametrize("area", SAMPLE)
def test_a_sample_survives(area: str, record_property: Any) -> None:
    check(attack(area, SEED, SAMPLE[area]), record_property)


@pytest.mark.nightly
@pytest.mark.parametrize("area", AREAS)
def test_all_survive(area: str, record_property: Any) -> None:
    check(attack(area, SEED), record_property)


def test_every_public_function_is_attacked() -> None:
    found = calls.calls()
    assert calls.ARGUMENTS.keys() <= found.keys()
    plain = [a for a in functions.attacks(SEED) if a.name.endswith(": as it should be")]
    assert len(plain) == len(found)
    skip = "Result.load"  # of a file that is not there
    failed = [v for v in map(judge.judge, plain) if v.kind != ANSWERED]
    assert [f"{v.name}: {v.reason}" for v in failed if not v.name.startswith(skip)] == []


# -- the judge -------------------------------------------------------------------------------


def refuse(message: str) -> Callable[[], None]:
    def call() -> None:
        raise InvalidInput(message)

    return call


def warn() -> int:
    warnings.warn("overflow", RuntimeWarning, stacklevel=1)
    return 3


def crash() -> None:
    raise KeyError("x")


def err() -> None:
    raise Wrong("2 + 2 = 5")


VERDICTS: dict[str, tuple[Callable[[], object], str]] = {
    "an answer": (lambda: 3.0, ANSWERED),
    "a sentence": (refuse("x must be positive; got -1."), REFUSED),
    "no sentence": (refuse("x"), FAILED),
    "a long message": (refuse("x" * 501 + "."), FAILED),
    "a warning": (warn, FAILED),
    "nan": (lambda: float("nan"), FAILED),
    "a colour": (lambda: "\x1b[31mred", FAILED),
    "another error": (crash, FAILED),
    "a wrong answer": (err, FAILED),
    "too much memory": (lambda: bytearray(1 << 40), FAILED),
}


@pytest.mark.parametrize("case", VERDICTS.values(), ids=VERDICTS.keys())
def test_the_judge_knows(case: tuple[Callable[[], object], str]) -> None:
    assert judge.judge(Attack("case", case[0])).kind == case[1]


def test_a_refusal_changes_nothing() -> None:
    counter: Iterator[int] = iter(range(9))
    verdict = judge.judge(Attack("case", refuse("No."), lambda: next(counter)))
    assert (verdict.kind, verdict.reason) == (FAILED, "refused, but something changed")


def test_what_hangs_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judge, "SECONDS", 1)
    verdict = judge.judge(Attack("case", lambda: time.sleep(30)))
    assert verdict.reason == "hangs: more than 1 s"


def test_browsers_have_more_memory_than_attacks() -> None:
    def limit() -> str:
        return subprocess.run(["sh", "-c", "ulimit -v"], capture_output=True, text=True).stdout

    before = limit()
    with judge.limits():
        assert limit() != before
        with judge.whole_memory():
            assert limit() == before
        assert limit() != before


@pytest.mark.parametrize(("place", "name"), [("policy", "=1+1"), ("game", "</script>")])
def test_pages_are_attacked(place: str, name: str) -> None:
    pytest.importorskip("plotly")
    pytest.importorskip("jinja2")
    pages.check_page(place, name)
