#!/bin/bash
# Builds the manual in docs/ as a book in target/book, with mdBook.
set -euo pipefail
cd "$(dirname "$0")/.."

if ! command -v mdbook >/dev/null; then
    echo "mdbook is missing; run 'cargo install --locked mdbook'" >&2
    exit 1
fi
mdbook build docs --dest-dir ../target/book
echo "target/book/index.html"
