#!/bin/bash
# Installs and runs each package of target/dist in a root that holds nothing but the system libraries that its program
# names, certificates and a configuration; prints the seconds from the package to the first page fetched from a mock web.
# Packages that are not there are skipped. The container image needs Docker: build it from deploy/Dockerfile.
# MOCKWEB=FILE of recrawl-mockweb (default: target/release), DIST=FOLDER of the packages. Needs Linux, Python 3 with pip.
set -euo pipefail
cd "$(dirname "$0")/.."

built=${CARGO_TARGET_DIR:-target}
dist=$(realpath "${DIST:-$built/dist}")
mockweb=${MOCKWEB:-$built/release/recrawl-mockweb}
folder=$(mktemp -d)
checked=0
trap 'kill "$web" 2>/dev/null || true; rm -rf "$folder"' EXIT

coproc WEB { exec "$mockweb" procedural --with-parent --pages 40 --hosts 2; }
web=$WEB_PID
read -r info <&"${WEB[0]}"
seed=$(python3 -c 'import json, sys; print(json.loads(sys.argv[1])["seeds"][0])' "$info")

# A root of its own, with the libraries of the program at the same places.
root_of() {
    local program=$1 root=$2 library
    mkdir -p "$root"/{etc/ssl,tmp,dev,proc}
    cp -rL /etc/ssl/certs "$root/etc/ssl/"
    { ldd "$program" 2>/dev/null || true; } | grep -o '/[^ ]*' | while read -r library; do
        mkdir -p "$root$(dirname "$library")"
        cp -L "$library" "$root$library"
    done
    printf '[fetch]\nallow_addresses = ["127.0.0.0/8"]\n[politeness]\ndelay_per_host = "0 s"\n[storage]\nreserve = "1 MiB"\n' >"$root/etc/recrawl.toml"
}

# Runs the program in its root until the first page is there.
check() {
    local name=$1 root=$2 path=$3 begun=$4
    unshare --map-root-user --mount --root="$root" "$path" crawl "$seed" --config /etc/recrawl.toml --data-dir /tmp/data \
        --cycles 1 --events /tmp/events.jsonl >"$folder/$name.log" 2>&1 || { cat "$folder/$name.log" >&2; exit 1; }
    python3 - "$name" "$root/tmp/events.jsonl" "$begun" <<'END'
import json, sys
name, events, begun = sys.argv[1:]
pages = [event for event in map(json.loads, open(events)) if event.get("outcome") == "fetched"]
if not pages:
    sys.exit(f"{name}: no page was fetched")
# Events have whole seconds.
print(f"{name}: {len(pages)} pages fetched, the first within {pages[0]['time'] + 1 - float(begun):.1f} s")
END
    checked=$((checked + 1))
}

for sum in "$dist"/*.sha256; do
    [ ! -e "$sum" ] || (cd "$dist" && sha256sum --check --quiet "$sum")
done
for package in "$dist"/recrawl-*.tar.gz; do
    [ -e "$package" ] || continue
    begun=$(date +%s.%N) root=$folder/archive
    mkdir -p "$root/opt"
    tar --extract --file "$package" --directory "$root/opt" --strip-components=1
    root_of "$root/opt/bin/recrawl" "$root"
    check archive "$root" /opt/bin/recrawl "$begun"
    rm -rf "$root"
done
for package in "$dist"/recrawl_*.deb; do
    [ -e "$package" ] || continue
    begun=$(date +%s.%N) root=$folder/deb
    mkdir -p "$root"
    dpkg-deb --extract "$package" "$root"
    root_of "$root/usr/bin/recrawl" "$root"
    check deb "$root" /usr/bin/recrawl "$begun"
    rm -rf "$root"
done
for package in "$dist"/recrawl-*.whl; do
    [ -e "$package" ] || continue
    begun=$(date +%s.%N) root=$folder/wheel
    python3 -m venv "$root/opt"
    # pip refuses a wheel whose tag is not of this system.
    "$root/opt/bin/pip" --quiet --disable-pip-version-check install --no-index --no-deps "$package"
    root_of "$root/opt/bin/recrawl" "$root"
    check wheel "$root" /opt/bin/recrawl "$begun"
    rm -rf "$root"
done
[ "$checked" -gt 0 ] || { echo "$dist has no package; run 'make dist' and 'make deb'" >&2; exit 1; }
