"""Files are written whole or not at all, and read as JSON or refused in one sentence."""

from __future__ import annotations

import os
import re
import signal
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import partial_monitoring as pm
from partial_monitoring import disk
from partial_monitoring.errors import InvalidInput
from partial_monitoring.experiments.store import Store

posix = pytest.mark.skipif(os.name != "posix", reason="needs POSIX")

KILLED = """
import os, pathlib, signal, sys
from partial_monitoring import disk

pathlib.Path.replace = lambda self, target: os.kill(os.getpid(), signal.SIGKILL)
disk.write_text(sys.argv[1], "new")
"""


@posix
def test_a_process_that_dies_before_the_rename_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    done = subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert path.read_text() == "old"
    assert len(list(tmp_path.iterdir())) == 2  # nobody was left to tidy up
    disk.write_text(path, "newer")
    assert path.read_text() == "newer"


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_no_temporary_file_stays_after_an_error(
    error: BaseException, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise error

    path = tmp_path / "file"
    path.write_text("old")
    monkeypatch.setattr(disk.os, "fsync", fail)
    with pytest.raises((InvalidInput, KeyboardInterrupt)) as caught:
        disk.write_text(path, "new")
    assert isinstance(error, KeyboardInterrupt) or str(caught.value) == (
        f"{path}: cannot be written: No space left on device."
    )
    assert [own.name for own in tmp_path.iterdir()] == ["file"]
    assert path.read_text() == "old"


@posix
def test_file_and_folder_are_on_disk_before_the_writer_returns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced, original = [], os.fsync

    def fsync(descriptor: int) -> None:
        synced.append(stat.S_IFMT(os.fstat(descriptor).st_mode))
        original(descriptor)

    monkeypatch.setattr(disk.os, "fsync", fsync)
    disk.write_text(tmp_path / "file", "new")
    assert synced == [stat.S_IFREG, stat.S_IFDIR]


def test_only_one_module_writes_files() -> None:
    source = Path(disk.__file__).parent
    writes = re.compile(r"(?<!disk)\.write_(text|bytes)\(|\bopen\(.*[\"'][wax]b?\+?[\"']")
    found = [path.name for path in source.rglob("*.py") if writes.search(path.read_text("utf-8"))]
    assert found == ["disk.py"]


@posix
def test_a_link_stays_and_what_it_names_is_replaced(tmp_path: Path) -> None:
    target, link = tmp_path / "folder" / "target", tmp_path / "link"
    target.parent.mkdir()
    link.symlink_to(target)
    for content in (b"created", b"replaced"):
        disk.write_bytes(link, content)
        assert link.is_symlink()
        assert target.read_bytes() == content
    assert len(list(tmp_path.rglob("*"))) == 3


@posix
def test_links_in_a_circle_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    with pytest.raises(InvalidInput, match="cannot be written: Too many levels of symbolic links"):
        disk.write_text(tmp_path / "a", "text")
    assert len(list(tmp_path.iterdir())) == 2


@posix
@pytest.mark.parametrize("mode", [0o600, 0o666, 0o755])
def test_a_file_that_is_replaced_keeps_its_mode(mode: int, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    path.chmod(mode)
    disk.write_text(path, "new")
    assert stat.S_IMODE(path.stat().st_mode) == mode


@posix
def test_a_new_file_has_the_usual_mode(tmp_path: Path) -> None:
    disk.write_text(tmp_path / "file", "new")
    (tmp_path / "usual").touch()
    assert (tmp_path / "file").stat().st_mode == (tmp_path / "usual").stat().st_mode


@posix
def test_a_device_is_written_to_and_stays_one() -> None:
    disk.write_text("/dev/null", "nothing")
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)


@posix
@pytest.mark.skipif(os.name == "posix" and os.geteuid() == 0, reason="root may write anywhere")
def test_what_is_write_protected_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "file"
    path.parent.mkdir()
    path.write_text("old")
    path.chmod(0o400)
    with pytest.raises(InvalidInput, match="file: cannot be written: Permission denied"):
        disk.write_text(path, "new")
    path.chmod(0o600)
    path.parent.chmod(0o500)
    with pytest.raises(InvalidInput, match="file: cannot be written: Permission denied"):
        disk.write_text(path, "new")
    path.parent.chmod(0o700)
    assert path.read_text() == "old"


@pytest.mark.parametrize("name", ["file.pkl", "file.PKL", "file.pickle"])
def test_no_file_is_called_a_pickle(name: str, tmp_path: Path) -> None:
    result = pm.simulate("apple_tasting", "greedy", [0.9, 0.1], horizon=3, seeds=1)
    for save in (pm.Learner("apple_tasting").save, result.save):
        with pytest.raises(InvalidInput, match=f"path must not end in '{name[4:]}'; the file is"):
            save(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_every_writer_refuses_a_missing_folder_in_one_sentence(tmp_path: Path) -> None:
    game = pm.games.apple_tasting()
    result = pm.simulate(game, "greedy", [0.9, 0.1], horizon=3, seeds=1)
    path = tmp_path / "none" / "file.json"
    for write in (
        lambda: disk.write_text(path, "text"),
        lambda: disk.write_bytes(path, b"bytes"),
        lambda: pm.save_game(game, path),
        lambda: result.save(path),
    ):
        with pytest.raises(InvalidInput) as caught:
            write()
        assert str(caught.value) == f"{path}: cannot be written: No such file or directory."
    (tmp_path / "taken").write_text("")
    with pytest.raises(InvalidInput, match="taken: cannot be written: File exists"):
        Store(tmp_path / "taken")


@pytest.mark.parametrize(
    ("path", "text", "reason"),
    [
        ("a", "\ud800", "surrogates not allowed"),
        ("", "text", "Is a directory"),
        ("n" * 300, "text", "File name too long"),
    ],
)
def test_what_cannot_be_written_is_refused_in_one_sentence(
    path: str, text: str, reason: str, tmp_path: Path
) -> None:
    with pytest.raises(InvalidInput, match=f"cannot be written: {reason}"):
        disk.write_text(tmp_path / path, text)
    assert not list(tmp_path.iterdir())


def test_a_path_with_a_null_character_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"path must be the name of a file; got 'a\\x00b'"):
        disk.write_text("a\0b", "text")


def test_a_long_name_can_be_written(tmp_path: Path) -> None:
    disk.write_text(tmp_path / ("ä" * 127), "text")
    assert [path.read_text() for path in tmp_path.iterdir()] == ["text"]


def test_json_is_read_or_refused(tmp_path: Path) -> None:
    path = tmp_path / "file"
    disk.write_text(path, '{"a": [1, "ä"]}')
    assert disk.read_json(path) == {"a": [1, "ä"]}
    with pytest.raises(InvalidInput, match="none: cannot be read: No such file or directory"):
        disk.read_json(tmp_path / "none")
    for content in (b"", b"{", b"\xff", b"[" * 100_000):
        path.write_bytes(content)
        with pytest.raises(InvalidInput, match="file: is not JSON: "):
            disk.read_json(path)
    with pytest.raises(InvalidInput, match="path must be the name of a file; got 5"):
        disk.read_json(5)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text",
    ["a." * 100_000 + "a = 1", "[" + "a." * 100_000 + "a]", "x = {" + "a." * 100_000 + "a=1}"],
)
def test_keys_of_many_words_are_refused_at_once(text: str) -> None:
    with pytest.raises(ValueError, match="a key has more than 1000 words"):
        disk.parse_toml(text)
