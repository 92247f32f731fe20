#!/usr/bin/env bash
# Compares the profiles dev and release: the processor seconds in which each network trains, which differ by at most a
# quarter, and its results, which are equal. Run from anywhere; it builds both.
set -euo pipefail
cd "$(dirname "$0")/.."
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

cargo build -q -p host
cargo build -q -p host --release
target=${CARGO_TARGET_DIR:-target}

# train PROFILE NETWORK OPTION...: prints the processor seconds of one run on one thread.
train() {
    local profile=$1 network=$2
    shift 2
    local TIMEFORMAT=%U
    { time "$target/$profile/ictd" --threads 1 train --seeds 16 --tasks 100 --out "$out/$profile-$network" "$@" \
        >/dev/null 2>"$out/messages"; } 2>&1 || { cat "$out/messages" >&2; return 1; }
}

failed=0
printf '%-10s %8s %8s\n' network debug release
for network in linear softmax rnn; do
    case $network in
        linear) options=() ;;
        softmax) options=(--attention softmax) ;;
        rnn) options=(--network rnn) ;;
    esac
    debug=$(train debug "$network" "${options[@]}")
    release=$(train release "$network" "${options[@]}")
    printf '%-10s %8s %8s\n' "$network" "$debug" "$release"
    awk -v a="$debug" -v b="$release" 'BEGIN { exit !(b <= 1.25 * a) }' || { echo "$network: release is slower" && failed=1; }
    diff -r --exclude run.json "$out/debug-$network" "$out/release-$network" || failed=1
done
exit $failed
