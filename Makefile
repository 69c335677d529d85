# Every target creates or reuses .venv; no step is needed before.
PYTHON ?= python3
BIN := .venv/bin
# Files are compiled when they are first imported; compiling all of them takes half of the time.
PIP := $(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check -c constraints.txt

# Many tests start a process: without bytecode, each would compile every module that it imports.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help install demo test test-slow test-oldest oldest hashes coverage lint bench bench-all docs package sizes concepts journeys reproduce audit clean

help:
	@echo "make demo       place new foods in the food branch of WordNet"
	@echo "make test       run lint, type, layer and unit tests"
	@echo "make test-slow  run the tests that take minutes"
	@echo "make test-oldest  run the tests of the core with the oldest versions of all packages"
	@echo "make oldest     compute constraints-oldest.txt again, after a change of pyproject.toml"
	@echo "make hashes     look up the hashes of all pinned versions again, after a change of constraints.txt"
	@echo "make package    build the wheel and the source distribution in dist/, and try both"
	@echo "make sizes      print the sizes of the package and its extras, and start-up times"
	@echo "make concepts   count classes, records, shared classes and lines (COMPARE=DIRECTORY: next to another checkout)"
	@echo "make audit      look up known vulnerabilities of the pinned versions (needs a network)"
	@echo "make coverage   run the tests, and print the modules that they do not reach completely"
	@echo "make bench      print speed as ratios, in five minutes (MAG_CS=DIRECTORY for real data)"
	@echo "make bench-all  also compare the paper's sizes, single egonets and busy cores, in a quarter hour"
	@echo "make reproduce  list the paper's experiments; RUN=main/closest-parent or CONFIG=FILE runs one (ARGS=\"--mag-cs DIR\")"
	@echo "make docs       build the documentation site in site/"
	@echo "make install    install the command line in .venv"

install: .venv/installed

demo: .venv/installed
	$(BIN)/taxoexpan demo --output demo-output --force

lint: .venv/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy tests/typing
	$(BIN)/lint-imports

test: lint
	OMP_NUM_THREADS=1 $(BIN)/pytest -n 2 --dist worksteal

test-slow: .venv/installed-dev
	$(BIN)/pytest -m slow

# The extras for users; developers' tools need not be old.
EXTRAS := cluster mcp postgresql tensorboard transformers web
COMMA := ,
EMPTY :=
TEST_TOOLS := hatchling httpx hypothesis jsonschema pytest rdflib schemathesis
OLDEST_TESTS := tests/archive tests/formats/rdf tests/formats/tables tests/features/transformer tests/network \
	tests/desk/store tests/desk/service tests/test_config.py tests/test_expansion.py tests/test_model.py

oldest: .venv/bin/python
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip compile --quiet --python-version 3.11 --resolution lowest-direct --no-annotate --no-header \
		$(EXTRAS:%=--extra %) pyproject.toml --output-file constraints-oldest.new
	{ head -1 constraints-oldest.txt; cat constraints-oldest.new; } > constraints-oldest.tmp
	mv constraints-oldest.tmp constraints-oldest.txt
	rm constraints-oldest.new

hashes: .venv/bin/python
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/python tools/hash_requirements.py

# PyPI's oldest torch is a build for GPUs, several gigabytes large; it works on CPUs, too.
# Old packages may use what newer ones deprecate, so such warnings are no errors here.
test-oldest:
	$(PYTHON) -m venv .venv-oldest
	.venv-oldest/bin/python -m pip install --quiet -c constraints-oldest.txt $(TEST_TOOLS) \
		--editable '.[$(subst $(EMPTY) $(EMPTY),$(COMMA),$(EXTRAS))]'
	OMP_NUM_THREADS=1 .venv-oldest/bin/python -m pytest -W ignore::DeprecationWarning $(OLDEST_TESTS)

package: .venv/installed-dev
	$(BIN)/python tools/check_package.py

sizes: .venv/bin/python
	$(BIN)/python tools/package_sizes.py

journeys: .venv/bin/python
	@$(BIN)/python tools/journeys.py

concepts: .venv/bin/python
	@$(BIN)/python tools/concepts.py $(COMPARE) .

audit: .venv/bin/python
	@$(PIP) pip-audit || { echo "pip-audit could not be installed: make audit needs a package index"; exit 1; }
	$(BIN)/pip-audit --strict --no-deps --disable-pip --progress-spinner off -r constraints.txt

# A signal inside coverage's own lock makes a process hang, and a measured process starts slowly, so
# the tests that interrupt processes and those of a time limit are left out.
INTERRUPTING := ctrl_c or interrupt or workers_end or sigint or sigterm or kill or stop_signals or does_not_end
coverage: .venv/installed-dev
	rm -f .coverage .coverage.*
	OMP_NUM_THREADS=1 $(BIN)/coverage run -m pytest -k "not ($(INTERRUPTING))" -n 2 --dist worksteal
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report --skip-covered

bench: .venv/installed
	$(BIN)/python -m benchmarks.speed $(if $(MAG_CS),--mag-cs $(MAG_CS))

bench-all: .venv/installed
	$(BIN)/python -m benchmarks.speed --all $(if $(MAG_CS),--mag-cs $(MAG_CS))

reproduce: .venv/installed-dev
	@$(BIN)/python -m reproduction $(if $(RUN)$(CONFIG),run $(RUN) $(if $(CONFIG),--config $(CONFIG))) $(ARGS)

docs: .venv/installed-docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

clean:
	rm -rf .venv .venv-oldest demo-output dist site .coverage .coverage.*

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "taxoexpan needs Python 3.11 or newer; set PYTHON=/path/to/python3.11"; exit 1; }
	$(PYTHON) -m venv .venv

.venv/installed: .venv/bin/python pyproject.toml constraints.txt
	$(PIP) --editable '.[web]'
	@touch $@

.venv/installed-dev: .venv/bin/python pyproject.toml constraints.txt
	$(PIP) --editable '.[dev]'
	@touch .venv/installed $@

.venv/installed-docs: .venv/bin/python pyproject.toml constraints.txt
	$(PIP) --editable '.[docs]'
	@touch .venv/installed $@
