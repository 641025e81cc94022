#!/bin/sh
# Holds what can't run on a laptop to its schema: workflows, issue forms, dependency updates, the citation. `make lint` runs it.
set -eu
cd "$(dirname "$0")/.."
fits() { .venv/bin/check-jsonschema -q --builtin-schema "vendor.$@"; }
fits github-workflows .github/workflows/*.yml
fits github-issue-forms .github/ISSUE_TEMPLATE/*-*.yml
fits github-issue-config .github/ISSUE_TEMPLATE/config.yml
fits dependabot .github/dependabot.yml
fits citation-file-format --default-filetype yaml CITATION.cff
if command -v go >/dev/null; then
  root=$PWD
  cd go/tools && go tool actionlint "$root"/.github/workflows/*.yml
else
  echo "not run: actionlint, because there is no Go here" >&2
fi
