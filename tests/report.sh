#!/usr/bin/env bash
# The report in a browser, clicked: installs Chromium if it is missing (Debian), and fails without it.
#   tests/report.sh
#   ICTD_SCREENSHOTS=DIR tests/report.sh    leaves pictures of the page in DIR
set -euo pipefail
cd "$(dirname "$0")/.."
. tests/platforms/cargo-for.sh

[ -n "${CHROMIUM:-}" ] || command -v chromium-browser google-chrome chrome >/dev/null ||
    need chromium chromium
CI=1 cargo test -p live "$@"
CI=1 cargo test -p host --test it report_page "$@"
