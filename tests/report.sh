#!/usr/bin/env bash
# The report in a browser, clicked, and its module: installs Chromium and Node.js if they are missing (Debian), and fails
# without them.
#   tests/report.sh
#   ICTD_SCREENSHOTS=DIR tests/report.sh    leaves pictures of the page in DIR
set -euo pipefail
cd "$(dirname "$0")/.."
. tests/platforms/cargo-for.sh

[ -n "${CHROMIUM:-}" ] || command -v chromium-browser google-chrome chrome >/dev/null ||
    need chromium chromium
need node nodejs
CI=1 cargo test -p host --test it live_module "$@"
CI=1 cargo test -p host --test it report_page "$@"
