#!/usr/bin/env bash
# The package as a user installs it, into an environment of its own; its types; its tests:
#   host/python/check.sh [PYTHON]
# ICTD_PROGRAM=PATH is the command line that it is compared with, instead of one that is built.
set -euo pipefail
cd "$(dirname "$0")"
target=$(cd ../.. && pwd)/target
environment=$target/python/environment
"${1:-python3}" -m venv --clear "$environment"
. "$environment/bin/activate"
# From what the program's tests are built from: only what Python needs is compiled.
MATURIN_PEP517_ARGS="--profile dev" pip install --quiet --disable-pip-version-check ".[tests]"
if [ -z "${ICTD_PROGRAM:-}" ]; then
  cargo build --quiet -p host
  export ICTD_PROGRAM=$target/debug/ictd
fi
cargo clippy --quiet --features extension -- -D warnings
mypy --strict ictd
# Not from this folder, where the sources would be found in place of what was installed.
pytest tests --import-mode=importlib -p no:cacheprovider
