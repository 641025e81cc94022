#!/bin/sh
# Runs a command as the user nobody, when root types `sh tests/as_user.sh .venv/bin/pytest tests/classroom/test_cheats.py`.
# So root can test what an ordinary user has, a jail made in another way, without a second clone and its environment. What
# root keeps to itself, such as a clone in /root, is shown to nobody in a mount namespace.
set -eu
umask 022
cd "$(dirname "$0")/.."
here=$PWD

if [ "$(id -u)" != 0 ]; then
    echo "You aren't root, so what you start runs as an ordinary user. Type: $*" >&2
    exit 2
fi
if [ "${1:-}" != --in-namespace ]; then
    made=$(mktemp -d /tmp/converge-nobody.XXXXXX)
    chown 65534:65534 "$made"
    code=0
    unshare --mount --propagation private sh tests/as_user.sh --in-namespace "$made" "$@" || code=$?
    rm -rf "$made"
    exit "$code"
fi
made=$2
shift 2

as_nobody() { setpriv --reuid 65534 --regid 65534 --clear-groups -- "$@"; }

closed() { # the first directory on the way to $1 that nobody may not enter, if there is one
    way=
    for part in $(dirname "$1" | tr / ' '); do
        way=$way/$part
        ! test -e "$way" || as_nobody test -x "$way" || { echo "$way" && return; }
    done
}

say='import sys; from converge.cluster.directories import cache_dir; print(sys.base_prefix, cache_dir())'
hidden=
for place in "$here" $(.venv/bin/python -c "$say"); do
    cache=$place # the last of them
    if [ "$(closed "$place")" ]; then
        mkdir -p "$made/shown$place"
        mount --rbind "$place" "$made/shown$place"
        hidden="$hidden $place"
    fi
done
for place in $hidden; do
    over=$(closed "$place")
    [ -z "$over" ] || mount -t tmpfs -o mode=755 none "$over"
    mkdir -p "$place"
    mount --rbind "$made/shown$place" "$place"
done
cd "$here"
if ! as_nobody test -r pyproject.toml || ! as_nobody .venv/bin/python -c ''; then
    echo "The user nobody can't read the clone. Type: chmod -R o+rX $here" >&2
    exit 2
fi

export HOME="$made" TMPDIR="$made" CONVERGE_CACHE="$cache" CONVERGE_STATE="$made/state"
export PYTHONDONTWRITEBYTECODE=1 PYTEST_ADDOPTS='-p no:cacheprovider'
code=0
as_nobody "$@" || code=$?
as_nobody .venv/bin/converge down >/dev/null
umount -R "$made/shown"/* 2>/dev/null || true
exit "$code"
