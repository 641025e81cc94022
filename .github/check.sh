#!/bin/sh
# Holds what can't run on a laptop to its schema: workflows, our action, issue forms, dependency updates, the citation. `make lint` runs it.
set -eu
cd "$(dirname "$0")/.."
fits() { .venv/bin/check-jsonschema -q --builtin-schema "vendor.$@"; }
fits github-workflows .github/workflows/*.yml
fits github-actions action.yml
fits github-issue-forms .github/ISSUE_TEMPLATE/*-*.yml
fits github-issue-config .github/ISSUE_TEMPLATE/config.yml
fits dependabot .github/dependabot.yml
fits citation-file-format --default-filetype yaml CITATION.cff
if command -v go >/dev/null; then
  root=$PWD
  # Go's caches are the course's own, beside the programs, so that a fresh home doesn't compile everything again.
  eval "$(.venv/bin/python -c 'from benchmarks import golang; print("export", *(f"{k}={v!r}" for k, v in golang.environment().items()))')"
  cd go/tools && go tool actionlint "$root"/.github/workflows/*.yml
else
  echo "not run: actionlint, because there is no Go here" >&2
fi
