# Two commands matter: `make run` and `make test`. Both start from nothing but python3.
.DEFAULT_GOAL := help
PYTHON ?= python3
# With it, every process of Python would compile all of the code again.
unexport PYTHONDONTWRITEBYTECODE
VENV := .venv
BIN := $(VENV)/bin
INSTALL := PYTHON=$(PYTHON) $(PYTHON) requirements/install.py
PIP_EDITABLE := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-input --no-deps --no-build-isolation --editable
PYTEST := $(BIN)/python -m pytest
# Scripts of npm call `node` by its name: that of the environment comes first.
NPM := PATH="$(CURDIR)/$(BIN):$$PATH" npm
CLIENTS_TS := clients/typescript
CLIENT := clients/python
CORPUS := packages/dialects/tests/dialects
# The data directory is named, so that a file of settings in it is read; see docs/settings.md.
DATA_DIR_OPTION := --data-dir "$${PAGEFAULT_DATA_DIR:-data}"
# Without a network, `make run` starts after seconds and not after npm's own retries.
HASTY := npm_config_fetch_retries=1 npm_config_fetch_retry_mintimeout=1000 npm_config_fetch_timeout=20000
# `make test` leaves out the tests in `E2E` and `STRESS`, and `make check` runs them. E2E starts commands, proxies and programs of others.
E2E := tests/e2e $(wildcard packages/*/tests/e2e)
# STRESS has load, crashes, full disks and hostile texts. `make stress` also runs the tests with the markers `slow` and `second_engine`: tests over
# HTTP on PostgreSQL and S3, which `make test` runs on SQLite.
STRESS := tests/faults tests/security tests/e2e/test_kill.py tests/e2e/test_resumable_upload.py tests/e2e/test_events_across_processes.py \
  tests/cluster/test_stores.py tests/contract/test_event_streams_under_load.py tests/contract/test_overload.py tests/contract/test_random_models_api.py \
  tests/integration/test_sweep_race.py $(wildcard tests/e2e/test_*_memory.py packages/*/tests/test_*_memory.py packages/*/tests/e2e/test_*_memory.py)
# The tests of `make test`, of which it leaves out those with the two markers.
TESTED := tests packages $(patsubst %,--ignore=%,tests/browser $(E2E) $(STRESS))
# The viewer is built together with the packages it consists of.
WEB_SOURCES := $(shell find web $(CLIENTS_TS)/client/src $(CLIENTS_TS)/react/src \( -name node_modules -o -name dist -o -name generated -o -name check \) -prune -o -type f -print 2>/dev/null)

.PHONY: help install run web web-check chromium nginx pgbouncer redis golang test e2e stress test-all fmt lint types imports openapi pictures targets promises openapi-check migrate rooms bench bench-smoke torture mutants cluster dialects-corpus peers-check hosts-check clients-check clients-generated-check clients-python clients-python-check clients-typescript clients-typescript-check openapi-diff site release-check deploy-check check lock clean

# Only the make that `make test` starts installs side by side; under `-j`, this one would start the same installations.
ifndef SIDE_BY_SIDE
.NOTPARALLEL:
endif

help: # Lists the targets that have a description, in the order of this file.
	@awk -F ':.*## ' '/^##@ /{printf "\n%s\n", substr($$0, 5)} \
	  /^[a-z-]+:.* ## /{sub(/:.*/, "", $$1); printf "  make %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

##@ To start with
run: install ## Serve on 127.0.0.1:8000 with SQLite and a local directory; PORT=8001 for another port
	@$(MAKE) --no-print-directory -q web 2>/dev/null || echo "Building the viewer, which takes a minute the first time …"
	@$(HASTY) $(MAKE) --no-print-directory web >$(VENV)/web.log 2>&1 \
	  || echo "The viewer could not be built, see $(VENV)/web.log; the API is served all the same." >&2
	@PAGEFAULT_STARTED_BY="make run" $(BIN)/pagefault serve $(DATA_DIR_OPTION) $(if $(findstring command,$(origin PORT)),--port $(PORT))
test: $(VENV)/python.stamp nginx pgbouncer redis ## Run the tests of the service, PostgreSQL and S3 included
	@$(MAKE) -s --no-print-directory -j 3 SIDE_BY_SIDE=1 $(VENV)/dev.stamp
	$(PYTEST) -n 3 --dist loadgroup --no-loadscope-reorder -m "not slow and not second_engine" $(TESTED)
