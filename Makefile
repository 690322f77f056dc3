# Everything a newcomer types. `make` alone prints this list.
.DEFAULT_GOAL := help
.PHONY: help run test cluster test-cluster check fmt schema docs clients client-check demo shots browser published openapi-lint chaos live-kills failover bench bench-data bench-data-clean wheel containers lock clean

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PORT   ?= 8080
# Set to the bin/ folder of another PostgreSQL to run the tests on it.
POSTGRES_BIN ?=
# Tests run side by side, each process with a database, a server and a browser of its own.
TEST_PROCESSES ?= 4
# Those that speak SQL.
CLUSTER_TESTS := $(addprefix tests/,account checkout cluster collection console dashboard dispute doctor intake ledger mail member \
	merchant payment payment_link race reconcile refund request_log retention sandbox stories wallet webhook worker)
# Of `make chaos`: how long. Of it and `make live-kills`: which run is repeated.
HOURS  ?=
SEED   ?=
# How many inflows `make bench-data` loads.
ROWS   ?= 10000000
PIP    := $(BIN)/python -m pip --disable-pip-version-check -q
# The tests start hundreds of processes: each would compile everything again.
unexport PYTHONDONTWRITEBYTECODE

help:  ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  \033[36m%-16s\033[0m %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: $(VENV)/.run  ## install what is needed, then start the sandbox (PORT=9000 changes the port)
	@PORT=$(PORT) $(BIN)/tidegate dev

# The browser, packages of npm and those of Python are fetched side by side. The check runs beside the first tests: what it finds
# is shown at once, and fails the run at its end.
test:  ## install what is needed, then run every check and every test
	@$(MAKE) --no-print-directory -j3 $(VENV)/.dev $(VENV)/.browser $(VENV)/.published
	@{ found=$$($(MAKE) --no-print-directory check 2>&1) || { echo "$$found"; exit 1; }; } & check=$$!; \
	TIDEGATE_POSTGRES_BIN=$(POSTGRES_BIN) $(BIN)/python -m pytest -n $(TEST_PROCESSES) --dist loadfile --no-loadscope-reorder $(ARGS); \
	tests=$$?; wait $$check || { echo "make check has failed; what it found is above"; exit 1; }; exit $$tests

cluster: $(VENV)/.run  ## three PostgreSQL nodes with Citus on this machine, and the sandbox on them
	@PORT=$(PORT) $(BIN)/python -m local_cluster.nodes .tidegate/cluster

test-cluster: $(VENV)/.dev  ## run the tests that speak SQL on three nodes with Citus
	@$(BIN)/python -m local_cluster.nodes
	@TIDEGATE_TEST_CLUSTER=1 $(BIN)/python -m pytest $(or $(ARGS),$(CLUSTER_TESTS))

check: $(VENV)/.dev  ## formatting, lint, types and import directions
	@$(BIN)/ruff format --check -q . && $(BIN)/ruff check -q . && $(BIN)/mypy && $(BIN)/lint-imports --no-logo

fmt: $(VENV)/.dev  ## format the code and mend what lint can mend
	@$(BIN)/ruff format -q . && $(BIN)/ruff check -q --fix .

schema: $(VENV)/.dev  ## write docs/schema.md: every table as the migrations make it
	@$(BIN)/python tests/migrations/schema_page.py

docs: $(VENV)/.run  ## write the documentation as static files, into site/
	@$(BIN)/tidegate docs site

clients: $(VENV)/.dev  ## write the clients' types and methods, as the API is now
	@PYTHONPATH=clients $(BIN)/python -m generator

client-check: $(VENV)/.dev  ## a public generator makes clients for Go, PHP, Java and C# of the API; they compile where a compiler is
	@PYTHONPATH=clients $(BIN)/python clients/check.py

demo: $(VENV)/.run  ## start the sandbox and a small shop that uses it, at http://localhost:4000
	@$(PIP) install ./clients/python
	@$(BIN)/python -m examples.shop

shots: $(VENV)/.dev $(VENV)/.browser  ## examine every page in every state, and take pictures of them, into shots/
	@TIDEGATE_SCENES=all $(BIN)/python -m pytest tests/pages/shots.py tests/pages/test_scenes.py tests/dashboard/test_browser.py $(ARGS)
	@echo "Open shots/index.html to see them side by side."

browser: $(VENV)/.dev  ## install the browser that tests of pages run in, when there is none
	@$(BIN)/python tests/browser_install.py

published: $(VENV)/.published  ## install what tests run from npm: published clients of pawaPay, its signatures, this interface, the TypeScript compiler, linters of OpenAPI

openapi-lint: $(VENV)/.dev $(VENV)/.published  ## two public linters read the OpenAPI document; neither may warn (needs Node)
	@$(BIN)/python -m pytest tests/docs/test_openapi_lint.py

chaos: $(VENV)/.dev  ## faults at random under load, then model = database = webhooks = books (HOURS=8, SEED=n, ARGS=--help)
	@PYTHONPATH=tests $(BIN)/python -m chaos $(addprefix --hours ,$(HOURS)) $(addprefix --seed ,$(SEED)) $(ARGS)

live-kills: $(VENV)/.dev  ## live mode on the three emulators: 50 kills under load lose and double nothing (5 minutes; SEED=n)
	@TIDEGATE_TEST_SEED=$(SEED) $(BIN)/python -m pytest -q -s tests/race/live_kills.py $(ARGS)

failover: $(VENV)/.dev $(VENV)/patroni  ## lose a database of two under load, as root: Patroni, etcd, HAProxy and PgBouncer in network namespaces
	@PYTHONPATH=tests PATH="$$PATH:/usr/sbin" $(BIN)/python -m chaos.failover --patroni $(VENV)/patroni/bin/patroni $(addprefix --seed ,$(SEED)) $(ARGS)

bench: $(VENV)/.dev  ## measure against PostgreSQL itself and a bare server; prints ratios (15 minutes)
	@$(BIN)/python -m bench $(ARGS)

bench-data: $(VENV)/.dev  ## load ROWS=10000000 inflows (22 GB free), for what `make bench` says about growth
	@$(BIN)/python -m bench.data --rows $(ROWS)

bench-data-clean:  ## remove what bench-data has loaded
	@if [ -L .tidegate/bench/postgres ]; then rm -rf "$$(readlink .tidegate/bench/postgres)"; fi
	@rm -rf .tidegate/bench

wheel: $(VENV)/.run  ## build the wheel, which carries everything, into dist/
	@$(PIP) wheel --no-deps --no-build-isolation -w dist .

containers:  ## build the images and start the compose file's services (root, podman, debootstrap; 10 minutes)
	@bash tests/deploy/containers.sh

lock: $(VENV)/.dev  ## resolve the dependencies again and pin them with hashes
	@$(PIP) install uv
	@$(BIN)/uv pip compile -q --universal --generate-hashes --no-annotate --no-header --python-version 3.11 --upgrade \
		--extra build pyproject.toml -o requirements/run.txt
	@$(BIN)/uv pip compile -q --universal --generate-hashes --no-annotate --no-header --python-version 3.11 --upgrade \
		--extra build --extra dev -c requirements/run.txt pyproject.toml -o requirements/dev.txt

clean:  ## remove the virtual environment and the sandbox's data
	@if [ -L .tidegate/postgres ]; then rm -rf "$$(readlink .tidegate/postgres)"; fi
	@rm -rf $(VENV) .tidegate

# The stamps make a second `make run` or `make test` skip the installation.
$(VENV)/.run: requirements/run.txt pyproject.toml | $(BIN)/python
	@echo "Installing Tidegate (once) ..."
	@$(PIP) install --require-hashes -r requirements/run.txt
	@$(PIP) install --no-deps --no-build-isolation -e .
	@touch $@

# Has all of the file above, so that one run of pip does for both.
$(VENV)/.dev: requirements/dev.txt requirements/run.txt pyproject.toml | $(BIN)/python
	@echo "Installing Tidegate and what its tests need (once) ..."
	@$(PIP) install --no-compile --require-hashes -r requirements/dev.txt
	@$(PIP) install --no-deps --no-build-isolation -e .
	@touch $(VENV)/.run $@

$(VENV)/.browser: tests/browser_install.py | $(BIN)/python
	@$(BIN)/python $<
	@touch $@

# Nothing of the product uses it. The system's Python: another account runs it, which may not read that of a home folder.
$(VENV)/patroni: | $(BIN)/python
	@/usr/bin/python3 -m venv $@ && $@/bin/pip install -q --disable-pip-version-check 'patroni[etcd3,psycopg3]>=4.1,<5' 'psycopg[binary]' || (rm -rf $@; exit 1)

# Its test is skipped where npm or the network is missing.
$(VENV)/.published: Makefile | $(BIN)/python
	@npm install --prefix $(VENV)/published --no-audit --no-fund --ignore-scripts --loglevel=error --fetch-retries=1 --fetch-timeout=20000 \
		pawapay-sdk@1.0.3 http-message-signatures@1.0.6 fincra-node-sdk@0.2.4 typescript@5 @types/node@20 \
		@redocly/cli@2.77.0 @stoplight/spectral-cli@6.16.3 >/dev/null \
		&& touch $@ || echo "published clients and linters are not installed, and their tests are skipped: npm is missing, or the network"

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Tidegate needs Python 3.11 or newer; this is " + sys.version.split()[0] + ". Try: make PYTHON=python3.12")'
	@$(PYTHON) -m venv $(VENV)
