#!/bin/bash
# Checks licences, sources, bans and known vulnerabilities of all dependencies with cargo-deny (deny.toml). The list of
# vulnerabilities comes from the Web. If it is unavailable, the rest is checked and the exit code is 3.
set -euo pipefail
cd "$(dirname "$0")/.."

if ! command -v cargo-deny >/dev/null; then
    echo "cargo-deny is missing; run 'cargo install --locked cargo-deny'" >&2
    exit 1
fi
cargo deny --locked --log-level error check licenses bans sources
if ! timeout "${FETCH_SECONDS:-120}" cargo deny fetch db; then
    echo "cannot fetch the list of vulnerabilities; only licences, bans and sources were checked" >&2
    exit 3
fi
cargo deny --locked --log-level error check --disable-fetch advisories