test-all: test e2e stress
check: lint types imports openapi-check openapi-diff web-check bench-smoke peers-check clients-check site release-check deploy-check test e2e stress ## Run everything that CI runs
fmt: $(VENV)/dev.stamp ## Format the code
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

##@ The parts of check
e2e: $(VENV)/dev.stamp web nginx pgbouncer ## Run the tests that start commands, proxies and other programs
	$(PYTEST) -n 3 --dist loadgroup --no-loadscope-reorder $(E2E) $(STRESS:%=--ignore=%)
stress: $(VENV)/dev.stamp web chromium nginx pgbouncer redis ## Run slow tests: crash, fill and overload the service, in the short forms of `make torture`
	$(PYTEST) -n 3 --dist loadgroup --no-loadscope-reorder $(STRESS)
	$(PYTEST) -n 3 --dist loadgroup --no-loadscope-reorder -m "slow or second_engine" $(TESTED)
lint: $(VENV)/dev.stamp ## Check style
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
types: $(VENV)/dev.stamp ## Check types
	$(BIN)/mypy app tests packages benchmarks peers website release deploy requirements web/check clients/check clients/python
imports: $(VENV)/dev.stamp ## Check that imports go one way
	$(BIN)/lint-imports
openapi-check: install ## Fail if a document that `make openapi` writes is out of date
	$(BIN)/python -m website.documents --check
web-check: $(VENV)/dev.stamp web chromium ## Check the types of the viewer, and its pages in a browser
	$(NPM) --prefix web run --silent check
	$(PYTEST) -n 3 --dist loadgroup --no-loadscope-reorder web/check tests/browser
bench-smoke: $(VENV)/dev.stamp web chromium ## Check that every benchmark runs, without judging times
	$(BIN)/python -m benchmarks --smoke
peers-check: $(VENV)/dev.stamp web chromium $(VENV)/peers-new.stamp $(VENV)/peers-old.stamp $(VENV)/peers-dialects.stamp ## Call real MCP servers, and read the results of real packages
	$(PYTEST) -n 2 --dist loadgroup peers
hosts-check: $(VENV)/dev.stamp peers/coding_hosts/node_modules/.stamp ## Resume exported sessions in Claude Code and Codex; it installs 800 MB, so `check` leaves it out
	$(PYTEST) peers/coding_hosts/resume_check.py
site: $(VENV)/website.stamp website/node_modules/.stamp ## Build the documentation site into build/site; a broken link ends it
	$(VENV)/website/bin/python -m website.build
release-check: $(VENV)/dev.stamp $(VENV)/release.stamp $(CLIENTS_TS)/node_modules/.stamp release/node_modules/.stamp web ## Build all packages and the MCP bundle, start them, list licenses and an SBOM in build/release
	PATH="$(CURDIR)/$(BIN):$$PATH" $(VENV)/release/bin/python -m release.check
	$(PYTEST) release
deploy-check: $(VENV)/dev.stamp $(VENV)/deploy.stamp nginx ## Check the examples of deploy/ with the programs that read them
	$(BIN)/python -m deploy.check
clients-check: clients-generated-check clients-python-check clients-typescript-check ## Check the client packages, the examples, and the clients of six generators
clients-generated-check: $(VENV)/dev.stamp $(VENV)/clients-check.stamp clients/check/node_modules/.stamp golang
	$(PYTEST) -n 2 clients/check
