# Everything starts here; `make` alone prints what there is.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check -q

.DEFAULT_GOAL := help
.PHONY: help run test check wheel-test bench torture determinism clean

help: ## Print this help
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

run: $(VENV)/.run ## Play the shipped matches into a fresh store and tell what happened
	@mkdir -p build && rm -f build/examples.db*
	@for script in examples/*.jsonl; do \
		echo; echo "=== $$script"; \
		$(BIN)/soulrift play $$script --db build/examples.db || exit 1; \
	done
	@echo; echo "The store is build/examples.db; try: $(BIN)/soulrift show long-duel --at 40 --db build/examples.db"

test: $(VENV)/.dev ## Run all tests
	$(BIN)/python -m pytest

check: $(VENV)/.dev ## Lint, format, types and import rules
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

# What would miss a file of the wheel, or an extra: the README's commands (pages and bundles among them), the player,
# recorded matches.
OF_THE_WHEEL := $(addprefix tests/e2e/test_,play.py player.py readme.py)

wheel-test: $(VENV)/.dev ## Build the wheel and run what users do against it, in an empty environment and folder
	rm -rf build/wheel && mkdir -p build/wheel/tree
	$(PIP) wheel . --no-deps -w build/wheel
	$(PYTHON) -m venv build/wheel/venv
	build/wheel/venv/bin/python -m pip --disable-pip-version-check -q install --upgrade 'pip>=25.1'
	build/wheel/venv/bin/python -m pip --disable-pip-version-check -q install "$$(ls build/wheel/*.whl)[analytics,player,postgres,simulation]" --group test
	cp -r tests examples docs README.md CHANGELOG.md Makefile pyproject.toml build/wheel/tree
	cd build/wheel/tree && ../venv/bin/python -m pytest $(OF_THE_WHEEL) tests/golden

bench: $(VENV)/.bench ## Measure everything against its bound or peer; the table goes to build/bench.json too
	$(BIN)/python -m benchmarks

torture: $(VENV)/.dev ## Kill the program 100 times on each store and the server 30 times; four writers, 2,000 commands each
	SOULRIFT_KILLS=100 SOULRIFT_SERVER_KILLS=30 $(BIN)/python -m tests.torture
	SOULRIFT_TEST_COMMANDS=2000 $(BIN)/python -m pytest -n 0 --durations=4 tests/integration/test_concurrency.py -k TestWriters

determinism: $(VENV)/.dev ## Play 2,000 random matches, and the golden corpus, in every way that must make no difference
	SOULRIFT_WALKS=2000 $(BIN)/python -m pytest --durations=5 tests/integration/test_determinism_rig.py tests/golden/test_corpus.py tests/unit/test_determinism.py

clean: ## Remove the environment and everything built
	rm -rf $(VENV) build dist .hypothesis .mypy_cache .pytest_cache .ruff_cache .import_linter_cache

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Soulrift needs Python 3.11 or later; say which: make PYTHON=python3.12 ..." >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.run: $(VENV)/bin/python pyproject.toml
	$(PIP) install --upgrade 'pip>=25.1'
	$(PIP) install -e .
	touch $@

$(VENV)/.dev: $(VENV)/.run
	$(PIP) install -e '.[analytics,cluster,player,postgres,rl,study]' --group dev
	touch $@

$(VENV)/.bench: $(VENV)/.dev
	$(PIP) install --group bench
	touch $@
