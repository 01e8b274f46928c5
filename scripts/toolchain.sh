#!/bin/sh
# Checks the build tools: cargo, make, a C compiler (for linking, ring, zstd and jemalloc), and with the argument `lint` also
# rustfmt and clippy. Installs missing tools if possible, and otherwise prints what to install.
set -eu

if ! command -v cargo >/dev/null; then
    echo "cargo is missing; install Rust 1.88 or later from https://rustup.rs, or run 'apt-get install rustup && rustup default stable'" >&2
    exit 1
fi

if ! command -v cc >/dev/null || ! command -v make >/dev/null; then
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        echo "no C compiler or no make; installing build-essential" >&2
        apt-get update -qq
        DEBIAN_FRONTEND=noninteractive apt-get install -qq --yes --no-install-recommends build-essential
    else
        echo "no C compiler or no make; run 'sudo apt-get install build-essential', or install make and a compiler named cc" >&2
        exit 1
    fi
fi

[ "${1:-}" = lint ] || exit 0
for component in rustfmt clippy; do
    case $component in rustfmt) command=fmt ;; *) command=$component ;; esac
    cargo "$command" --version >/dev/null 2>&1 && continue
    if command -v rustup >/dev/null && rustup component add "$component"; then
        continue
    fi
    echo "cargo $command is missing; run 'rustup component add $component', or install the package of your distribution" >&2
    exit 1
done
