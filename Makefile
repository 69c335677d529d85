# Every target creates or reuses .venv; no step is needed before.
PYTHON ?= python3
BIN := .venv/bin
# Files are compiled when they are first imported; compiling all of them takes half of the time.
PIP := $(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check -c constraints.txt

# Many tests start a process: without bytecode, each would compile every module that it imports.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help install demo test test-slow coverage lint bench docs clean

help:
	@echo "make demo       place new foods in the food branch of WordNet"
	@echo "make test       run lint, type, layer and unit tests"
	@echo "make test-slow  run the tests that take minutes"
	@echo "make coverage   run the tests, and print how much of each package they reach"
	@echo "make bench      print speed as ratios (MAG_CS=DIRECTORY, CORPUS=FILE for real data)"
	@echo "make docs       build the documentation site in site/"
	@echo "make install    install the command line in .venv"

install: .venv/installed

demo: .venv/installed
	$(BIN)/taxoexpan demo --output demo-output --force

lint: .venv/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test: lint
	OMP_NUM_THREADS=1 $(BIN)/pytest -m "not slow" -n 2 --dist worksteal

test-slow: .venv/installed-dev
	$(BIN)/pytest -m slow

coverage: .venv/installed-dev
	rm -f .coverage .coverage.*
	OMP_NUM_THREADS=1 $(BIN)/coverage run -m pytest -m "not slow" -n 2 --dist worksteal
	$(BIN)/coverage combine --quiet
	$(BIN)/python tools/coverage_by_package.py --missing 10

bench: .venv/installed
	$(BIN)/python benchmarks/speed.py $(if $(MAG_CS),--mag-cs $(MAG_CS)) $(if $(CORPUS),--corpus $(CORPUS))

docs: .venv/installed-docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

clean:
	rm -rf .venv demo-output site .coverage .coverage.*

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "taxoexpan needs Python 3.11 or newer; set PYTHON=/path/to/python3.11"; exit 1; }
	$(PYTHON) -m venv .venv

.venv/installed: .venv/bin/python pyproject.toml constraints.txt
	$(PIP) --editable '.[transformers,web]'
	@touch $@

.venv/installed-dev: .venv/bin/python pyproject.toml constraints.txt
	$(PIP) --editable '.[dev]'
	@touch .venv/installed $@

.venv/installed-docs: .venv/bin/python pyproject.toml constraints.txt
	$(PIP) --editable '.[docs,transformers]'
	@touch .venv/installed $@
