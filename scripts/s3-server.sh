#!/bin/bash
# Installs a server that speaks S3, moto, for the tests of the vault, and prints its path. Needs a package index on the
# first run.
set -euo pipefail
cd "$(dirname "$0")/.."
bash scripts/python-packages.sh s3 3.9 'moto[server]==5.2.5' >&2
echo "$(realpath "${CARGO_TARGET_DIR:-target}")/s3/bin/moto_server"
