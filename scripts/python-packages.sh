#!/bin/bash
# Installs Python packages into a virtual environment in the build folder:
# python-packages.sh FOLDER OLDEST_PYTHON PACKAGE==VERSION... Needs a package index on the first run.
# Versions are pinned, so that updates of packages cannot cause failures.
set -euo pipefail
cd "$(dirname "$0")/.."

venv=$(realpath -m "${CARGO_TARGET_DIR:-target}")/$1 oldest=$2
shift 2
if ! python3 -c "import sys, venv; sys.exit(sys.version_info < (${oldest/./, }))" 2>/dev/null; then
    echo "this job needs Python $oldest or later with venv; run 'sudo apt-get install python3-venv'" >&2
    exit 1
fi
if [ "$(cat "$venv/installed" 2>/dev/null)" != "$*" ]; then
    rm -rf "$venv"
    python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet "$@"
    echo "$*" >"$venv/installed"
fi
