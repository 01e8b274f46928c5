#!/bin/bash
# Installs schemathesis into the build folder and lets it try the API of a daemon against its own OpenAPI document, with a token and
# without one: check-api.sh. Needs Python 3.10 or later with venv, and a package index on the first run.
set -euo pipefail
cd "$(dirname "$0")/.."

venv=$(realpath -m "${CARGO_TARGET_DIR:-target}")/schemathesis
if ! python3 -c 'import sys, venv; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; then
    echo "check-api needs Python 3.10 or later with venv: run 'sudo apt-get install python3-venv'" >&2
    exit 1
fi
# The version is fixed, so that a failure is of our making.
wanted="schemathesis==4.32.5"
if [ "$(cat "$venv/installed" 2>/dev/null)" != "$wanted" ]; then
    rm -rf "$venv"
    python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet $wanted
    echo "$wanted" >"$venv/installed"
fi
cargo test --locked --package recrawl --test program api:: -- --nocapture
