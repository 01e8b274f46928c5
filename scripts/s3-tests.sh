#!/bin/sh
# Runs the tests of the vault on a server that speaks S3: moto, from PyPI, in a virtual environment under target/.
set -eu
cd "$(dirname "$0")/.."
env=target/s3-tests
if ! test -x "$env/bin/moto_server"; then
    python3 -m venv "$env"
    "$env/bin/pip" install --quiet 'moto[server]'
fi
RECRAWL_MOTO="$PWD/$env/bin/moto_server" cargo test --workspace --locked --test program -- vault:: --nocapture "$@"
