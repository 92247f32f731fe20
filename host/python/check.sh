#!/usr/bin/env bash
# The package as a user installs it, into an environment of its own; its types; its tests:
#   host/python/check.sh [PYTHON]
set -euo pipefail
cd "$(dirname "$0")"
target=$(cd ../.. && pwd)/target
environment=$target/python/environment
"${1:-python3}" -m venv --clear "$environment"
. "$environment/bin/activate"
# Both beside one another: most of the time one crate is compiled by one core.
CARGO_TARGET_DIR=$target/python pip install --quiet --disable-pip-version-check ".[tests]" &
cargo build --quiet --workspace --manifest-path ../../Cargo.toml
wait $!
cargo fmt --check
CARGO_TARGET_DIR=$target/python cargo clippy --quiet -- -D warnings
mypy --strict ictd
# Not from this folder, where the sources would be found in place of what was installed.
ICTD_PROGRAM=$target/debug/ictd pytest tests --import-mode=importlib -p no:cacheprovider
