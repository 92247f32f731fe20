#!/usr/bin/env bash
# Runs each row of the table in host/src/guide/speed.md in the profiles dev and release, on a fortieth of its tasks (or TASKS of
# them), and prints for each
#
#   dev, release   the processor seconds per seed that the whole run would take
#   guide          those of the guide
#   peak           the share of the core's peak, by fused multiply-adds, that dev reaches: the operations of the batches alone are
#                  counted (tests/examples/flops.rs), multiplications and additions apart, so half is the most there is where both share their units
#   JAX            the seconds of the paper's equations in JAX (tests/speed_jax.py) divided by dev's; - without JAX
#
# It fails if a row of release takes a quarter longer than in dev, or if its results differ. Run from anywhere; it builds both.
#
#   tests/speed.sh [WORD]        only rows that contain the word; PYTHON is the Python that may have JAX
set -euo pipefail
cd "$(dirname "$0")/.."
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

cargo build -q -p host
cargo build -q -p host --release
cargo build -q -p tests --example flops
rustc --edition 2024 -O -o "$out/peak" tests/speed_peak.rs
target=${CARGO_TARGET_DIR:-target} python=${PYTHON:-python3}
peak=$("$out/peak")
echo "one core's peak: $peak thousand million operations per second"

# train PROFILE TASKS OPTION...: prints the processor seconds of one run.
train() {
    local profile=$1 tasks=$2
    shift 2
    local TIMEFORMAT=%U
    rm -rf "$out/$profile"
    { time "$target/$profile/ictd" train --threads 1 "$@" --tasks "$tasks" --out "$out/$profile" \
        >/dev/null 2>"$out/messages"; } 2>&1 || { cat "$out/messages" >&2; return 1; }
}

# flops OPTION...: prints the operations of one window.
flops() {
    local network=linear layers=3 stored=1 dim=4 n=30 decay=0
    while [ $# -gt 0 ]; do
        case $1 in
            --network | --attention) network=$2 ;;
            --layers) layers=$2 ;;
            --layer-sharing) stored=own ;;
            --dim) dim=$2 ;;
            --context-length) n=$2 ;;
            --trace-decay) decay=$2 ;;
        esac
        shift 2
    done
    [ $stored != own ] || stored=$layers
    "$target/debug/examples/flops" "$network" "$layers" "$stored" "$dim" "$n" "$decay"
}

failed=0
printf '%8s %8s %8s %6s %6s  %s\n' dev release guide peak JAX row
# The row's cells: run, seeds together, seconds, command.
while IFS='|' read -r _ row seeds guide command _; do
    read -ra options <<<"${command//\`/}"
    all=4000
    for ((i = 0; i < ${#options[@]}; i++)); do
        [ "${options[i]}" != --tasks ] || { all=${options[i + 1]} && unset "options[i]" "options[i+1]"; }
    done
    tasks=${TASKS:-$((all / 40))} of=()
    for profile in debug release; do
        start=$(train "$profile" 1 "${options[@]}")
        whole=$(train "$profile" "$tasks" "${options[@]}")
        of+=("$(awk -v a="$start" -v b="$whole" -v n="$tasks" -v all="$all" -v seeds="$seeds" \
            'BEGIN { printf "%.3f", (b - a) / (n - 1) * all / seeds }')")
    done
    share=$(awk -v ops="$(flops "${options[@]}")" -v all="$all" -v s="${of[0]}" -v peak="$peak" \
        'BEGIN { printf "%.0f%%", 100 * ops * all * 5 * 64 / s / peak / 1e9 }')
    jax=-
    if "$python" -c 'import jax' 2>/dev/null; then
        jax=$("$python" tests/speed_jax.py --tasks "$all" "${options[@]}" |
            awk -v s="${of[0]}" '{ if ($1 == "-") print; else printf "%.0f", $1 / s }')
    fi
    printf '%8s %8s %8s %6s %6s  %s\n' "${of[@]}" "${guide// /}" "$share" "$jax" "$row"
    awk -v a="${of[0]}" -v b="${of[1]}" 'BEGIN { exit !(b <= 1.25 * a) }' || { echo "release is slower" && failed=1; }
    diff -r --exclude run.json "$out/debug" "$out/release" || failed=1
done < <(grep '^|.*`--seeds' host/src/guide/speed.md | grep -- "${1:-}")
exit $failed
