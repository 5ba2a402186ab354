# Two commands matter: `make run` and `make test`. Both start from nothing but python3.
.DEFAULT_GOAL := help
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Without what shows windows, it needs a fifth less of the processor's time.
CHROMIUM := chromium-headless-shell
# Whoever has it set would have every Python process compile all of the code anew.
unexport PYTHONDONTWRITEBYTECODE
# Other lines than before are printed by `make rooms LINES_SEED=…`.
LINES_SEED ?= 1
# What npm runs asks for `node` by name, so that of the environment comes first.
NPM := PATH="$(CURDIR)/$(BIN):$$PATH" npm --prefix web
CLIENTS_TS := clients/typescript
NPM_CLIENTS_TS := PATH="$(CURDIR)/$(BIN):$$PATH" npm --prefix $(CLIENTS_TS)
# The data directory is named, so that a file of settings in it is read; see docs/settings.md.
DATA_DIR_OPTION := --data-dir "$${PAGEFAULT_DATA_DIR:-data}"
SERVE_OPTIONS = $(DATA_DIR_OPTION) $(if $(findstring command,$(origin PORT)),--port $(PORT))
# Whoever starts the service without a network does not wait for npm's patience to end.
HASTY := npm_config_fetch_retries=1 npm_config_fetch_retry_mintimeout=1000 npm_config_fetch_timeout=20000
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-input
APT_INSTALL := DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends
# The viewer is built along with the packages that it is made of.
WEB_SOURCES := $(shell find web $(CLIENTS_TS)/client/src $(CLIENTS_TS)/react/src -name node_modules -prune -o -name dist -prune -o -name generated -prune -o -name check -prune -o -type f -print 2>/dev/null)

.PHONY: help install run web web-check chromium nginx test test-all fmt lint types imports openapi pictures targets promises openapi-check migrate rooms bench bench-smoke torture dialects-corpus peers-check clients-check clients-generated-check clients-python clients-python-check clients-typescript clients-typescript-check golang openapi-diff site release-check check lock clean

# `make test` starts a second make, which installs and builds side by side. Under `-j`, this one would start the same
# installations at the same time, so it makes one target after the other.
ifndef SIDE_BY_SIDE
.NOTPARALLEL:
endif

# What `make help` lists, in this order; the rules are below.
##@ To start with
run: ## Serve on 127.0.0.1:8000 with SQLite and a local directory; PORT=8001 for another port
test: ## Run all tests of the service, PostgreSQL, S3 and a browser included
check: ## Run everything that CI runs: the next eleven, and test
fmt: ## Format the code

##@ The parts of check
lint: ## Check style
types: ## Check types
imports: ## Check that imports go one way
openapi-check: ## Fail if a document that `make openapi` writes is out of date
web-check: ## Check the viewer: its types, and what it shows, in a browser
bench-smoke: ## Check that every benchmark runs, without judging times
peers-check: ## Call real MCP servers and build results of real packages, and check what is made of them
dialects-corpus: ## Write the results, messages and histories that the packages of the lock file dump
site: ## Build the documentation site into build/site; a broken link ends it
release-check: ## Build all packages, install them, list licenses and an SBOM in build/release
clients-check: ## Check the client packages, the examples, and what five generators make of the OpenAPI document
openapi-diff: ## Show how the OpenAPI document differs from the last version; AGAINST=v0.1.0 for another

##@ To write generated documents
openapi: ## Write openapi/openapi.json, docs/dialects.md, docs/errors.md and docs/settings.md
targets: ## Write the matrix of docs/targets.md
promises: ## Write the tables of docs/durability.md and docs/security.md
pictures: ## Take the pictures of the documentation
clients-python: ## Write the generated parts of clients/python

##@ The rest
install: ## Install .venv/bin/pagefault and nothing else
web: ## Build the viewer into web/dist
clients-typescript: ## Build the packages of clients/typescript, as its examples need them
migrate: ## Bring the configured database up to date
bench: ## Measure everything and write benchmarks/results.md; ONLY=lookups for a part
torture: ## Run the long forms of the tests, an hour or more; TORTURE_PERCENT=10 for a part
lock: ## Pin every dependency anew (needs uv)
clean: ## Remove what was installed and built

