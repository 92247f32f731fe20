#!/usr/bin/env bash
# Runs each row of the table in host/src/guide/speed.md in the profiles dev and release, on a fortieth of its tasks, and prints
# the processor seconds per seed that the whole run would take. Fails if a row of release takes a quarter longer than in dev,
# or if its results differ. Run from anywhere; it builds both.
#
#   tests/speed.sh [WORD]        only rows that contain the word
set -euo pipefail
cd "$(dirname "$0")/.."
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

cargo build -q -p host
cargo build -q -p host --release
target=${CARGO_TARGET_DIR:-target}

# train PROFILE TASKS OPTION...: prints the processor seconds of one run.
train() {
    local profile=$1 tasks=$2
    shift 2
    local TIMEFORMAT=%U
    rm -rf "$out/$profile"
    { time "$target/$profile/ictd" train --threads 1 "$@" --tasks "$tasks" --out "$out/$profile" \
        >/dev/null 2>"$out/messages"; } 2>&1 || { cat "$out/messages" >&2; return 1; }
}

failed=0
printf '%8s %8s %8s  %s\n' dev release guide row
# The row's cells: run, seeds together, seconds, command.
while IFS='|' read -r _ row seeds guide command _; do
    read -ra options <<<"${command//\`/}"
    all=4000
    for ((i = 0; i < ${#options[@]}; i++)); do
        [ "${options[i]}" != --tasks ] || { all=${options[i + 1]} && unset "options[i]" "options[i+1]"; }
    done
    tasks=$((all / 40)) of=()
    for profile in debug release; do
        start=$(train "$profile" 1 "${options[@]}")
        whole=$(train "$profile" "$tasks" "${options[@]}")
        of+=("$(awk -v a="$start" -v b="$whole" -v n="$tasks" -v all="$all" -v seeds="$seeds" \
            'BEGIN { printf "%.3f", (b - a) / (n - 1) * all / seeds }')")
    done
    printf '%8s %8s %8s  %s\n' "${of[@]}" "${guide// /}" "$row"
    awk -v a="${of[0]}" -v b="${of[1]}" 'BEGIN { exit !(b <= 1.25 * a) }' || { echo "release is slower" && failed=1; }
    diff -r --exclude run.json "$out/debug" "$out/release" || failed=1
done < <(grep '^|.*`--seeds' host/src/guide/speed.md | grep -- "${1:-}")
exit $failed
