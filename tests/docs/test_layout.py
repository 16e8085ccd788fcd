"""Tests lie in the rooms of the source, share no code with each other, and no file is long."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "partial_monitoring"
FILES = sorted(path for folder in ("src", "tests") for path in (ROOT / folder).rglob("*.py"))
LONGEST = 400
OWN_FOLDERS = {
    *("attacks", "contracts", "docs", "golden", "hostile", "oracles", "papers", "statistical"),
    *("theorems", "tools"),
}
"""The folders of tests that are no room of the source."""
UNDER_CONTRACT = {"storage"}
"""Rooms whose tests are those of their contract, in tests/contracts."""


def imported(path: Path) -> Iterator[str]:
    """Yield the modules that a file imports, and the names that it imports from them."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_no_file_imports_a_file_of_tests() -> None:
    found = {
        f"{path.relative_to(ROOT)}: {name}"
        for path in FILES
        for name in imported(path)
        if name.startswith("tests.") and any(part.startswith("test_") for part in name.split("."))
    }
    assert not found


def test_no_file_is_long() -> None:
    lines = {path: path.read_text(encoding="utf-8").count("\n") for path in FILES}
    assert not {str(path) for path, count in lines.items() if count > LONGEST}


def test_the_tests_lie_in_the_rooms_of_the_source() -> None:
    rooms = {path.parent.name for path in SOURCE.glob("*/__init__.py")}
    folders = {path.parent.name for path in (ROOT / "tests").glob("*/__init__.py")}
    assert folders - OWN_FOLDERS <= rooms
    assert rooms - folders <= UNDER_CONTRACT


def test_only_files_of_tests_have_tests() -> None:
    places = [path for path in FILES if path.is_relative_to(ROOT / "tests")]
    assert not [
        str(path)
        for path in places
        if not path.name.startswith("test_") and "\ndef test_" in path.read_text(encoding="utf-8")
    ]


@pytest.mark.parametrize(
    "package", sorted(SOURCE.rglob("__init__.py")), ids=lambda path: path.parent.name
)
def test_every_package_says_what_it_is(package: Path) -> None:
    assert ast.get_docstring(ast.parse(package.read_text(encoding="utf-8")))
