#!/usr/bin/env bash
# Rebuilds host/assets/report/live.wasm, the core inside the report:
#   host/live/build.sh
# The tests hold what it computes against the core: cargo test -p host --test it live_module
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/platforms/cargo-for.sh

target=wasm32-unknown-unknown
out=target/live
asset=host/assets/report/live.wasm
# No path of the machine in the module.
export RUSTFLAGS="--remap-path-prefix=$PWD=. --remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=cargo"
need wasm-opt binaryen
cargo_for "$target" build -q -p live --profile live --target-dir "$out"
wasm-opt -Os --mvp-features --enable-bulk-memory --enable-sign-ext --enable-mutable-globals \
    --enable-nontrapping-float-to-int "$out/$target/live/live.wasm" -o "$asset.new"
mv "$asset.new" "$asset"
echo "$asset: $(wc -c <"$asset") bytes"
