"""Modules and files that the documentation names are there."""

import re
from pathlib import Path

import pytest

from tests.docs.names import resolves

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "partial_monitoring"
ROOMS = sorted(path.name for path in SOURCE.iterdir() if (path / "__init__.py").exists())
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
CODE = re.compile(r"`([^`\n]+)`")
DOTTED = re.compile(rf"(?:{'|'.join(ROOMS)})(?:\.\w+)+")
FILE = re.compile(r"[\w./-]+/[\w-]+\.py")


def inline(page: Path) -> list[str]:
    """Return what a page sets as code inside its sentences and tables."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    return CODE.findall(text)


def test_the_names_of_the_paper_notes_can_be_imported() -> None:
    """Elsewhere ``learner.ask`` is a method of a variable."""
    named = {code.partition("(")[0] for code in inline(ROOT / "docs" / "paper-notes.md")}
    known = {name for name in named if DOTTED.fullmatch(name)}
    assert len(known) > 20
    assert not {name for name in known if not resolves(name)}


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_files_are_there(page: Path) -> None:
    named = {name for code in inline(page) for name in FILE.findall(code)}
    places = (ROOT, SOURCE, ROOT / "tests")
    assert not {name for name in named if not any((place / name).exists() for place in places)}


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_code_uses_public_names_only(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", text, flags=re.M | re.S)
    assert not [
        line
        for block in blocks
        for line in block.splitlines()
        if "import" in line and "partial_monitoring." in line
    ]


def test_the_rooms_of_the_architecture_are_those_of_the_source() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    section = page.partition("## The rooms")[2].partition("## The four protocols")[0]
    cells = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    modules = {path.stem for path in SOURCE.glob("*.py")} - {"__init__", "__main__"}
    assert sorted(CODE.findall(" ".join(cells))) == sorted({*ROOMS, *modules})


def test_every_page_is_in_the_navigation() -> None:
    listed = re.findall(r": ([a-z-]+\.md)$", (ROOT / "mkdocs.yml").read_text(), flags=re.M)
    assert sorted(listed) == sorted(path.name for path in (ROOT / "docs").glob("*.md"))


def test_anchors_are_there() -> None:
    """Links to a section of another page lead to a heading of that page."""
    for page in PAGES:
        for name, anchor in re.findall(r"\]\((?:docs/)?([a-z-]+\.md)#([\w-]+)\)", page.read_text()):
            text = (ROOT / "docs" / name).read_text(encoding="utf-8")
            titles = re.findall(r"^#+ (.*)$", text, flags=re.M)
            slugs = {re.sub(r"[^\w\s-]", "", title).strip().lower() for title in titles}
            assert anchor in {re.sub(r"[\s-]+", "-", slug) for slug in slugs}, (page.name, name)
