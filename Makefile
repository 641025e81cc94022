# Every target is a line or two that call `converge`, pytest or mkdocs: nothing is only possible through make.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
EXTRAS := notebooks,docs,dev
LAB    ?=
AGAINST ?=
NAME   ?=
ENGINE ?= docker
PORT   := 8000

# A learner whose checks fail has read why. Make would add "*** Error 1" to that, whatever the recipe does, and only a
# status of 0 keeps it from doing so. So on a terminal its recipe ends make itself, with the one signal that neither make
# nor a shell comments on; the status is still not 0. Below a program that ignores this signal, as many in Python do, make
# ignores it as well: then Ctrl-C's signal ends it, and the recipe's 0 is not make's. Make has to be in its handler before
# the recipe is over, hence the pause. A script, which has no terminal, sees make's usual end.
end_make = kill -PIPE $$PPID; sh -c 'kill -INT $$$$' || { kill -INT $$PPID 2>/dev/null; sleep 0.5; code=0; }
or_end_quietly = || { code=$$?; test ! -t 2 || { $(end_make); }; exit $$code; }

# MkDocs would find that out when it has built the site.
port_is_free = 'import socket, sys; taken = not socket.socket().connect_ex(("127.0.0.1", $(PORT))); \
  sys.exit(taken and f"port $(PORT) is taken: make docs PORT={$(PORT) + 1}")'

.DEFAULT_GOAL := help
.PHONY: help check watch hint list up down shell status doctor docs notebook site recorded notebooks test test-failed test-as-user test-kind test-clients verify edits faults lint style types format browser bench lock clean go-labs audit-real

