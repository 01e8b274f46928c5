#!/bin/bash
# Creates target/dist/recrawl_VERSION_ARCH.deb with its checksum from the folder that dist.sh makes. PROFILE and TARGET as there.
set -euo pipefail
cd "$(dirname "$0")/.."

if ! cargo deb --version >/dev/null 2>&1; then
    echo "cargo-deb is missing; run 'cargo install cargo-deb'" >&2
    exit 3
fi

bash scripts/dist.sh
target=${TARGET:-$(rustc -vV | sed -n 's/^host: //p')}
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)
out=${CARGO_TARGET_DIR:-target}/dist
from=$out/recrawl-$version-$target
to=$out/deb

# What `cargo deb` packs lies where crates/recrawl/Cargo.toml names it, with the places of a package.
rm -rf "$to"
mkdir -p "$to"/{completions,man}
cp "$from"/bin/* "$to/"
for page in "$from"/share/man/man1/*; do
    gzip -9 --no-name --to-stdout "$page" >"$to/man/$(basename "$page").gz"
done
cp "$from"/share/completions/* "$to/completions/"
cp "$from/licences/THIRD-PARTY" "$to/THIRD-PARTY"
cp deploy/recrawl.toml "$to/recrawl.toml"
cp deploy/recrawl.sysusers "$to/recrawl.conf"
mkdir -p "$to/systemd"
sed -e 's#/usr/local/bin/#/usr/bin/#; s#file:/usr/local/share/doc/recrawl/README.md#man:recrawl(1)#' \
    deploy/recrawl.service >"$to/systemd/recrawl.service"

cargo deb --locked --no-build --no-strip --package recrawl --output "$out/" ${TARGET:+--target "$TARGET"}
(cd "$out" && sha256sum recrawl_"$version"*.deb | tee "recrawl_$version.deb.sha256")
