# Everything runs in .venv, which these targets create; only Python 3.11+ and make are needed.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check

# The tests of a file share what they compute, so one process runs them all.
SIDE_BY_SIDE := -n auto --dist loadfile --no-loadscope-reorder

.NOTPARALLEL:
.PHONY: help demo serve-demo test lint nightly attacks bench cases paper docs clean

help:
	@echo "make demo     install, play three games, write the page"
	@echo "make serve-demo  install, play a real case against a service, with a kill, and serve it"
	@echo "make test     install and run the tests"
	@echo "make lint     style, types and imports (ruff, mypy, import-linter)"
	@echo "make nightly  the slow statistical and exhaustive checks, with all attacks"
	@echo "make attacks  hostile values, files, names and commands, with counts"
	@echo "make bench    the benchmarks, with their peers (PyTorch among them, several GB)"
	@echo "make cases    five decisions on real data, with the packages that have the data"
	@echo "make paper    the experiments on the claims of the paper, with their page"
	@echo "make docs     install and build the documentation into site/"

demo: $(VENV)/.report
	@$(BIN)/pm demo

# FILE=shop.db keeps what was played, PORT=8787 serves it there.
serve-demo: $(VENV)/.serve
	@$(BIN)/python -m examples.serving $(if $(FILE),--file $(FILE)) $(if $(PORT),--port $(PORT))

test: $(VENV)/.dev $(VENV)/.warm
	$(BIN)/python -m pytest -q $(SIDE_BY_SIDE) -m "not nightly"

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

nightly: $(VENV)/.cases
	HYPOTHESIS_PROFILE=nightly $(BIN)/python -m pytest -q -n auto -m nightly

# Another SEED makes other attacks; AREAS="files pages" makes some of them.
attacks: $(VENV)/.dev
	$(BIN)/python -m tests.attacks --seed $(or $(SEED),0) $(AREAS)

cases: $(VENV)/.cases
	$(BIN)/python -m examples.cases

paper: $(VENV)/.dev
	$(BIN)/python -m papers.kirschner2023

bench: $(VENV)/.bench
	$(BIN)/python -m benchmarks

docs: $(VENV)/.docs
	@$(BIN)/python -m tests.tools.commands
	@$(BIN)/python -m tests.tools.algorithms
	@$(BIN)/python -m tests.tools.api
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet
	@echo "The documentation: site/index.html"

clean:
	rm -rf $(VENV) build dist site .mypy_cache .pytest_cache .ruff_cache .hypothesis

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Python 3.11 or newer is needed; choose one with: make PYTHON=python3.12"; exit 1; }
	$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); exit 1; }

$(VENV)/.report: $(VENV)/bin/python pyproject.toml
	@echo "Installing into $(VENV); the first time this takes a few minutes ..."
	$(PIP) install --quiet --editable '.[report]'
	@touch $@

$(VENV)/.bench: $(VENV)/.dev
	@echo "Installing the peers into $(VENV); this takes some minutes ..."
	$(PIP) install --quiet --editable '.[dev,peers,peers-gp,peers-service]'
	@touch $@

$(VENV)/.cases: $(VENV)/.dev
	@echo "Installing the packages with the data of examples/cases into $(VENV) ..."
	$(PIP) install --quiet --editable '.[dev,cases]'
	@touch $@

$(VENV)/.serve: $(VENV)/bin/python pyproject.toml
	@echo "Installing into $(VENV); the first time this takes a few minutes ..."
	$(PIP) install --quiet --editable '.[serve,cases]'
	@touch $@

$(VENV)/.docs: $(VENV)/bin/python pyproject.toml
	@echo "Installing into $(VENV); the first time this takes a few minutes ..."
	$(PIP) install --quiet --editable '.[docs,serve]'
	@touch $@

# Compiles once after an installation, not in every process that plays.
$(VENV)/.warm: $(VENV)/.report $(wildcard src/partial_monitoring/numerics/compiled/*.py)
	$(BIN)/python -m partial_monitoring.cli.warm
	@touch $@

$(VENV)/.dev: $(VENV)/bin/python pyproject.toml
	@echo "Installing into $(VENV); the first time this takes a few minutes ..."
	$(PIP) install --quiet --editable '.[dev]'
	@touch $@ $(VENV)/.report
