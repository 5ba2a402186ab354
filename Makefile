# Two commands matter: `make run` and `make test`. Both start from nothing but python3.
.DEFAULT_GOAL := help
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-input

.PHONY: help install run test test-all fmt lint types imports openapi targets openapi-check errors migrate check lock clean

help: ## List the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# A half-made environment leaves no stamp, so an interrupted install starts over.
$(VENV)/runtime.stamp: requirements/runtime.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "Pagefault needs Python 3.11 or later; name one with 'make PYTHON=python3.12 …'" >&2; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Installing into $(VENV) …"
	@$(PIP) --require-hashes -r requirements/runtime.lock
	@$(PIP) --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/dev.stamp: $(VENV)/runtime.stamp requirements/dev.lock
	@echo "Installing the tools for development …"
	@$(PIP) --require-hashes -r requirements/dev.lock
	@touch $@

install: $(VENV)/runtime.stamp ## Make .venv/bin/pagefault

run: install ## Serve on 127.0.0.1:8000 with SQLite and a local directory
	@$(BIN)/pagefault serve

migrate: install ## Bring the configured database up to date
	@$(BIN)/pagefault migrate

test: $(VENV)/dev.stamp ## Run all tests, PostgreSQL and S3 included
	$(BIN)/python -m pytest -n 2 --dist loadgroup tests

test-all: test ## The same as test: nothing is left out of it

fmt: $(VENV)/dev.stamp ## Format the code
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

lint: $(VENV)/dev.stamp ## Check style
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(VENV)/dev.stamp ## Check types
	$(BIN)/mypy app tests benchmarks

imports: $(VENV)/dev.stamp ## Check that imports go one way
	$(BIN)/lint-imports

openapi: install ## Write openapi/openapi.json and docs/errors.md
	$(BIN)/python -m app.documents

targets: $(VENV)/dev.stamp ## Write the matrix of docs/targets.md
	$(BIN)/python -m pytest -q tests/contract/test_targets_document.py --write-documents

openapi-check: install ## Fail if openapi/openapi.json or docs/errors.md is out of date
	$(BIN)/python -m app.documents --check

check: lint types imports openapi-check test ## What CI runs

PIN := uv pip compile pyproject.toml --universal --python-version 3.11 --generate-hashes --no-header --no-annotate --quiet

lock: ## Pin every dependency anew (needs uv)
	$(PIN) --extra dev --output-file requirements/dev.lock
	$(PIN) --constraint requirements/dev.lock --output-file requirements/runtime.lock

clean: ## Remove what was installed and built
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