help: ## Show this
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  \033[1mmake %-12s\033[0m %s\n", $$1, $$2} /^## /{print "\n" substr($$0, 4)}' $(MAKEFILE_LIST)

## Learn
check: $(VENV)/.learn ## Grade the first lab that is not passed yet (LAB=03, LAB=all, AGAINST=solutions)
	@$(BIN)/converge check $(LAB) $(if $(AGAINST),--against $(AGAINST)) $(or_end_quietly)

watch: $(VENV)/.learn ## Grade again at every save (LAB=03)
	@$(BIN)/converge watch $(LAB) $(or_end_quietly)

hint: $(VENV)/.learn ## Show the next hint (LAB=03)
	@$(BIN)/converge hint $(LAB) $(or_end_quietly)

list: $(VENV)/.learn ## Show the lessons and your progress
	@$(BIN)/converge progress

docs: $(VENV)/.docs ## Read the course: serve the site on http://127.0.0.1:8000, until Ctrl-C (PORT=8001)
	@$(BIN)/python -c $(port_is_free) $(or_end_quietly)
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs serve --no-strict --dev-addr 127.0.0.1:$(PORT)

notebook: $(VENV)/.notebooks ## Open the notebook of a lesson in JupyterLab (LAB=03)
	@$(BIN)/converge notebook $(LAB)

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
test: $(VENV)/.all browser lint ## Test the course itself, and grade every skeleton and solution
	@$(BIN)/pytest -n 5 --dist loadgroup

test-failed: $(VENV)/.all browser lint ## Try once more, one at a time, what failed in the last make test
	@$(BIN)/pytest -n 1 --dist loadgroup --last-failed --last-failed-no-failures none

test-as-user: $(VENV)/.all ## Test the jail and the attacks of a class as an ordinary user, typed by root
	@sh tests/as_user.sh $(BIN)/pytest tests/classroom/test_jail.py tests/classroom/test_cheats.py

# The labs run in what `make check` installs, and nothing else: a package that only tests have would hide what's missing.
test-kind: export CONVERGE_STATE := $(CURDIR)/$(VENV)/kind
test-kind: export CONVERGE_TEST_KIND := 1
test-kind: $(VENV)/.all ## Test on kind: provider, contract, labs (CONVERGE_KIND_IMAGE, CONVERGE_WEB_IMAGES, …)
	@$(ENGINE) build -q -f solutions/16_ship/Dockerfile -t webapp-operator:1 .
	@$(BIN)/converge up --provider kind
	@$(BIN)/converge load webapp-operator:1
	@$(MAKE) --no-print-directory VENV=$(VENV)/learner check LAB=all AGAINST=solutions || { $(BIN)/converge down; exit 1; }
	@$(BIN)/pytest -n 2 --dist loadgroup tests/cluster/test_kind*.py tests/cluster/test_contract_*.py; \
	  code=$$?; $(BIN)/converge down; exit $$code

test-clients: export CONVERGE_TEST_CLIENTS := 1
test-clients: $(VENV)/.all ## Test the recorder with clients in Rust and Java; builds them first (cargo, Maven)
	@$(BIN)/pytest -m clients tests/recorder/test_transparency_clients.py

verify: $(VENV)/.all ## Grade the grader: wrong answers are refused, other right ones accepted (LAB=03)
	@$(BIN)/converge verify $(if $(LAB),,--quick) $(LAB)

edits: $(VENV)/.all ## Grade the grader with every small edit of the solutions; goes on where it was stopped (LAB=03)
	@$(BIN)/converge verify --edits $(LAB)

faults: export CONVERGE_EVERY_FAULT := 1
faults: $(VENV)/.all ## Grade the solutions once with every fault at every request, where checks make some (LAB=06)
	@$(BIN)/converge check $(or $(LAB),all) --against solutions

lint: $(VENV)/.all ## Check style, types, layers, workflows and the worst habits of our prose
	@$(MAKE) --no-print-directory -j 2 style types

style:
	@$(BIN)/ruff check -q . && $(BIN)/ruff format -q --check . && $(BIN)/lint-imports && $(BIN)/python tests/docs/voice.py && sh .github/check.sh

types:
	@$(BIN)/mypy

format: $(VENV)/.all ## Put the code in shape
	@$(BIN)/ruff check -q --fix . ; $(BIN)/ruff format -q .

site: $(VENV)/.all ## Build the site into site/
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

recorded: $(VENV)/.all ## Record the output that lessons show (NAME=03_workqueue or 03_workqueue.see-it-fail)
	@$(BIN)/python -m converge.site.refresh $(NAME)

notebooks: $(VENV)/.all ## Run the notebooks on the cluster and write their pages (LAB=03)
	@$(BIN)/python -m converge.site.notebooks $(LAB)

browser: ## Get programs that tests need: Chromium, axe-core, bubblewrap
	@sh tests/programs.sh

go-labs: $(VENV)/.all ## Grade the operators of the Go tabs with the checks of their labs (LAB=06)
	@$(BIN)/python -m go.labs $(LAB)

bench: $(VENV)/.all ## Run all benchmarks and write benchmarks/results.json
	@$(BIN)/python -m benchmarks

audit-real: $(VENV)/.all ## Audit operators from package registries, at pinned versions (NAME=sample-controller)
	@$(BIN)/python -m tests.audit.real $(NAME) $(if $(OPTIONS),-- $(OPTIONS))

lock: $(VENV)/.all ## Choose exact versions again
	@$(BIN)/uv pip compile -q --universal --python-version 3.11 --no-emit-index-url --no-header --all-extras --upgrade pyproject.toml -o requirements.lock

clean: ## Remove the virtual environment and what was built here
	rm -rf $(VENV) site build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis

# uv installs in seconds; where it cannot reach what pip can, pip does it. Compiled now, because a submission runs
# without the right to keep what Python compiles: it would compile kopf again at each start.
define install
	@$(BIN)/uv pip install -q --compile-bytecode --python $(BIN)/python -c requirements.lock -e '$(1)' 2>/dev/null || $(BIN)/pip install -q --disable-pip-version-check -c requirements.lock -e '$(1)'
	@touch $@
endef

$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Converge needs Python 3.11 or newer; name one: make PYTHON=python3.12 …")'
	@echo "Setting up $(VENV), once." >&2
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/pip install -q --disable-pip-version-check -c requirements.lock uv
	@touch $@

$(VENV)/.learn: $(VENV)/.made requirements.lock pyproject.toml
	$(call install,.)

$(VENV)/.docs: $(VENV)/.made requirements.lock pyproject.toml
	$(call install,.[docs])

$(VENV)/.notebooks: $(VENV)/.made requirements.lock pyproject.toml
	$(call install,.[notebooks])
	@$(BIN)/python -c 'from converge.cli import kernel; kernel.install()'

$(VENV)/.all: $(VENV)/.made requirements.lock pyproject.toml
	$(call install,.[$(EXTRAS)])
	@$(BIN)/python -c 'from converge.cli import kernel; kernel.install()'
	@touch $(VENV)/.learn $(VENV)/.docs $(VENV)/.notebooks
