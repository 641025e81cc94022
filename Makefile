# Every target is a line or two that call `converge`, pytest or mkdocs: nothing is only possible through make.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
EXTRAS := notebooks,docs,database,dev
LAB    ?=
AGAINST ?=
NAME   ?=
ENGINE ?= docker

.DEFAULT_GOAL := help
.PHONY: help check watch hint list up down shell status doctor docs site recorded notebooks test test-kind verify lint format browser bench lock clean

help: ## Show this
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  \033[1mmake %-12s\033[0m %s\n", $$1, $$2} /^## /{print "\n" substr($$0, 4)}' $(MAKEFILE_LIST)

## Learn
check: $(VENV)/.learn ## Grade the first lab that is not passed yet (LAB=03, LAB=all, AGAINST=solutions)
	@$(BIN)/converge check $(LAB) $(if $(AGAINST),--against $(AGAINST))

watch: $(VENV)/.learn ## Grade again at every save (LAB=03)
	@$(BIN)/converge watch $(LAB)

hint: $(VENV)/.learn ## Show the next hint (LAB=03)
	@$(BIN)/converge hint $(LAB)

list: $(VENV)/.learn ## Show the lessons and your progress
	@$(BIN)/converge progress

docs: $(VENV)/.docs ## Read the course: serve the site on http://127.0.0.1:8000
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs serve --no-strict

## The cluster
up: $(VENV)/.learn ## Start the cluster (checks do it by themselves)
	@$(BIN)/converge up

down: $(VENV)/.learn ## Stop the cluster and remove all of it
	@$(BIN)/converge down

shell: $(VENV)/.learn ## Open a shell with kubectl, converge and the course's Python on the path
	@$(BIN)/converge shell

status: $(VENV)/.learn ## Show what runs
	@$(BIN)/converge status

doctor: $(VENV)/.learn ## Say what is here, what is missing and what to type
	@$(BIN)/converge doctor

## Work on the course
test: $(VENV)/.all browser lint ## Test the course itself, and grade its grader
	@$(BIN)/pytest -n 3 --dist loadgroup
	@$(BIN)/converge verify --quick

test-kind: export CONVERGE_STATE := $(CURDIR)/$(VENV)/kind
test-kind: export CONVERGE_TEST_KIND := 1
test-kind: $(VENV)/.all ## Test on kind: provider, contract, labs (CONVERGE_KIND_IMAGE, CONVERGE_WEB_IMAGES, …)
	@$(ENGINE) build -q -f solutions/16_ship/Dockerfile -t webapp-operator:1 .
	@$(BIN)/converge up --provider kind
	@$(BIN)/converge load webapp-operator:1
	@$(BIN)/pytest -n 2 --dist loadgroup tests/cluster/test_kind*.py tests/cluster/test_contract_*.py tests/labs --against solutions; \
	  code=$$?; $(BIN)/converge down; exit $$code

verify: $(VENV)/.all ## Grade the grader: skeletons, solutions, mutants, variants (LAB=03)
	@$(BIN)/converge verify $(LAB)

lint: $(VENV)/.all ## Check style, types and layers
	@$(BIN)/ruff check -q . && $(BIN)/ruff format -q --check . && $(BIN)/mypy && $(BIN)/lint-imports

format: $(VENV)/.all ## Put the code in shape
	@$(BIN)/ruff check -q --fix . ; $(BIN)/ruff format -q .

site: $(VENV)/.all ## Build the site into site/
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

recorded: $(VENV)/.all ## Record the output that lessons show (NAME=03_workqueue or 03_workqueue.see-it-fail)
	@$(BIN)/python -m converge.site.record $(NAME)

notebooks: $(VENV)/.all ## Run the notebooks on the cluster and write their pages (LAB=03)
	@$(BIN)/python -m converge.site.notebooks $(LAB)

browser: ## Get what the browser tests need: Chromium, and axe-core from npm
	@sh tests/docs/browser.sh

bench: $(VENV)/.all ## Run all benchmarks and write benchmarks/results.json
	@$(BIN)/python -m benchmarks

lock: $(VENV)/.all ## Choose exact versions anew
	@$(BIN)/uv pip compile -q --universal --python-version 3.11 --no-emit-index-url --no-header --all-extras --upgrade pyproject.toml -o requirements.lock

clean: ## Remove the virtual environment and what was built here
	rm -rf $(VENV) site build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis

# uv installs in seconds; where it cannot reach what pip can, pip does it. Compiled now, because a submission runs
# without the right to keep what Python compiles: it would compile kopf anew at each start.
define install
	$(BIN)/uv pip install -q --compile-bytecode --python $(BIN)/python -c requirements.lock -e '$(1)' 2>/dev/null || $(BIN)/pip install -q -c requirements.lock -e '$(1)'
	@touch $@
endef

$(VENV)/.made:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Converge needs Python 3.11 or newer; name one: make PYTHON=python3.12 …")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install -q --disable-pip-version-check -c requirements.lock uv
	@touch $@

$(VENV)/.learn: $(VENV)/.made requirements.lock pyproject.toml
	$(call install,.)

$(VENV)/.docs: $(VENV)/.made requirements.lock pyproject.toml
	$(call install,.[docs])

$(VENV)/.all: $(VENV)/.made requirements.lock pyproject.toml
	$(call install,.[$(EXTRAS)])
	@touch $(VENV)/.learn