# The source distribution is tried with the frameworks of its adapters, the wheel with its dependencies alone.
clients-python-check: $(VENV)/dev.stamp $(VENV)/client-test.stamp $(VENV)/client-run.stamp
	$(BIN)/python $(CLIENT)/generate.py --check
	rm -rf $(VENV)/client-build && $(BIN)/python -m build --no-isolation --outdir $(VENV)/client-build $(CLIENT)
	$(VENV)/client-test/bin/python -m pip install --quiet --no-deps --no-build-isolation --force-reinstall $(VENV)/client-build/*.tar.gz
	$(VENV)/client-run/bin/python -m pip install --quiet --no-deps --force-reinstall $(VENV)/client-build/*.whl
	$(VENV)/client-test/bin/python -m mypy -p pagefault_client
	$(VENV)/client-test/bin/python -m mypy $(CLIENT)/tests/adapters/*.py
	EXAMPLES_PYTHON=$(CURDIR)/$(VENV)/client-run/bin/python $(VENV)/client-test/bin/python -m pytest $(CLIENT)/tests
clients-typescript-check: $(CLIENTS_TS)/node_modules/.stamp chromium
	$(NPM) --prefix $(CLIENTS_TS) run --silent check
openapi-diff: $(VENV)/dev.stamp ## Show how the OpenAPI document differs from the last version; AGAINST=v0.1.0 for another
	@$(BIN)/python -m clients.check.document_diff $(AGAINST)

##@ To write generated documents
openapi: install ## Write openapi/openapi.json, and the generated pages and tables of docs/
	$(BIN)/python -m website.documents
targets: $(VENV)/dev.stamp ## Write the matrix of docs/targets.md
	$(PYTEST) -q tests/contract/test_targets_document.py --write-documents
promises: $(VENV)/dev.stamp ## Write the tables of docs/durability.md and docs/security.md
	$(PYTEST) -q tests/contract/test_promises.py --write-documents
rooms: $(VENV)/dev.stamp ## Write the list of folders, and print ten random lines of code; LINES_SEED=2 for others
	$(PYTEST) -q tests/contract/test_architecture_document.py --write-documents
	@$(BIN)/python -m tests.random_lines $(or $(LINES_SEED),1) $(if $(PLACES),--places)
pictures: $(VENV)/dev.stamp web chromium ## Take the pictures of the documentation
	$(PYTEST) -q web/check/test_pictures.py --write-documents
clients-python: $(VENV)/dev.stamp ## Write the generated parts of clients/python
	$(BIN)/python $(CLIENT)/generate.py
dialects-corpus: $(VENV)/peers-dialects.stamp ## Write the results, messages and histories that real packages dump
	for kind in tool_results messages histories; do \
	  $(VENV)/peers-dialects/bin/python peers/dialects/build.py $$kind >$(CORPUS)/$$kind.new && mv $(CORPUS)/$$kind.new $(CORPUS)/$$kind.jsonl || exit 1; done

##@ The rest
install: $(VENV)/runtime.stamp ## Install .venv/bin/pagefault and nothing else
web: web/dist/index.html ## Build the viewer into web/dist
clients-typescript: $(CLIENTS_TS)/node_modules/.stamp ## Build the packages of clients/typescript, as its examples need them
	$(NPM) --prefix $(CLIENTS_TS) run --silent generate
	$(NPM) --prefix $(CLIENTS_TS) run --silent build
migrate: install ## Bring the configured database up to date
	@$(BIN)/pagefault migrate $(DATA_DIR_OPTION)
bench: $(VENV)/dev.stamp web chromium ## Measure everything and write benchmarks/results.md; ONLY=lookups for a part
	$(BIN)/python -m benchmarks $(if $(ONLY),--only $(ONLY))
cluster: $(VENV)/dev.stamp nginx pgbouncer ## Try faults of two processes behind nginx and PgBouncer, under load
	$(PYTEST) tests/cluster
torture: $(VENV)/dev.stamp web nginx pgbouncer ## Run the long forms of the tests, an hour or more; TORTURE_PERCENT=10 for a part
	@printf '| tried | found |\n|---|---|\n' >$(VENV)/torture.md
	@TORTURE=long KILL_ROUNDS=long TORTURE_FIGURES=$(CURDIR)/$(VENV)/torture.md $(PYTEST) -n 2 --dist loadgroup --durations 20 \
	  $(STRESS) tests/cluster/test_faults.py tests/integration/test_migrations.py \
	  packages/dialects/tests/context packages/dialects/tests/messages/test_healing.py packages/dialects/tests/targets/test_home.py; status=$$?; \
	  printf '\n%s, commit %s\n\n' $$(date -u +%F) $$(git rev-parse --short HEAD); cat $(VENV)/torture.md; exit $$status
mutants: $(VENV)/dev.stamp $(VENV)/mutants.stamp ## Count the changes of the library and the records that tests notice; MODULE=json/pointers, SHARE=5 for 5 %
	$(BIN)/python -m tests.mutants $(if $(SHARE),--share $(SHARE)) $(MODULE)
PIN := uv pip compile --universal --python-version 3.11 --generate-hashes --no-header --no-annotate --quiet
lock: ## Pin every dependency anew (needs uv)
	$(PIN) pyproject.toml --extra dev --extra mcp --extra otel --extra redis --output-file requirements/dev.lock
	$(PIN) pyproject.toml --extra build --extra mcp --extra otel --extra redis --constraint requirements/dev.lock --output-file requirements/runtime.lock
	$(PIN) pyproject.toml --extra web --extra mcp --extra otel --extra redis --constraint requirements/dev.lock --output-file requirements/web.lock
	for name in peers/requirements-new peers/requirements-old peers/requirements-dialects $(CLIENT)/requirements-test requirements/website \
	  requirements/release requirements/deploy clients/check/requirements; do $(PIN) $$name.in --output-file $$name.lock || exit 1; done
	$(PIN) $(CLIENT)/requirements-run.in --constraint $(CLIENT)/requirements-test.lock --output-file $(CLIENT)/requirements-run.lock
	$(PIN) requirements/mutants.in --constraint requirements/dev.lock --output-file requirements/mutants.lock
clean: ## Remove everything that was installed and built
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis web/dist
	rm -rf web/node_modules website/node_modules release/node_modules clients/check/node_modules $(CLIENTS_TS)/node_modules $(CLIENTS_TS)/client/src/generated $(CLIENTS_TS)/*/dist

