#!/bin/bash
# Runs the tests of the vault on a server that speaks S3; part of `make test`.
set -euo pipefail
cd "$(dirname "$0")/.."
RECRAWL_MOTO=$(bash scripts/s3-server.sh)
export RECRAWL_MOTO
cargo test --workspace --locked --test program -- vault:: --nocapture "$@"
