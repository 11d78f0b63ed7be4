# `make demo` and `make test` work on a fresh clone; everything they need goes into .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

# One worker a core, each with the tests of a whole room (tests/running/groups.py), the longest first.
PYTEST := $(BIN)/python -m pytest -n logical --dist loadscope --no-loadscope-reorder --costs
QUICK := tests/contract/test_check.py tests/contract/test_rows.py \
  tests/envs/*/test_*scenarios.py tests/models/test_files.py tests/search/test_twin.py tests/front/test_errors.py

.PHONY: demo links test test-quick test-long test-numba recipes campaign figures lint lint-page types docs clean

INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

# What the demo needs: no torch.
$(VENV)/.demo: pyproject.toml constraints.txt
	@echo "installing leafwise and what it learns with into $(VENV), once: a few minutes"
	$(PYTHON) -m venv $(VENV)
	$(INSTALL) -e ".[ntuple]"
	touch $@

# What trainers, tests, linters and documentation need besides.
$(VENV)/.installed: $(VENV)/.demo
	$(INSTALL) -e ".[train,experiments,multiagent,data,human,cluster,hub,onnx,openspiel,web,export,docs,dev]"
	touch $@
	$(MAKE) links

# The package as it is installed, in links: type checkers, editors and the documentation find modules there, which an editable
# install hides from them.
LINKS := build/links/leafwise
ROOMS := envs search models training experiments
links:
	mkdir -p $(LINKS)
	for link in $(LINKS)/*; do [ -e "$$link" ] || rm -f "$$link"; done
	for place in src/leafwise/* $(ROOMS); do ln -sfn "$(CURDIR)/$$place" $(LINKS)/; done

demo: $(VENV)/.demo
	$(BIN)/leafwise demo

# Everything that a change can break, in about twenty minutes on two slow cores. In three runs, since a worker keeps what it has compiled in memory.
PARTS := "architecture contract envs" "search models front" "training experiments examples docs"
test: $(VENV)/.installed
	status=0; for part in $(PARTS); do $(PYTEST) $$(printf 'tests/%s ' $$part) || status=1; done; exit $$status

# The rules of all games and a little of the rooms: half a minute on two slow cores, once `make test` has compiled it.
test-quick: $(VENV)/.installed
	$(PYTEST) $(QUICK)

# What takes too long for `make test`, and a share of every campaign: about half an hour on two slow cores.
test-long: $(VENV)/.installed
	$(PYTEST) -m "long or campaign" --campaign-seconds 60

# The campaigns as a whole; takes hours. Another seed: make campaign SEED=1
SEED ?= 0
campaign: $(VENV)/.installed
	$(PYTEST) -m campaign --campaign-seed $(SEED) -o faulthandler_timeout=0

# The rules of all games under the lowest and the highest numba, in environments of their own.
NUMBA_RANGE ?= 0.65.1 0.68.1
NUMBA_TESTS ?= tests/contract tests/envs/core/compile
test-numba:
	mkdir -p build
	for version in $(NUMBA_RANGE); do \
	  grep -v -e '^numba' -e '^llvmlite' constraints.txt > build/numba-$$version.txt || exit 1; \
	  $(PYTHON) -m venv build/numba-$$version || exit 1; \
	  build/numba-$$version/bin/python -m pip install --quiet --disable-pip-version-check -c build/numba-$$version.txt \
	    numba==$$version pytest pytest-xdist hypothesis -e ".[multiagent]" || exit 1; \
	  build/numba-$$version/bin/python -m pytest -n 2 $(NUMBA_TESTS) || exit 1; \
	done

# The recipes, each in an environment of its own with what its first lines name: some gigabytes of downloads, no part of the gate.
RECIPES ?= $(patsubst examples/recipes/%.py,%,$(wildcard examples/recipes/*.py))
recipes:
	for name in $(RECIPES); do \
	  $(PYTHON) -m venv build/recipes/$$name || exit 1; \
	  sed -n 's/^#   "\(.*\)",$$/\1/p' examples/recipes/$$name.py > build/recipes/$$name/needs.txt || exit 1; \
	  build/recipes/$$name/bin/python -m pip install --quiet --disable-pip-version-check -e . -r build/recipes/$$name/needs.txt || exit 1; \
	  (cd build/recipes/$$name && bin/python $(CURDIR)/examples/recipes/$$name.py) || exit 1; \
	done

# Every figure of the pages, from experiments/results and the studies' JSON; `make lint` says which page has others.
figures: $(VENV)/.installed
	$(BIN)/python -m leafwise.experiments.figures

lint: $(VENV)/.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/codespell
	$(BIN)/python -m leafwise.experiments.figures --check

# Linter, formatter and types of the page's modules, from npm as package-lock.json pins them; the page itself needs none of it.
lint-page:
	npm ci --no-audit --no-fund
	npm run check

# The package, by its links, and the tests.
types: $(VENV)/.installed links
	$(BIN)/mypy -p leafwise
	MYPYPATH=tests $(BIN)/mypy --explicit-package-bases tests

# The documentation as a site in build/site; any warning is an error. `make docs DOCS=serve` shows it while you write.
DOCS ?= build
docs: $(VENV)/.installed links
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs $(DOCS) --strict

clean:
	rm -rf $(VENV) build dist *.egg-info src/*.egg-info