help:
	@awk -F ':.*## ' '/^##@ /{printf "\n%s\n", substr($$0, 5)} \
	  /^[a-z-]+: ## /{printf "  make %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# A half-made environment leaves no stamp, so an interrupted install starts over. One that is there without a stamp
# is kept if its pip is whole: what installs pip writes the list of its files last.
HAS_WHOLE_PIP := import importlib.metadata as m, sys; sys.exit(not all(each.locate().exists() for each in m.files("pip")))
$(VENV)/python.stamp:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "Pagefault needs Python 3.11 or later; name one with 'make PYTHON=python3.12 …'" >&2; exit 1; }
	@$(BIN)/python -c '$(HAS_WHOLE_PIP)' 2>/dev/null || $(PYTHON) -m venv --clear $(VENV) || { rm -rf $(VENV); \
	  echo "No environment could be made in $(VENV). On Debian and Ubuntu that needs the package python3-venv." >&2; exit 1; }
	@touch $@

# A lock names everything: without --no-deps, pip would look at newer versions as well, and refuse them.
$(VENV)/runtime.stamp: requirements/runtime.lock pyproject.toml | $(VENV)/python.stamp
	@echo "Installing into $(VENV) …"
	@$(PIP) --no-deps --require-hashes -r requirements/runtime.lock
	@$(PIP) --no-deps --no-build-isolation --editable .
	@touch $@

# The pins of the last lock that none of the others has. pip takes one processor, so that what is needed for tests is
# installed by three at once; none of them may write what another one writes.
OWN_PINS = awk '/^[^ ]/ {split($$0, pin, "=="); own = FILENAME == ARGV[ARGC - 1] && !(pin[1] in others); \
	  if (FILENAME != ARGV[ARGC - 1]) others[pin[1]]} own'

$(VENV)/tools.stamp: requirements/dev.lock requirements/runtime.lock requirements/web.lock | $(VENV)/python.stamp
	@echo "Installing the tools for development …"
	@$(OWN_PINS) requirements/runtime.lock requirements/web.lock requirements/dev.lock >$(VENV)/tools.lock
	@$(PIP) --no-deps --require-hashes -r $(VENV)/tools.lock
	@touch $@

$(VENV)/dev.stamp: $(VENV)/runtime.stamp $(VENV)/web.stamp $(VENV)/tools.stamp clients/python/pyproject.toml
	@$(PIP) --no-deps --no-build-isolation --editable clients/python
	@touch $@

install: $(VENV)/runtime.stamp

$(VENV)/web.stamp: requirements/web.lock requirements/runtime.lock | $(VENV)/python.stamp
	@echo "Installing Node.js into $(VENV) …"
	@$(OWN_PINS) requirements/runtime.lock requirements/web.lock >$(VENV)/web.lock
	@$(PIP) --no-deps --require-hashes -r $(VENV)/web.lock
	@touch $@

# npm removes the folder first, so an interrupted install leaves no stamp here either.
web/node_modules/.stamp: web/package.json web/package-lock.json $(VENV)/web.stamp
	@$(NPM) ci --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

web/dist/index.html: web/node_modules/.stamp $(WEB_SOURCES) openapi/openapi.json
	@echo "Building the viewer …"
	@$(NPM) run --silent build
	@touch $@

run: install
	@$(MAKE) --no-print-directory -q web 2>/dev/null || echo "Building the viewer, which takes a minute the first time …"
	@$(HASTY) $(MAKE) --no-print-directory web >$(VENV)/web.log 2>&1 \
	  || echo "The viewer could not be built, $(VENV)/web.log says why; the API is served all the same." >&2
	@PAGEFAULT_STARTED_BY="make run" $(BIN)/pagefault serve $(SERVE_OPTIONS)

