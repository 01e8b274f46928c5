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

# Not a failure, because a machine without a package index can test everything else. The banner keeps it from looking like
# a success.
unserved=0
s3_server() {
    if RECRAWL_MOTO=$(bash scripts/s3-server.sh); then
        export RECRAWL_MOTO
        return
    fi
    export RECRAWL_MOTO=/nonexistent
    unserved=$(grep -c 'let Some(moto) = moto()' tests/vault.rs)
    {
        echo '############################################################'
        echo "# THE TESTS ON S3 ARE NOT RUN ($unserved tests): moto cannot be installed"
        echo '# To run them: bash scripts/s3-tests.sh'
        echo '############################################################'
    } >&2
}

step cargo fmt --all --check
step cargo clippy --workspace --all-targets --locked -- -D warnings
RUSTDOCFLAGS="-D warnings" step cargo doc --workspace --no-deps --document-private-items --locked
s3_server
status=0
step tests || status=$?
step bash scripts/browser-tests.sh || status=$?
# Totals of both.
awk '{ passed += $1; failed += $3; skipped += $5 } END { printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped }' \
    target/test-totals target/browser-test-totals
exit "$status"
