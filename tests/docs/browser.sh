#!/bin/sh
# Gets what the browser tests need: Chromium, and axe-core from npm. What cannot be had is said, and the tests that
# need it then report "not run" with the same words.
cd "$(dirname "$0")" || exit

found() { for name in "$CHROMIUM" chromium chromium-browser google-chrome; do command -v "$name" && return; done; }

if ! found >/dev/null; then
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        { apt-get update -qq && apt-get install -qq -y chromium; } >/dev/null 2>&1
    fi
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
