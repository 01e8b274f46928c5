#!/bin/bash
# Tests with a real browser: the dashboard (tests/browser), with a daemon that crawls the mock web; and pages that are
# rendered (crates/renderer/tests, tests/rendered.rs, tests/origins.rs). Missing programs are
# installed from Debian's packages if possible; otherwise the tests count as skipped. Totals go to
# target/browser-test-totals.
set -euo pipefail
cd "$(dirname "$0")/.."
totals=target/browser-test-totals
mkdir -p target

# Not a failure, because a machine without a browser can test everything else. The banner keeps it from looking like a success.
not_run() {
    local tests
    tests=$(($(cat tests/browser/*.test.js | grep -cE '^ *it\(') + $(cat tests/rendered.rs tests/origins.rs crates/renderer/tests/*.rs | grep -cE '^#\[(tokio::)?test')))
    {
        echo '############################################################'
        echo "# THE BROWSER TESTS WERE NOT RUN ($tests tests): $1"
        echo "# To run them: $2"
        echo '############################################################'
    } >&2
    echo "0 passed, 0 failed, $tests skipped" >"$totals"
    exit 0
}

browser() {
    local name
    for name in "${CHROMIUM:-}" chromium chromium-browser google-chrome; do
        if [ -n "$name" ] && command -v "$name"; then return; fi
    done
    return 1
}

missing=()
browser >/dev/null || missing+=(chromium)
command -v node >/dev/null || missing+=(nodejs)
command -v npm >/dev/null || missing+=(npm)
if [ ${#missing[@]} -gt 0 ]; then
    install="apt-get install --yes --no-install-recommends ${missing[*]}"
    if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
        not_run "missing: ${missing[*]}" "$install"
    fi
    { apt-get update -qq && DEBIAN_FRONTEND=noninteractive $install >/dev/null; } || not_run "cannot install ${missing[*]}" "$install"
fi
# Debian 12 has version 18; the last Playwright for it is 1.61.
[ "$(node --print 'process.versions.node.split(".")[0]')" -ge 18 ] || not_run "Node.js is $(node --version)" 'install Node.js 18 or newer, from Debian 12 or nodejs.org'
CHROMIUM=$(browser)
export CHROMIUM

if [ ! -d tests/browser/node_modules ] || [ tests/browser/package-lock.json -nt tests/browser/node_modules ]; then
    npm ci --prefix tests/browser --no-audit --no-fund --silent || not_run 'npm cannot fetch the packages' 'npm ci --prefix tests/browser'
    touch tests/browser/node_modules
fi

# The same build as for the other tests, so that nothing is compiled twice.
cargo test --workspace --locked --tests --no-run --quiet
RECRAWL_BUILT=$(cd "${CARGO_TARGET_DIR:-target}/debug" && pwd)
export RECRAWL_BUILT

# Both at once: they wait more than they compute. Within each, one test at a time: tests limit the time and the memory of
# browsers, and one stops all browsers of its process.
status=0
timeout --kill-after=10 1500 cargo test --workspace --locked --no-fail-fast --test pages --test scrolling --test memory \
    --test rendered -- --test-threads 1 >target/rendering-test.log 2>&1 &
rendering=$!
timeout --kill-after=10 1500 node --test --test-concurrency=1 --test-reporter=spec --test-reporter-destination=stdout \
    --test-reporter=tap --test-reporter-destination=target/browser-test.tap tests/browser/*.test.js || status=$?
wait "$rendering" || status=$?
cat target/rendering-test.log
# Failures stand last, with their reasons: a long log is read from its end.
awk '/^ *not ok/ { told = 1 } told { print } /^ *\.\.\.$/ { told = 0 }' target/browser-test.tap
awk '/^# pass / { passed += $3 } /^# fail / { failed += $3 } /^# cancelled / { failed += $3 } /^# skipped / { skipped = $3 }
     /^test result:/ { passed += $4; failed += $6 }
     END { printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped }' target/rendering-test.log target/browser-test.tap >"$totals"
cat "$totals"
exit "$status"
