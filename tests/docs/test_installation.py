"""What README and messages say about installing is true without a release on a package index."""

import re
import subprocess
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, packages_distributions, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import partial_monitoring as pm

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
INSTALL = re.compile(r"pip install ([^\n`\"#]+)")
SOURCES = sorted((ROOT / "src").rglob("*.py"))


def installed_by(extra: str) -> set[str]:
    """Return the distributions that ``pip install '.[extra]'`` brings, with all they need."""
    found: set[str] = set()
    own = {"": PROJECT["dependencies"], **PROJECT["optional-dependencies"]}
    open_ = [(Requirement(line), "") for line in [*own[""], *own[extra]]]
    while open_:
        requirement, given = open_.pop()
        if requirement.marker and not requirement.marker.evaluate({"extra": given}):
            continue
        name = canonicalize_name(requirement.name)
        if name == "partial-monitoring":
            open_ += [(Requirement(line), "") for key in requirement.extras for line in own[key]]
        elif name not in found:
            found.add(name)
            try:
                lines = requires(name) or []
            except PackageNotFoundError:
                continue
            open_ += [
                (Requirement(line), key) for line in lines for key in ("", *requirement.extras)
            ]
    return found


def test_what_an_extra_brings_is_found() -> None:
    assert {"matplotlib", "plotly", "jinja2", "numpy", "contourpy"} <= installed_by("report")
    assert not {"pandas", "pytest", "distributed"} & installed_by("report")


def test_the_code_of_the_readme_runs_in_the_environment_of_the_readme(tmp_path: Path) -> None:
    """That of ``make demo``: everything else that is installed here cannot be imported."""
    brought = installed_by("report") | {"partial-monitoring"}
    hidden = [
        module
        for module, names in packages_distributions().items()
        if not {canonicalize_name(name) for name in names} & brought and module != "tests"
    ]
    assert {"pandas", "numpy"} & set(hidden) == {"pandas"}
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    code = "\n".join(re.findall(r"^```python\n(.*?)^```", text, re.M | re.S))
    blocked = f"""
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {hidden!r}:
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Missing())
"""
    run = subprocess.run(
        [sys.executable, "-c", blocked + code], cwd=tmp_path, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr


def test_the_demo_installs_that_environment() -> None:
    rules = (ROOT / "Makefile").read_text()
    assert re.search(r"^demo: \S+/\.report$", rules, re.M)
    assert "install --quiet --editable '.[report]'" in rules


def test_something_is_said_before_every_silent_installation() -> None:
    lines = (ROOT / "Makefile").read_text().splitlines()
    silent = [i for i, line in enumerate(lines) if "install --quiet" in line]
    assert silent
    assert all(lines[i - 1].startswith("\t@echo ") for i in silent)


@pytest.mark.parametrize("path", [*PAGES, *SOURCES], ids=lambda path: path.name)
def test_only_what_can_be_installed_is_named(path: Path) -> None:
    """The folder itself with its extras, or packages that an index has."""
    extras = PROJECT["optional-dependencies"]
    known = {Requirement(line).name for lines in extras.values() for line in lines}
    for words in INSTALL.findall(path.read_text(encoding="utf-8")):
        for word in words.replace("{' '.join(EXTRAS)}", "matplotlib").split():
            name = word.strip("'.,|)\\")
            if name in ("", "{"):
                continue
            folder = re.fullmatch(r"\[(\w+)\]?|/src/partial-monitoring", name)
            assert folder or (name in known and name != "partial-monitoring"), (path.name, words)
            assert not folder or not folder[1] or folder[1] in extras


def test_the_citation_is_that_of_this_version() -> None:
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {pm.__version__}\n" in text
    assert f"\nlicense: {PROJECT['license']}\n" in text
    assert f"\ntitle: {PROJECT['name']}\n" in text


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_local_links_and_pictures_are_there(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#\s]+)", page.read_text(encoding="utf-8"))
    local = [target for target in targets if "://" not in target]
    assert not [target for target in local if not (page.parent / target).exists()]


def test_the_readme_has_a_picture() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    pictures = re.findall(r"^!\[(.+)\]\((\S+)\)$", text, re.M)
    assert pictures
    for _, path in pictures:
        assert f"--plot {Path(path).name}" in text  # the command that draws it


@pytest.mark.parametrize(
    ("page", "words"),
    [
        ("README.md", ("pip install .", "Linux (x86-64) with Python 3.11", "only a bandit")),
        ("docs/installation.md", ("NUMBA_CACHE_DIR", "read-only", "pickled", "`tcp://`")),
        ("docs/experiments.md", ("`tcp://`", "equal processors", "under the\nsame name")),
        ("docs/learn-and-simulate.md", ("Threads may share a learner", "Processes do not")),
        ("docs/from-problem-to-game.md", ("only a *bandit*", "`cost`", "known to be 1")),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_users_must_know_is_said(page: str, words: tuple[str, ...]) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    assert not [word for word in words if word not in text]