web: web/dist/index.html

web-check: $(VENV)/dev.stamp web chromium
	$(NPM) run --silent check
	$(BIN)/python -m pytest -n 3 --dist loadgroup --no-loadscope-reorder web/check

$(CLIENTS_TS)/node_modules/.stamp: $(CLIENTS_TS)/package.json $(CLIENTS_TS)/package-lock.json $(VENV)/web.stamp
	@$(NPM_CLIENTS_TS) ci --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

clients-typescript: $(CLIENTS_TS)/node_modules/.stamp
	$(NPM_CLIENTS_TS) run --silent generate
	$(NPM_CLIENTS_TS) run --silent build

clients-typescript-check: $(CLIENTS_TS)/node_modules/.stamp chromium
	$(NPM_CLIENTS_TS) run --silent check

chromium:
	@test -x /usr/bin/$(CHROMIUM) || { test "$$(id -u)" = 0 && command -v apt-get >/dev/null && { \
	    echo "Installing Chromium for the tests in a browser …"; \
	    $(APT_INSTALL) $(CHROMIUM) >/dev/null 2>&1 || { apt-get update -qq && $(APT_INSTALL) $(CHROMIUM) >/dev/null; }; }; } \
	  || echo "The tests in a browser need Debian's package $(CHROMIUM); install it." >&2

# Taken apart and not installed: Debian would start it, on port 80.
nginx:
	@test -x /usr/sbin/nginx || test -x $(VENV)/nginx/usr/sbin/nginx || { command -v apt-get >/dev/null && { \
	    echo "Fetching nginx for the tests …"; mkdir -p $(VENV)/nginx && cd $(VENV)/nginx && \
	    { apt-get download -qq nginx >/dev/null 2>&1 || { apt-get update -qq && apt-get download -qq nginx >/dev/null; }; } && \
	    dpkg -x nginx_*.deb .; }; } \
	  || echo "The tests behind a proxy need Debian's package nginx; install it." >&2

migrate: install
	@$(BIN)/pagefault migrate $(DATA_DIR_OPTION)

# Packages are installed side by side, while the viewer is built.
test: $(VENV)/python.stamp chromium nginx
	@$(MAKE) -s --no-print-directory -j 3 SIDE_BY_SIDE=1 $(VENV)/dev.stamp web
	$(BIN)/python -m pytest -n 3 --dist loadgroup --no-loadscope-reorder tests packages

test-all: test

fmt: $(VENV)/dev.stamp
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

lint: $(VENV)/dev.stamp
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(VENV)/dev.stamp
	$(BIN)/mypy app tests packages benchmarks peers website release web/check clients/check clients/python

imports: $(VENV)/dev.stamp
	$(BIN)/lint-imports

openapi: install
	$(BIN)/python -m website.documents

pictures: $(VENV)/dev.stamp web chromium
	$(BIN)/python -m pytest -q web/check/test_pictures.py --write-documents

targets: $(VENV)/dev.stamp
	$(BIN)/python -m pytest -q tests/contract/test_targets_document.py --write-documents

promises: $(VENV)/dev.stamp
	$(BIN)/python -m pytest -q tests/contract/test_promises.py --write-documents

rooms: $(VENV)/dev.stamp ## Write the lists of folders and of decisions; print ten random lines of code
	$(BIN)/python -m pytest -q tests/contract/test_architecture_document.py \
	  tests/contract/test_documents.py -k "architecture or index" --write-documents
	@$(BIN)/python -m tests.random_lines $(LINES_SEED) $(if $(PLACES),--places)

openapi-check: install
	$(BIN)/python -m website.documents --check

bench: $(VENV)/dev.stamp
	$(BIN)/python -m benchmarks $(if $(ONLY),--only $(ONLY))

bench-smoke: $(VENV)/dev.stamp
	$(BIN)/python -m benchmarks --smoke

