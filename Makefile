# Everything a checkout needs. Each target sets up what it uses: an environment in $(VENV), from requirements.lock with
# hashes checked. A second run finds it ready.

VENV ?= .venv
# Other libraries, to be measured against and to work with, from a lock of their own.
PEERS ?= .venv-peers
# What `make test` runs; ARGS= runs the slow tests too.
ARGS ?= -m "not slow"
# The newest Python that works; a name on the PATH may be a stub that doesn't.
PYTHON ?= $(shell for python in python3.14 python3.13 python3.12 python3.11 python3 python; do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && { echo $$python; break; }; done)

BIN := $(VENV)/bin
READY := $(VENV)/.ready
PIP := $(BIN)/python -m pip --disable-pip-version-check

.PHONY: demo test test-interop check bench bench-peers docs lock clean

demo: $(READY)
	$(BIN)/knotwork demo

test: $(READY)
	$(BIN)/python -m pytest -n 2 $(ARGS)

test-interop: $(PEERS)/.ready
	KNOTWORK_TEST_INTEROP=1 $(PEERS)/bin/python -m pytest tests/interop

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(READY)
	$(BIN)/python benchmarks/run.py

bench-peers: $(PEERS)/.ready
	$(PEERS)/bin/python benchmarks/transforms.py

docs: $(READY)
	$(BIN)/python -m tests.make_cli_docs

# Keeps the versions it finds in the lock; UPGRADE=--upgrade takes the newest.
lock: $(READY)
	$(PIP) install --quiet uv
	UV_CUSTOM_COMPILE_COMMAND="make lock" $(BIN)/uv pip compile --quiet --universal --python-version 3.11 \
		--generate-hashes --no-emit-index-url --no-emit-find-links --no-annotate \
		--extra nlp --extra office --extra pdf --extra zh --extra dev $(UPGRADE) pyproject.toml --output-file requirements.lock
	UV_CUSTOM_COMPILE_COMMAND="make lock" $(BIN)/uv pip compile --quiet --universal --python-version 3.11 \
		--generate-hashes --no-emit-index-url --no-emit-find-links --no-annotate \
		--extra dev $(UPGRADE) --override benchmarks/peers-overrides.in pyproject.toml benchmarks/peers.in \
		--output-file requirements-peers.lock

clean:
	rm -rf $(VENV) $(PEERS) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis

# One for any of the environments: a Python that works, with what makes environments.
define CHECK_PYTHON
@test -n "$(PYTHON)" || { echo "Knotwork needs Python 3.11 or newer, and none is on the PATH."; \
	echo "Install one, or name it: make PYTHON=/path/to/python3"; exit 1; }
@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	echo "$(PYTHON) is not Python 3.11 or newer."; exit 1; }
@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	echo "$(PYTHON) cannot make virtual environments; on Debian or Ubuntu: apt-get install python3-venv"; exit 1; }
endef

# The lock is whole, so nothing is resolved anew: with hashes required pip stops at an extra of a package that has a
# newer version than the locked one.
$(READY): requirements.lock pyproject.toml
	$(CHECK_PYTHON)
	@echo "Setting up $(VENV) with $(PYTHON); about a minute, only this once."
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --quiet --no-deps --require-hashes --requirement requirements.lock
	$(PIP) install --quiet --no-deps --no-build-isolation --editable .
	@touch $(READY)

# graphragzen asks for old versions of things that the part measured here doesn't use: the lock overrides them.
$(PEERS)/.ready: requirements-peers.lock pyproject.toml
	$(CHECK_PYTHON)
	@echo "Setting up $(PEERS) with $(PYTHON); about two minutes, 1 GB, only this once."
	$(PYTHON) -m venv $(PEERS)
	$(PEERS)/bin/python -m pip --disable-pip-version-check install --quiet --no-deps --ignore-requires-python \
		--require-hashes --requirement requirements-peers.lock
	$(PEERS)/bin/python -m pip --disable-pip-version-check install --quiet --no-deps --no-build-isolation --editable .
	@touch $(PEERS)/.ready
