"""The table from the paper to the code is whole, and everything it names is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.names import resolves

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "paper-to-code.md"
HEADER = ["paper", "about", "code", "test"]
WITHOUT_CODE = ("planned", "proof")

# Theorems, lemmas and corollaries share one counter.
KINDS = {
    "Theorem": (1, 7, 8, 9, 14, 15, 16),
    "Lemma": (2, 3, 4, 5, 6, 10, 11, 17, 19, 20, 21, 22, 23, 24),
    "Corollary": (12, 13, 18),
    "Algorithm": (1, 2, 3),
    "Assumption": (1, 2, 3),
    "Example": tuple(range(1, 14)),
    "Table": (1, 2),
    "Equation": tuple(range(1, 44)),
}
NUMBERED = tuple(f"{kind} {number}" for kind, numbers in KINDS.items() for number in numbers)

# What the source of the paper calls its theorems, lemmas, corollaries and algorithms.
LABELS = (
    *("thm:ids-regret-general", "lem:psi-kappa-bound", "lem:confidence", "lem:total-information"),
    *("lem:alignment-bounds", "lem:alpha-global", "thm:regret-global", "thm:regret-local"),
    *("cor:global-upper-conditional", "cor:local-upper-conditional"),
    *("thm:regret-global-contextual", "thm:regret-local-contextual"),
    *("lem:representer", "lem:ls-kernel", "lem:ratio-existence", "lem:ratio-convexity"),
    *("lem:ratio-support", "lem:ratio-closed-form", "lem:ratio-greedy", "lem:ratio-approximate"),
    *("alg:ids", "alg:ids-pm", "alg:ids-context"),
)


def rows() -> list[list[str]]:
    """Return the rows of all tables of the page."""
    lines = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line[:1] == "|"]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return [row for row in cells if row != HEADER and set("".join(row)) != {"-"}]


def quoted(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def test_every_row_has_four_cells() -> None:
    assert {len(row) for row in rows()} == {len(HEADER)}


def test_every_numbered_object_has_a_row_and_no_other() -> None:
    first = [re.sub(r" \(.*\)$", "", row[0]) for row in rows()]
    numbered = [name for name in first if not name.startswith("Section")]
    assert sorted(numbered) == sorted(NUMBERED)


def test_every_label_is_there() -> None:
    found = re.findall(r"\(([a-z]+:[^)]+)\)", " ".join(row[0] for row in rows()))
    assert set(LABELS) <= set(found)
    assert len(found) == len(set(found))


@pytest.mark.parametrize("row", rows(), ids=lambda row: row[0])
def test_code_and_tests_are_there(row: list[str]) -> None:
    _, _, code, tests = row
    names = quoted(code)
    assert names or code in WITHOUT_CODE
    assert not [name for name in names if not resolves(name)]
    for test in quoted(tests):
        path, _, name = test.partition("::")
        text = (ROOT / "tests" / path).read_text(encoding="utf-8")
        assert re.search(rf"^def {name}\(", text, re.MULTILINE), test


def test_what_is_not_there_is_found() -> None:
    assert resolves("policies.ids.gaps.exact")
    assert resolves("games.dueling")
    assert not resolves("policies.ids.gaps.exakt")
    assert not resolves("policies.ids.gap.exact")
