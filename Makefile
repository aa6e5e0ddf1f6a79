# Everything runs in .venv, which is made from requirements/*.txt when it is missing or older.
SHELL := /bin/sh
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

venv := .venv
python := $(venv)/bin/python
requirements := $(wildcard requirements/*.txt)

# The first stamp holds this directory: a copied environment still points at the original.
pinned := $(venv)/.pinned
installed := $(venv)/.installed
ifneq ($(shell cat $(pinned) 2>/dev/null),$(CURDIR))
moved := moved
endif

export PYSPARK_PYTHON := $(abspath $(python))
export PYSPARK_DRIVER_PYTHON := $(abspath $(python))
# Compiled modules are kept even where a machine says otherwise: each process that tests start would compile 350 modules.
export PYTHONDONTWRITEBYTECODE :=

# Each has a Spark session, which its tests share: one keeps two cores busy for little more than half of the time.
processes := 2
# How long `make fuzz` looks.
seconds := 600
# Which of `make test-matrix`, such as 3.12/4.3; all without.
pairs :=
# How often `make soak` kills.
kills := 200
# How long `make soak-hours` runs, and how often it restarts the job.
hours := 2
restart-minutes := 5
# Of the release that `make changelog` writes; without, it prints.
version :=
by_default := not fuzz and not faults

.PHONY: help demo delta-demo evolve-demo kafka-demo postgres-demo redis-demo test test-matrix faults soak soak-hours fuzz bench-smoke check docs docs-site dist changelog clean java browser moved

help: ## Show this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1	\2/p' Makefile

demo: $(installed) java ## Run the demo
	@$(venv)/bin/penstock demo

delta-demo: $(installed) java ## Show a Delta table that is read while it grows
	@$(python) -m examples.delta.demo

evolve-demo: $(installed) java ## Show a feature that is added to a running job
	@$(python) -m examples.evolve.demo

kafka-demo: $(installed) java ## Show files, then Kafka, with a broker of its own
	@$(python) -m examples.kafka.demo

postgres-demo: $(installed) java ## Show a table, then its changes, with a server of its own
	@$(python) -m examples.postgres.demo

redis-demo: $(installed) java ## Show a stream and totals in hashes, with a server of its own
	@$(python) -m examples.redis.demo

# Where memory has room, the temporary files of a recipe are there: tests sync thousands, and a disk takes milliseconds for each.
define in_memory
directory=$$(sh scripts/memory_directory.sh); \
trap 'rm -rf "$$directory"' EXIT; trap 'exit 130' INT TERM; \
[ -z "$$directory" ] || export TMPDIR="$$directory";
endef

# Every process of pytest-xdist imports all files it is given, and a third of them has no test for it.
spark_tests = tests/spark tests/faults $(shell grep -rl --include='test_*.py' --exclude-dir=spark --exclude-dir=faults 'mark\.spark' tests)

test: $(installed) java browser ## Run all tests
	@$(in_memory) status=0; \
	$(python) -m pytest -q -n $(processes) --dist worksteal --durations=20 -m "not spark and $(by_default)" \
		--ignore=tests/spark --ignore=tests/faults || status=1; \
	$(python) -m pytest -q -n $(processes) --dist worksteal --durations=20 -m "spark and $(by_default)" \
		$(spark_tests) || status=1; \
	exit $$status

test-matrix: $(installed) java ## Run a selection with each Python and Spark there is (pairs="3.12/4.3")
	@$(python) -m tools.matrix $(pairs)

faults: $(installed) java ## Kill, fill and damage running jobs
	@$(in_memory) \
	timeout --foreground --signal=INT --kill-after=60 5400 $(python) -m pytest -v -n $(processes) \
		--dist worksteal --durations=20 -m faults tests/faults

soak: $(installed) java ## Kill one live job at random, 200 times (kills=N)
	@PENSTOCK_SOAK_KILLS=$(kills) $(python) -m pytest -q -s --log-cli-level=INFO --durations=1 \
		tests/faults/test_soak.py -m faults -k loop

soak-hours: $(installed) java ## Restart a live job for hours, plot what it holds (hours=N restart-minutes=N)
	@$(python) -m benchmarks.soak --hours $(hours) --restart-minutes $(restart-minutes)

fuzz: $(installed) java ## Ask laws and decoders new questions for 10 minutes (seconds=N)
	@$(python) -m tests.explore --seconds $(seconds)

bench-smoke: $(installed) java ## Run small benchmarks: right outputs, no ratio far off
	@$(python) -m benchmarks.smoke

check: $(installed) ## Lint, formatting, types, layers, names of change fragments
	$(venv)/bin/ruff check .
	$(venv)/bin/ruff format --check .
	$(venv)/bin/mypy
	$(python) -m pytest -q tests/test_layers.py tests/package/test_changes.py

docs: $(installed) browser ## Write the pages that are generated from the source, and the pictures
	@$(python) -m penstock.config.reference > docs/configuration.md
	@$(python) -m tools.support.page > docs/api-support.md
	@$(python) -m tools.support.sql_tables > docs/sql-tables.md
	@$(python) -m tools.support.sql_support
	@$(python) -m tools.support.monitoring
	@$(python) -m tools.support.connector_rows
	@$(python) -m tools.site.badges
	@$(python) -m tools.site.drawings
	@$(python) -m tools.site.numbers
	@$(python) -m tools.site.outputs
	@$(python) -m tools.site.cookbook_page
	@$(python) -m tools.site.decisions > docs/decisions/README.md
	@$(python) -m tools.site.example_tables
	@$(python) -m tools.support.screenshots docs/images
	@$(python) -m benchmarks.reporting.plots docs/images benchmarks/results/*.jsonl
	@$(python) -m benchmarks.reporting.costs docs/images/cost-by-place.svg
	@$(python) -m benchmarks.reporting.results_page

docs-site: $(installed) ## Build the documentation as a site in build/site/html; a dead link is an error
	@$(python) -m tools.site.build

dist: $(installed) ## Build the wheel and the source distribution into dist/
	@rm -rf dist
	@$(python) -m tools.dist dist

changelog: $(installed) ## Print what the fragments of changes/ add to the changelog (version=X writes it)
	@$(venv)/bin/towncrier build $(if $(version),--yes --version $(version),--draft --version unreleased)

clean: ## Remove the environment and everything tools leave behind
	rm -rf $(venv) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
	rm -rf artifacts derby.log metastore_db spark-warehouse
	find src tests benchmarks examples tools -name __pycache__ -type d -prune -exec rm -rf {} +

java:
	@sh scripts/ensure_java.sh

# Where none can be installed, what needs one says so.
browser:
	@sh scripts/ensure_chromium.sh || :

$(venv): $(installed)

$(pinned): $(requirements) scripts/make_venv.sh $(moved)
	@echo "Making $(venv); the first time this takes a few minutes." >&2
	@sh scripts/make_venv.sh $(venv) requirements/dev.txt
	@echo "$(CURDIR)" > $@

$(installed): $(pinned) pyproject.toml src/penstock/version.py
	@$(python) -m pip install --disable-pip-version-check --quiet --no-deps --no-build-isolation -e .
	@touch $@
