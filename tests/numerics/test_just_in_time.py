"""What is compiled is kept, and a terminal says what it is waiting for."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from partial_monitoring.cli import warm
from partial_monitoring.numerics.compiled import frontier, just_in_time, linear

CALL = """
import sys
import numpy as np
from partial_monitoring.numerics.compiled.ratio import spread_rows
one = np.zeros(1, np.int64)
spread_rows(one, one, np.zeros(1), 2)
"""


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


def compilation(module: str) -> Any:
    """What Numba says when it compiles a function of a module."""
    function = SimpleNamespace(py_func=SimpleNamespace(__module__=module))
    return SimpleNamespace(data={"dispatcher": function})


OURS = compilation("partial_monitoring.numerics.compiled.ratio")


def test_a_line_appears_once_while_functions_are_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal, notice = Terminal(), just_in_time.Notice()
    monkeypatch.setattr(sys, "stderr", terminal)
    notice.on_start(OURS)
    notice.on_start(OURS)  # one that the first one calls
    assert terminal.getvalue() == notice.text
    notice.on_end(OURS)
    assert terminal.getvalue() == notice.text
    notice.on_end(OURS)
    assert terminal.getvalue().endswith("\r" + " " * len(notice.text) + "\r")
    assert notice.compiled == 2


def test_the_functions_of_others_are_not_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal, notice = Terminal(), just_in_time.Notice()
    monkeypatch.setattr(sys, "stderr", terminal)
    for module in ("numba.np.arrayobj", "partial_monitoring_plus", "__main__"):
        notice.on_start(compilation(module))
        notice.on_end(compilation(module))
    assert terminal.getvalue() == ""
    assert notice.compiled == 0


def test_no_line_in_a_file_or_a_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    notice = just_in_time.Notice()
    for stream, parent in ((StringIO(), None), (Terminal(), object())):
        monkeypatch.setattr(sys, "stderr", stream)
        monkeypatch.setattr(just_in_time, "parent_process", lambda parent=parent: parent)
        notice.on_start(OURS)
        notice.on_end(OURS)
        assert stream.getvalue() == ""


def said(folder: Path, *, terminal: bool) -> str:
    """What a process that needs one compiled function writes to standard error."""
    environment = os.environ | {"NUMBA_CACHE_DIR": str(folder)}
    if not terminal:
        command = [sys.executable, "-c", CALL]
        run = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
        return run.stderr
    ours, theirs = pytest.importorskip("pty").openpty()
    subprocess.run([sys.executable, "-c", CALL], env=environment, check=True, stderr=theirs)
    os.write(theirs, b"$")  # so that there is something to read
    os.close(theirs)
    return os.read(ours, 10_000).decode().removesuffix("$")


def test_only_the_first_process_says_that_it_compiles(tmp_path: Path) -> None:
    text = just_in_time.Notice().text
    assert said(tmp_path / "other", terminal=False) == ""
    assert said(tmp_path, terminal=True) == text + "\r" + " " * len(text) + "\r"
    assert said(tmp_path, terminal=True) == ""


def test_functions_work_if_no_folder_keeps_them(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise RuntimeError("cannot cache function: no locator available")

    monkeypatch.setattr(just_in_time, "Cache", refuse)
    doubled = just_in_time.compiled(lambda x: 2.0 * x)
    assert doubled(2.0) == 4.0
    assert not just_in_time.is_kept(doubled)
    assert just_in_time.is_kept(linear.update)


READ_ONLY = """
import numpy as np
from numba import njit
from partial_monitoring.numerics.compiled import just_in_time, linear, ratio

one = np.zeros(1, np.int64)
ratio.spread_rows(one, one, np.zeros(1), 2)
assert not just_in_time.is_kept(linear.update)
try:
    njit(cache=True)(linear.update.py_func)
except RuntimeError as error:
    print(error)
"""


def test_an_installation_without_any_folder_to_write_to_works(tmp_path: Path) -> None:
    """Not even root can write below /proc, or into folders that are files."""
    package = Path(just_in_time.__file__).parents[2]
    copied = tmp_path / "partial_monitoring"
    shutil.copytree(package, copied, ignore=shutil.ignore_patterns("__pycache__"))
    for folder in [copied, *(path for path in copied.rglob("*") if path.is_dir())]:
        (folder / "__pycache__").touch()
    unset = ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME", "PYTHONPATH")
    environment = {name: text for name, text in os.environ.items() if name not in unset}
    environment |= {"PYTHONPATH": str(tmp_path), "HOME": "/proc/x", "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-c", READ_ONLY]
    run = subprocess.run(command, env=environment, check=False, capture_output=True, text=True)
    assert run.stderr == ""
    assert "no locator available" in run.stdout  # what Numba itself says there


@pytest.mark.parametrize("ending", ["nbi", "nbc"])
@pytest.mark.parametrize("content", [b"", b"damaged"])
def test_a_damaged_cache_is_compiled_again(ending: str, content: bytes, tmp_path: Path) -> None:
    said(tmp_path, terminal=False)
    files = list(tmp_path.rglob(f"*.{ending}"))
    assert files
    whole = {path: path.read_bytes() for path in files}
    for path in files:
        path.write_bytes(content)
    assert said(tmp_path, terminal=False) == ""
    assert all(len(path.read_bytes()) > len(content) for path in whole)


def test_a_full_disk_only_keeps_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(just_in_time.FunctionCache, "save_overload", fail)
    doubled = just_in_time.compiled(twice)
    assert doubled(2.0) == 4.0


def twice(x: float) -> float:
    return 2.0 * x


def test_nothing_is_warmed_if_no_folder_keeps_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(warm, "is_kept", lambda _: False)
    monkeypatch.setattr(warm, "games", lambda: pytest.fail("played"))
    warm.main()
    assert "NUMBA_CACHE_DIR" in capsys.readouterr().out


def test_warming_plays_what_can_be_played(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(warm, "games", lambda: {"pricing": warm.GAMES["dynamic_pricing"]})
    warm.main()
    assert capsys.readouterr().out.startswith("Functions compiled for this machine: ")


def test_orders_are_stable_with_nan_last() -> None:
    rng = np.random.default_rng(0)
    for size in (0, 1, 2, 3, 17, 100):
        keys = rng.integers(0, 5, size) / 1.0
        keys[rng.random(size) < 0.2] = np.nan
        expected = np.argsort(keys, kind="stable")
        assert frontier.stable_order(keys).tolist() == expected.tolist()
