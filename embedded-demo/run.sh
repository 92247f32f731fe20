#!/usr/bin/env bash
# Builds the demo for a board and runs it in QEMU: embedded-demo/run.sh [BOARD | table]
#
#   mps2-an386  Cortex-M4F (default): runs, and holds the operations to their budgets
#   stm32f405   STM32F405 (Cortex-M4F): the same ELF runs in QEMU's netduinoplus2
#   microbit    micro:bit v1 (Cortex-M0, 16 KiB RAM): inference alone runs
#   rp2350      Raspberry Pi RP2350 (Cortex-M33): builds, and checks what its boot ROM looks for;
#               QEMU has no such machine
#   table       the costs by feature dimension, layers and optimisation level, on the mps2-an386:
#               README.md's tables
#
# The target need not be installed. For a real board see README.md (probe-rs, feature rtt).
set -euo pipefail
cd "$(dirname "$0")/.."
. tests/platforms/cargo-for.sh

board=${1:-mps2-an386}
if [ "$board" = table ]; then
    need qemu-system-arm qemu-system-arm
    cargo build -q -p runner --target-dir target/runner
    target=thumbv7em-none-eabihf
    rows=
    for level in 3 '"s"'; do
        BOARD=mps2-an386 cargo_for $target build -q --release -p embedded-demo --bin table \
            --config "profile.release.opt-level=$level" --target-dir target/embedded/table
        rows+=$(target/runner/debug/runner target/embedded/table/$target/release/table)$'\n'
    done
    for table in instructions bytes universal; do
        printf '\n%s, %s\n' "$table" "$COMPILER"
        sed -n "s/^$table //p" <<<"$rows" | sort -s -t'|' -k2,2n
    done
    exit 0
fi
case $board in
mps2-an386 | stm32f405) target=thumbv7em-none-eabihf ;;
microbit) target=thumbv6m-none-eabi ;;
rp2350) target=thumbv8m.main-none-eabihf ;;
*)
    echo "unknown board $board: accepted are mps2-an386, stm32f405, microbit, rp2350, table" >&2
    exit 2
    ;;
esac

out=target/embedded/$board
bins=(--bin inference --bin universal)
[ "$board" = microbit ] || bins+=(--bin embedded-demo)
# Software floating point unrolled for speed would not fit the flash budget.
[ "$board" != microbit ] || bins+=(--config 'profile.release.opt-level="s"')
export BOARD=$board
cargo_for "$target" build -q --release -p embedded-demo "${bins[@]}" --target-dir "$out"
elf=$out/$target/release

echo "$board, $target, $COMPILER"
cargo build -q -p runner --target-dir target/runner
runner=target/runner/debug/runner
"$runner" --footprint "$elf/inference"
"$runner" --footprint "$elf/universal"
if [ "$board" = rp2350 ]; then
    "$runner" --boot-block "$elf/inference"
    "$runner" --boot-block "$elf/universal"
    "$runner" --boot-block "$elf/embedded-demo"
    exit 0
fi

need qemu-system-arm qemu-system-arm
for alone in inference universal; do
    "$runner" --board "$board" "$elf/$alone"
    echo "$alone alone: the host's value, stack within its budget"
done
[ "$board" != microbit ] || exit 0

"$runner" --board "$board" "$elf/embedded-demo" | tee "$out/chip.log"
cargo run -q -p embedded-demo --bin embedded-demo >"$out/host.log"
if ! diff <(grep -v '^chip: ' "$out/chip.log") "$out/host.log"; then
    echo "the chip's lines differ from the host's" >&2
    exit 1
fi
echo "every line equals the host's"
