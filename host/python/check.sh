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
# Quick to build: no bit depends on the level.
export CARGO_PROFILE_RELEASE_OPT_LEVEL=1
CARGO_TARGET_DIR=$target/python pip install --quiet --disable-pip-version-check ".[tests]"
if [ -z "${ICTD_PROGRAM:-}" ]; then
  cargo build --quiet -p host --manifest-path ../Cargo.toml
  export ICTD_PROGRAM=$target/debug/ictd
fi
CARGO_TARGET_DIR=$target/python cargo clippy --quiet -- -D warnings
mypy --strict ictd
# Not from this folder, where the sources would be found in place of what was installed.
pytest tests --import-mode=importlib -p no:cacheprovider