# Environments: a stamp is written after a whole installation, so an interrupted one starts again.
$(VENV)/python.stamp: ; @$(INSTALL) environment $(VENV) && touch $@
$(VENV)/runtime.stamp: requirements/runtime.lock pyproject.toml | $(VENV)/python.stamp
	@$(INSTALL) pins $(VENV) $< && $(PIP_EDITABLE) . && touch $@
$(VENV)/web.stamp: requirements/web.lock requirements/runtime.lock | $(VENV)/python.stamp
	@$(INSTALL) pins $(VENV) $< --without requirements/runtime.lock && touch $@
$(VENV)/tools.stamp: requirements/dev.lock requirements/runtime.lock requirements/web.lock | $(VENV)/python.stamp
	@$(INSTALL) pins $(VENV) $< --without requirements/runtime.lock --without requirements/web.lock && touch $@
$(VENV)/dev.stamp: $(VENV)/runtime.stamp $(VENV)/web.stamp $(VENV)/tools.stamp $(CLIENT)/pyproject.toml
	@$(PIP_EDITABLE) $(CLIENT) && touch $@
OWN_ENVIRONMENT = @$(INSTALL) pins --clear $(basename $@) $< && touch $@
$(VENV)/peers-%.stamp: peers/requirements-%.lock | $(VENV)/runtime.stamp ; $(OWN_ENVIRONMENT)
$(VENV)/client-%.stamp: $(CLIENT)/requirements-%.lock | $(VENV)/runtime.stamp ; $(OWN_ENVIRONMENT)
$(VENV)/clients-check.stamp: clients/check/requirements.lock | $(VENV)/runtime.stamp ; $(OWN_ENVIRONMENT)
$(VENV)/mutants.stamp: requirements/mutants.lock | $(VENV)/dev.stamp
	@$(INSTALL) pins --clear $(VENV)/mutants $< $(foreach lock,runtime web dev,--without requirements/$(lock).lock) && touch $@
$(VENV)/website.stamp $(VENV)/release.stamp $(VENV)/deploy.stamp: $(VENV)/%.stamp: requirements/%.lock | $(VENV)/runtime.stamp ; $(OWN_ENVIRONMENT)
%/node_modules/.stamp: %/package.json %/package-lock.json $(VENV)/web.stamp
	@$(NPM) --prefix $* ci --ignore-scripts --no-audit --no-fund --loglevel=error && touch $@
web/dist/index.html: web/node_modules/.stamp $(WEB_SOURCES) openapi/openapi.json
	@echo "Building the viewer …"
	@$(NPM) --prefix web run --silent build && touch $@
chromium: ; @$(INSTALL) debian chromium-headless-shell /usr/bin/chromium-headless-shell
golang: ; @$(INSTALL) debian golang-go go
# Unpacked and not installed: Debian would start it, on port 80.
nginx: ; @$(INSTALL) debian nginx /usr/sbin/nginx --into $(VENV)/nginx
pgbouncer: ; @$(INSTALL) debian pgbouncer /usr/sbin/pgbouncer
# The program of Debian's redis-server, which would start it, on port 6379.
redis: ; @$(INSTALL) debian redis-tools /usr/bin/redis-check-rdb
