#!/bin/bash
# Licences, sources, bans and known vulnerabilities of all dependencies, by deny.toml (cargo-deny). The list of vulnerabilities
# is fetched from the Web; where it cannot be had, the rest is still checked and the exit code is 3.
set -euo pipefail
cd "$(dirname "$0")/.."

if ! command -v cargo-deny >/dev/null; then
    echo "cargo-deny is missing: run 'cargo install --locked cargo-deny'" >&2
    exit 1
fi
cargo deny --locked --log-level error check licenses bans sources
if ! timeout "${FETCH_SECONDS:-120}" cargo deny fetch db; then
    echo "the list of vulnerabilities could not be fetched: licences, bans and sources were checked, vulnerabilities were not" >&2
    exit 3
fi
cargo deny --locked --log-level error check --disable-fetch advisories
