#!/bin/sh
# Gets programs that tests need: Chromium, axe-core from npm, and bubblewrap for the jail of class grading. What cannot be
# had is said, and the tests that need it then report "not run".
cd "$(dirname "$0")/docs" || exit

found() { for name in "$CHROMIUM" chromium chromium-browser google-chrome; do command -v "$name" && return; done; }

by_apt() {
    [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || return
    { apt-get update -qq && apt-get install -qq -y "$1"; } >/dev/null 2>&1
}

if ! command -v bwrap >/dev/null && [ "$(uname)" = Linux ]; then
    by_apt bubblewrap
    command -v bwrap >/dev/null || echo "No bubblewrap here. Install it (Debian: apt-get install bubblewrap)."
fi

if ! found >/dev/null; then
    by_apt chromium
    found >/dev/null || echo "No Chromium here. Install it (Debian: apt-get install chromium), or name one: CHROMIUM=/path make test"
fi

if [ ! node_modules/.package-lock.json -nt package-lock.json ]; then
    if command -v npm >/dev/null; then
        npm ci --silent --no-audit --no-fund && touch node_modules/.package-lock.json
    else
        echo "No npm here. Install Node.js 20 or newer for the accessibility checks and the tests of the figures."
    fi
fi
exit 0
