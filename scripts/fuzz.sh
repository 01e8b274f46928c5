#!/bin/bash
# Looks for inputs that break a check of crates/fuzzing: fuzz.sh TARGET DURATION RUNS. Empty arguments mean all targets,
# 60 seconds each, any number of inputs. Findings are in fuzz/artifacts; see docs/internals/fuzzing.md. New inputs that
# only reach new code go to target/fuzz, not to the corpus.
set -euo pipefail
cd "$(dirname "$0")/.."

known=$(ls fuzz/corpus)
targets=${1:-$known}
duration=${2:-60}
runs=${3:--1}

for target in $targets; do
    if ! grep -qx -- "$target" <<<"$known"; then
        echo "unknown target $target; use:" $known >&2
        exit 2
    fi
done
if ! cargo +nightly --version >/dev/null 2>&1; then
    echo "fuzzing needs a nightly compiler; run 'rustup toolchain install nightly --profile minimal'" >&2
    exit 1
fi
if ! cargo fuzz --version >/dev/null 2>&1; then
    echo "fuzzing needs cargo-fuzz; run 'cargo install cargo-fuzz --locked'" >&2
    exit 1
fi

# Use the dependency versions of the program.
cp Cargo.lock fuzz/Cargo.lock
built=$(realpath -m "${CARGO_TARGET_DIR:-target}")/fuzz
status=0
for target in $targets; do
    mkdir -p "$built/corpus/$target"
    echo "== $target: ${duration} s"
    cargo +nightly fuzz run --target-dir "$built" "$target" "$built/corpus/$target" "fuzz/corpus/$target" -- \
        -max_total_time="$duration" -runs="$runs" -max_len=4096 -dict="fuzz/dictionaries/$target.txt" \
        -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 || status=1
done
exit $status
