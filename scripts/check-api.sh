#!/bin/bash
# Installs schemathesis into the build folder and tests the API of a daemon against its OpenAPI document, with and
# without a token. Needs Python 3.10 or later with venv, and a package index on the first run.
set -euo pipefail
cd "$(dirname "$0")/.."

bash scripts/python-packages.sh schemathesis 3.10 schemathesis==4.32.5
cargo test --locked --package recrawl --test program api:: -- --nocapture
