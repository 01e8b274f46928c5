#!/bin/bash
# Installs the programs that read archives and tables into the build folder, and lets the tests compare ours with them:
# check-archives.sh. Needs Python 3.9 or later with venv, and a package index on the first run.
set -euo pipefail
cd "$(dirname "$0")/.."

venv=$(realpath -m "${CARGO_TARGET_DIR:-target}")/archives
if ! python3 -c 'import sys, venv; sys.exit(sys.version_info < (3, 9))' 2>/dev/null; then
    echo "check-archives needs Python 3.9 or later with venv: run 'sudo apt-get install python3-venv'" >&2
    exit 1
fi
# Versions are fixed, so that a failure is of our making.
wanted="warcio==1.8.1 cdxj-indexer==1.5.0 pywb==2.10.0 pyarrow==26.0.1"
if [ "$(cat "$venv/installed" 2>/dev/null)" != "$wanted" ]; then
    rm -rf "$venv"
    python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet $wanted
    echo "$wanted" >"$venv/installed"
fi
cargo test --locked --package recrawl --test program outputs -- --nocapture
