"""Heavy modules load when they are used, and every public name is there and typed."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

import partial_monitoring as pm

SOURCE = Path(pm.__file__).parent


def loaded_by(statement: str) -> set[str]:
    code = f"import sys, json; {statement}; print(json.dumps(sorted(sys.modules)))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    return set(json.loads(out.stdout.splitlines()[-1]))


def test_importing_the_package_loads_nothing_heavy() -> None:
    assert not loaded_by("import partial_monitoring") & {"numpy", "scipy", "click", "rich"}


def test_building_a_game_needs_no_solver() -> None:
    loaded = loaded_by("import partial_monitoring as pm; pm.games.dynamic_pricing().rank")
    assert not loaded & {"scipy.optimize", "clarabel", "daqp", "matplotlib", "rich", "click"}


def public_names() -> list[str]:
    tree = ast.parse((SOURCE / "__init__.pyi").read_text())
    found = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    return [alias.asname for node in found for alias in node.names if alias.asname]


def test_all_public_names_resolve_and_are_typed() -> None:
    assert {*public_names(), "__version__"} == set(pm.__all__)
    assert all(getattr(pm, name) is not None for name in dir(pm))


MODULES = [
    "candidates",
    "confidence",
    "functions",
    "gaps",
    "information",
    "plot",
    "policies",
    "readings",
    "truths",
]
EACH_FIRST = """
import importlib, json, sys
found = []
for name in sys.argv[1:]:
    for module in [own for own in sys.modules if own.startswith("partial_monitoring")]:
        del sys.modules[module]
    try:
        getattr(importlib.import_module("partial_monitoring"), name)
    except AttributeError:
        continue
    found.append(name)
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def found() -> list[str]:
    """Return the public modules that are there when nothing else of the package is loaded."""
    command = [sys.executable, "-c", EACH_FIRST, *MODULES]
    out = subprocess.run(command, capture_output=True, check=True, text=True)
    return list(json.loads(out.stdout))


@pytest.mark.parametrize("name", MODULES)
def test_a_public_module_is_there_before_anything_else_is_loaded(
    name: str, found: list[str]
) -> None:
    assert name in found


def test_no_module_hides_a_public_name() -> None:
    """Importing a module sets its name in the package, where a function of that name would be."""
    rooms = {path.name.removesuffix(".py") for path in SOURCE.iterdir()}
    modules = {"errors", "games", "kernels", "plot", "policies", "testing"}
    assert set(pm.__all__) & rooms == modules


def test_few_modules_lie_at_the_top_level() -> None:
    assert len(list(SOURCE.glob("*.py"))) <= 8
