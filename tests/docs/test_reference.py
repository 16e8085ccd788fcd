"""The reference has every public name, and the docstrings that it is made of are there."""

import inspect
import re
from dataclasses import fields
from types import ModuleType
from typing import Any

import pytest

import partial_monitoring as pm
from tests.tools.site import DOCS, names_table, on_page_markdown, referenced

MODULES = sorted(name for name in pm.__all__ if isinstance(getattr(pm, name), ModuleType))
EXPLAINED = [pm.Decision, pm.Status, pm.Result]


def test_every_public_name_is_there_once() -> None:
    names = [name for name, _, _ in referenced()]
    assert sorted([*names, "__version__"]) == sorted(pm.__all__)


def test_the_table_has_every_name_with_a_sentence() -> None:
    rows = re.findall(
        r"^\| \[`pm\.(\w+)`\]\((\S+)#partial_monitoring\.\1\) \| (.+) \|$", names_table(), re.M
    )
    assert [(name, page) for name, page, _ in rows] == [found[:2] for found in referenced()]
    assert all((DOCS / page).exists() and text for _, page, text in rows)
    assert names_table() in on_page_markdown((DOCS / "reference.md").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", MODULES)
def test_completion_shows_only_what_is_public(name: str) -> None:
    module = getattr(pm, name)
    assert dir(module) == sorted(module.__all__)
    things = [getattr(module, public) for public in module.__all__]
    written = [thing for thing in things if inspect.isfunction(thing) or inspect.isclass(thing)]
    assert all(inspect.getdoc(thing) for thing in written)


@pytest.mark.parametrize("kind", EXPLAINED, ids=lambda kind: kind.__name__)
def test_help_explains_every_field(kind: type[Any]) -> None:
    text = inspect.getdoc(kind) or ""
    section = text.partition("Attributes\n----------\n")[2]
    explained = re.findall(r"^(\w+)\n {4}\S", section, re.M)
    assert explained == [field.name for field in fields(kind)]


@pytest.mark.parametrize("name", sorted(set(pm.__all__) - {*MODULES, "__version__"}))
def test_every_public_name_has_a_docstring(name: str) -> None:
    thing = getattr(pm, name)
    assert inspect.getdoc(thing)
    if inspect.isclass(thing):
        methods = [key for key, member in vars(thing).items() if inspect.isfunction(member)]
        public = [key for key in methods if not key.startswith("_") and hasattr(thing, key)]
        explained = set(vars(pm.Policy))  # what every policy has is explained there
        assert not [
            k for k in public if not inspect.getdoc(getattr(thing, k)) and k not in explained
        ]
