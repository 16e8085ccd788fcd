"""The tree is a list: a module imports only from modules above it; heavy modules load when used."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import partial_monitoring as pm

SOURCE = Path(pm.__file__).parent

ORDER = (
    "errors",
    "validation",
    "linalg",
    "rational",
    "exact_lp",
    "conic",
    "compiled",
    "parameter_sets",
    "kernels",
    "display",
    "game",
    "dueling_game",
    "candidates",
    "functions",
    "gram",
    "readings",
    "kernel_game",
    "kernel_dueling_game",
    "kernel_box_game",
    "finite_game",
    "contextual_game",
    "noise",
    "instance",
    "tables",
    "kernel_files",
    "game_files",
    "place",
    "games",
    "observability",
    "randomness",
    "estimation",
    "policy",
    "in_box",
    "in_context",
    "linear_policy",
    "states",
    "ids",
    "baselines",
    "refitting",
    "policies",
    "status",
    "observation",
    "learner",
    "truth",
    "world",
    "contextual_world",
    "box_world",
    "result",
    "opponent",
    "simulation",
    "comparison",
    "experiments",
    "testing",
    "report",
    "cli",
    "__main__",
)


def layer(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imports(path: Path) -> set[str]:
    """Return the layers that a module imports when it runs (not those for type checkers)."""
    tree = ast.parse(path.read_text())
    skipped = {
        id(node)
        for branch in ast.walk(tree)
        if isinstance(branch, ast.If) and ast.unparse(branch.test) == "TYPE_CHECKING"
        for node in ast.walk(branch)
    }
    found = set()
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        found |= {name.split(".")[1] for name in names if name.startswith("partial_monitoring.")}
    return found


def test_every_module_has_a_place_in_the_order() -> None:
    layers = {layer(path) for path in SOURCE.rglob("*.py")} - {"__init__"}
    assert layers == set(ORDER)


def test_imports_point_upwards() -> None:
    wrong = [
        f"{path.relative_to(SOURCE)} imports {name}"
        for path in SOURCE.rglob("*.py")
        if layer(path) != "__init__"
        for name in imports(path)
        if name in ORDER and ORDER.index(name) > ORDER.index(layer(path))
    ]
    assert not wrong


def test_the_order_test_sees_a_wrong_import(tmp_path: Path) -> None:
    module = tmp_path / "module.py"
    module.write_text("def f():\n    from partial_monitoring.cli import main\n    return main\n")
    assert imports(module) == {"cli"}


def loaded_by(statement: str) -> set[str]:
    code = f"import sys, json; {statement}; print(json.dumps(sorted(sys.modules)))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    return set(json.loads(out.stdout.splitlines()[-1]))


def test_importing_the_package_loads_nothing_heavy() -> None:
    assert not loaded_by("import partial_monitoring") & {"numpy", "scipy", "click", "rich"}


def test_building_a_game_needs_no_solver() -> None:
    loaded = loaded_by("import partial_monitoring as pm; pm.games.dynamic_pricing().rank")
    assert not loaded & {"scipy.optimize", "clarabel", "daqp", "matplotlib", "rich", "click"}


def test_all_public_names_resolve_and_are_typed() -> None:
    tree = ast.parse((SOURCE / "__init__.py").read_text())
    typed = {
        alias.asname
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.asname
    }
    assert typed | {"__version__"} == set(pm.__all__)
    assert all(getattr(pm, name) is not None for name in dir(pm))


def test_no_module_hides_a_public_name() -> None:
    """Importing a module sets its name in the package, where a function of that name would be."""
    modules = {layer(path) for path in SOURCE.rglob("*.py")}
    assert not (set(pm.__all__) & modules) - set(pm._MODULES)
