#!/bin/bash
# Installs readers of archives and tables into the build folder, and runs the tests that compare recrawl's output
# with them. Needs Python 3.9 or later with venv, and a package index on the first run.
set -euo pipefail
cd "$(dirname "$0")/.."

bash scripts/python-packages.sh archives 3.9 warcio==1.8.1 cdxj-indexer==1.5.0 pywb==2.10.0 pyarrow==26.0.1 wacz==0.6.0
# With --workspace, nothing is built anew that other tests have built.
cargo test --workspace --locked --test program outputs -- --nocapture
