#!/bin/bash
# Creates target/dist/recrawl-VERSION-TARGET.tar.gz: the programs, manual pages, completions, configuration, service files,
# manual and licences; and a Python wheel with the program. Both are reproducible: they have no dates, users or file
# order of this machine.
# PROFILE=release builds faster, PROFILE=dev packs the programs that tests use. TARGET=… selects another installed target, such as
# x86_64-unknown-linux-musl.
set -euo pipefail
cd "$(dirname "$0")/.."

target=${TARGET:-$(rustc -vV | sed -n 's/^host: //p')}
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)
name=recrawl-$version-$target
profile=${PROFILE:-shipped}
built=${CARGO_TARGET_DIR:-target}/${TARGET:+$TARGET/}$([ "$profile" = dev ] && echo debug || echo "$profile")
out=${CARGO_TARGET_DIR:-target}/dist
# The time of the last commit, for reproducible archives.
moment=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 0)}

for tool in strip readelf; do
    command -v "$tool" >/dev/null || { echo "$tool is missing; install binutils" >&2; exit 3; }
done

cargo build --locked --package recrawl --package recrawl-lab --profile "$profile" ${TARGET:+--target "$TARGET"}

rm -rf "${out:?}/$name"
mkdir -p "$out/$name"/{bin,share/man/man1,share/completions,share/doc,etc,deploy,licences}
for program in recrawl recrawl-lab; do
    packed=$out/$name/bin/$program
    install -m 755 "$built/$program" "$packed"
    strip "$packed"
    "$packed" man "$out/$name/share/man/man1"
    for shell in bash elvish fish powershell zsh; do
        "$packed" completions "$shell" >"$out/$name/share/completions/$program.$shell"
    done
done
cp config/recrawl.toml "$out/$name/etc/"
cp -r config/formulas "$out/$name/etc/"
cp -r deploy/. "$out/$name/deploy/"
cp README.md CHANGELOG.md SECURITY.md "$out/$name/"
cp -r docs "$out/$name/share/doc/recrawl"
cp LICENSE* "$out/$name/licences/"
cargo xtask notices >"$out/$name/licences/THIRD-PARTY"
(cd "$out/$name" && find . -type f ! -name SHA256SUMS -print0 | LC_ALL=C sort -z | xargs -0 sha256sum >SHA256SUMS)

tar --create --directory "$out" --sort=name --mtime="@$moment" --owner=0 --group=0 --numeric-owner --mode=go=u,go-w "$name" |
    gzip -9 --no-name >"$out/$name.tar.gz"
rm -f "$out"/*.whl "$out"/*.whl.sha256
wheel=$(SOURCE_DATE_EPOCH=$moment python3 scripts/wheel.py "$out/$name/bin/recrawl" "$version" "${target%%-*}" "$out")
for package in "$name.tar.gz" "$(basename "$wheel")"; do
    (cd "$out" && sha256sum "$package" | tee "$package.sha256")
done
