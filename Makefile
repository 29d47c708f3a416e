# Each target sets up what it needs by itself; `make test` on a fresh clone is enough.
PYTHON ?= python3
BIN := .venv/bin
NAME ?=
KEEP ?=
SECONDS ?= 30
TESTS = $(if $(NAME),$(or $(wildcard tests/$(NAME) tests/*/$(NAME)),$(NAME)))

.DEFAULT_GOAL := help
.PHONY: help setup demo test soak test-mediawiki check formatted lint types imports format bench lock clean

help: ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 17

setup: .venv/ready ## make .venv with the pinned dependencies and the detent command

.venv/ready: requirements.lock pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check --requirement requirements.lock
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

demo: setup ## Detent reads its own documents and code, and loses a worker; KEEP=folder keeps the project
	$(BIN)/python -m detent.demo $(KEEP)

test: setup ## all tests, or those of one room or path with NAME=…
	$(BIN)/pytest -n 4 --dist worksteal $(TESTS)

soak: setup ## proofs that get better the longer they run: each may take SECONDS=…
	$(BIN)/pytest -n 2 --dist worksteal tests/soak --seconds $(SECONDS)

test-mediawiki: setup ## the wiki source against a real MediaWiki, which has to be installed
	$(BIN)/pytest --override-ini tmp_path_retention_policy=failed tests/mediawiki

check: formatted lint types imports test ## format, lint, types, import direction and all tests

formatted: setup
	$(BIN)/ruff format --check .

lint: setup
	$(BIN)/ruff check .

types: setup
	$(BIN)/mypy

imports: setup
	$(BIN)/lint-imports

format: setup ## rewrite the code in the project's format
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: setup ## benchmarks beside their peers; one alone with NAME=…
	$(BIN)/python -m benchmarks $(NAME)

lock: ## pin the newest versions of all dependencies
	$(PYTHON) scripts/lock.py

clean: ## remove what the other targets made
	rm -rf .venv build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
