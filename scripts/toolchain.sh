#!/bin/sh
# Makes sure that what the build needs is there: cargo, a C compiler (the linker, and the C parts of ring and zstd), and
# with the argument `lint` also rustfmt and clippy. Installs what it can, and says exactly what to install otherwise.
set -eu

if ! command -v cargo >/dev/null; then
    echo "cargo is missing: install Rust 1.88 or later, from https://rustup.rs or with 'apt-get install rustup && rustup default stable'" >&2
    exit 1
fi

if ! command -v cc >/dev/null; then
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        echo "no C compiler: installing build-essential" >&2
        apt-get update -qq
        DEBIAN_FRONTEND=noninteractive apt-get install -qq --yes --no-install-recommends build-essential
    else
        echo "no C compiler: run 'sudo apt-get install build-essential', or install any that is called cc" >&2
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
    echo "cargo $command is missing: run 'rustup component add $component', or install your distribution's package of it" >&2
    exit 1
done