torture: $(VENV)/dev.stamp web nginx
	@printf '| tried | found |\n|---|---|\n' >$(VENV)/torture.md
	@TORTURE=long KILL_ROUNDS=long TORTURE_FIGURES=$(CURDIR)/$(VENV)/torture.md \
	  $(BIN)/python -m pytest -n 2 --dist loadgroup --durations 20 tests/faults tests/security \
	  tests/e2e/test_kill.py tests/integration/test_sweep_race.py tests/integration/test_migrations.py \
	  packages/dialects/tests/context packages/dialects/tests/targets/test_home.py; \
	  status=$$?; echo; echo "$$(date -u +%F), commit $$(git rev-parse --short HEAD)"; echo; \
	  cat $(VENV)/torture.md; exit $$status

# Servers are called from environments of their own: that of the newest SDK, and that of its first version.
$(VENV)/peers-%.stamp: peers/requirements-%.lock | $(VENV)/runtime.stamp
	@echo "Installing the packages of peers/requirements-$*.in …"
	@$(PYTHON) -m venv --clear $(VENV)/peers-$*
	@$(VENV)/peers-$*/bin/python -m pip install --quiet --disable-pip-version-check --no-input --no-deps --require-hashes -r $<
	@touch $@

DIALECTS_PYTHON := $(VENV)/peers-dialects/bin/python
CORPUS := packages/dialects/tests/dialects

dialects-corpus: $(VENV)/peers-dialects.stamp
	for kind in tool_results messages histories; do \
	  $(DIALECTS_PYTHON) peers/dialects/build.py $$kind >$(CORPUS)/$$kind.new && mv $(CORPUS)/$$kind.new $(CORPUS)/$$kind.jsonl || exit 1; \
	done

peers-check: $(VENV)/dev.stamp $(VENV)/peers-new.stamp $(VENV)/peers-old.stamp $(VENV)/peers-dialects.stamp
	$(BIN)/python -m pytest -n 2 --dist loadgroup peers

# The package is built, and tried as what was built: the source distribution with the frameworks that it has adapters for, the wheel
# with what it needs and nothing else.
CLIENT := clients/python
CLIENT_BUILD := $(VENV)/client-build
CLIENT_TEST := $(VENV)/client-test/bin/python
CLIENT_RUN := $(VENV)/client-run/bin/python
CLIENT_PIP := -m pip install --quiet --disable-pip-version-check --no-input --no-deps

clients-python: $(VENV)/dev.stamp
	$(BIN)/python $(CLIENT)/generate.py

$(VENV)/client-%.stamp: $(CLIENT)/requirements-%.lock | $(VENV)/runtime.stamp
	@echo "Installing what the Python client needs to $* …"
	@$(PYTHON) -m venv --clear $(VENV)/client-$*
	@$(VENV)/client-$*/bin/python $(CLIENT_PIP) --require-hashes -r $<
	@touch $@

clients-python-check: $(VENV)/dev.stamp $(VENV)/client-test.stamp $(VENV)/client-run.stamp
	$(BIN)/python $(CLIENT)/generate.py --check
	@rm -rf $(CLIENT_BUILD)
	$(BIN)/python -m build --no-isolation --outdir $(CLIENT_BUILD) $(CLIENT)
	@$(CLIENT_TEST) $(CLIENT_PIP) --no-build-isolation --force-reinstall $(CLIENT_BUILD)/*.tar.gz
	@$(CLIENT_RUN) $(CLIENT_PIP) --force-reinstall $(CLIENT_BUILD)/*.whl
	$(CLIENT_TEST) -m mypy -p pagefault_client
	$(CLIENT_TEST) -m mypy $(CLIENT)/tests/adapters/*.py
	EXAMPLES_PYTHON=$(CURDIR)/$(CLIENT_RUN) $(CLIENT_TEST) -m pytest $(CLIENT)/tests

# The generator of the site, and what makes the list of licenses, have environments of their own.
$(VENV)/%-tools.stamp: requirements/%.lock | $(VENV)/runtime.stamp
	@$(PYTHON) -m venv --clear $(VENV)/$*
	@$(VENV)/$*/bin/python -m pip install --quiet --disable-pip-version-check --no-input --no-deps --require-hashes -r $<
	@touch $@

