#!/usr/bin/env bash
# The package as a user installs it, into an environment of its own; its types; its tests:
#   host/python/check.sh [PYTHON]
set -euo pipefail
cd "$(dirname "$0")"
environment=target/environment
"${1:-python3}" -m venv --clear "$environment"
. "$environment/bin/activate"
pip install --quiet ".[tests]"
cargo build --quiet -p host --manifest-path ../Cargo.toml
cargo fmt --check
cargo clippy --quiet -- -D warnings
mypy --strict ictd
# Not from this folder, where the sources would be found in place of what was installed.
pytest tests --import-mode=importlib -p no:cacheprovider