website/node_modules/.stamp: website/package.json website/package-lock.json $(VENV)/web.stamp
	@PATH="$(CURDIR)/$(BIN):$$PATH" npm --prefix website ci --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

site: $(VENV)/website-tools.stamp website/node_modules/.stamp
	$(VENV)/website/bin/python -m website.build

release-check: $(VENV)/dev.stamp $(VENV)/release-tools.stamp $(CLIENTS_TS)/node_modules/.stamp web
	PATH="$(CURDIR)/$(BIN):$$PATH" $(VENV)/release/bin/python -m release.check
	$(BIN)/python -m pytest release

$(VENV)/clients-check.stamp: clients/check/requirements.lock | $(VENV)/runtime.stamp
	@echo "Installing generators of clients …"
	@$(PYTHON) -m venv --clear $(VENV)/clients-check
	@$(VENV)/clients-check/bin/python -m pip install --quiet --disable-pip-version-check --no-input --no-deps --require-hashes -r $<
	@touch $@

clients/check/node_modules/.stamp: clients/check/package.json clients/check/package-lock.json $(VENV)/web.stamp
	@PATH="$(CURDIR)/$(BIN):$$PATH" npm --prefix clients/check ci --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

golang:
	@command -v go >/dev/null || { test "$$(id -u)" = 0 && command -v apt-get >/dev/null && { \
	    echo "Installing Go for the generated clients …"; \
	    $(APT_INSTALL) golang-go >/dev/null 2>&1 || { apt-get update -qq && $(APT_INSTALL) golang-go >/dev/null; }; }; } \
	  || echo "The check of generated clients needs Debian's package golang-go; install it." >&2

clients-check: clients-generated-check clients-python-check clients-typescript-check

clients-generated-check: $(VENV)/dev.stamp $(VENV)/clients-check.stamp clients/check/node_modules/.stamp golang
	$(BIN)/python -m pytest -n 2 clients/check

openapi-diff: $(VENV)/dev.stamp
	@$(BIN)/python -m clients.check.document_diff $(AGAINST)

check: lint types imports openapi-check openapi-diff web-check bench-smoke peers-check clients-check site release-check test

PIN_FLAGS := --universal --python-version 3.11 --generate-hashes --no-header --no-annotate --quiet
PIN := uv pip compile pyproject.toml $(PIN_FLAGS)
PIN_PEERS := uv pip compile $(PIN_FLAGS)

lock:
	$(PIN) --extra dev --extra mcp --output-file requirements/dev.lock
	$(PIN) --extra build --extra mcp --constraint requirements/dev.lock --output-file requirements/runtime.lock
	$(PIN) --extra web --extra mcp --constraint requirements/dev.lock --output-file requirements/web.lock
	$(PIN_PEERS) peers/requirements-new.in --output-file peers/requirements-new.lock
	$(PIN_PEERS) peers/requirements-old.in --output-file peers/requirements-old.lock
	$(PIN_PEERS) peers/requirements-dialects.in --output-file peers/requirements-dialects.lock
	$(PIN_PEERS) clients/python/requirements-test.in --output-file clients/python/requirements-test.lock
	$(PIN_PEERS) clients/python/requirements-run.in --constraint clients/python/requirements-test.lock \
	  --output-file clients/python/requirements-run.lock
	$(PIN_PEERS) requirements/website.in --output-file requirements/website.lock
	$(PIN_PEERS) requirements/release.in --output-file requirements/release.lock
	$(PIN_PEERS) clients/check/requirements.in --output-file clients/check/requirements.lock

clean:
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	rm -rf web/dist web/node_modules website/node_modules clients/check/node_modules
	rm -rf $(CLIENTS_TS)/node_modules $(CLIENTS_TS)/client/src/generated $(CLIENTS_TS)/*/dist
