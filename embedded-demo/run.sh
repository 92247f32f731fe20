#!/usr/bin/env bash
# Builds the demo for a board and runs it in QEMU: embedded-demo/run.sh [BOARD | tasks | table]
#
#   mps2-an386  Cortex-M4F (default): runs, and holds the operations to their budgets
#   stm32f405   STM32F405 (Cortex-M4F): the same ELF runs in QEMU's netduinoplus2
#   microbit    micro:bit v1 (Cortex-M0, 16 KiB RAM): inference and the predictor run
#   rp2350      Raspberry Pi RP2350 (Cortex-M33): builds, and checks what its boot ROM looks for;
#               QEMU has no such machine
#   tasks       a sensor task that feeds a predictor, in embassy and in RTIC, on an LM3S6965 (Cortex-M3)
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
    cargo build -q --manifest-path embedded-demo/runner/Cargo.toml --target-dir target/runner
    # measure TARGET LEVEL: adds what the program prints to rows.
    measure() {
        BOARD=mps2-an386 cargo_for "$1" build -q --release -p embedded-demo --bin table \
            --config "profile.release.opt-level=$2" --target-dir target/embedded/table
        rows+=$(target/runner/debug/runner "target/embedded/table/$1/release/table")$'\n'
    }
    rows=
    measure thumbv7em-none-eabihf 3
    measure thumbv7em-none-eabihf '"s"'
    for table in instructions bytes universal classical; do
        printf '\n%s, %s\n' "$table" "$COMPILER"
        sed -n "s/^$table //p" <<<"$rows" | sort -s -t'|' -k2,2n
    done
    # A Cortex-M0's instructions, counted on the same machine.
    rows=
    measure thumbv6m-none-eabi '"s"'
    printf '\nuniversal, Cortex-M0\n'
    sed -n 's/^universal //p' <<<"$rows"
    exit 0
fi
if [ "$board" = tasks ]; then
    need qemu-system-arm qemu-system-arm
    cd embedded-demo/tasks
    cargo_for thumbv7m-none-eabi build -q --locked --target-dir ../../target/embedded/tasks
    for program in embassy rtic; do
        timeout 60 qemu-system-arm -M lm3s6965evb -nographic -monitor none -serial none \
            -semihosting-config enable=on,target=native \
            -kernel "../../target/embedded/tasks/thumbv7m-none-eabi/debug/$program" </dev/null 2>/dev/null
        echo "$program: 1,000 samples, and one alarm"
    done
    exit 0
fi
case $board in
mps2-an386 | stm32f405) target=thumbv7em-none-eabihf ;;
microbit) target=thumbv6m-none-eabi ;;
rp2350) target=thumbv8m.main-none-eabihf ;;
*)
    echo "unknown board $board: accepted are mps2-an386, stm32f405, microbit, rp2350, tasks, table" >&2
    exit 2
    ;;
esac

out=target/embedded/$board
export BOARD=$board
build() { cargo_for "$target" build -q --release -p embedded-demo --target-dir "$out" "$@"; }
if [ "$board" = microbit ]; then
    # Software floating point unrolled for speed would not fit the flash budget.
    small=(--config 'profile.release.opt-level="s"')
    build --no-default-features --bin inference --bin universal "${small[@]}"
    build --bin predictor "${small[@]}"
else
    build --no-default-features --bin inference --bin universal --bin short
    build --bin embedded-demo --bin act --bin predictor
fi
elf=$out/$target/release

echo "$board, $target, $COMPILER"
cargo build -q --manifest-path embedded-demo/runner/Cargo.toml --target-dir target/runner
runner=target/runner/debug/runner
"$runner" --footprint "$elf/inference"
"$runner" --footprint "$elf/universal"
[ "$board" = microbit ] || "$runner" --occupied "$elf/short"
if [ "$board" = rp2350 ]; then
    # On the boards that QEMU has they print it themselves.
    "$runner" --occupied "$elf/predictor"
    "$runner" --occupied "$elf/act"
    "$runner" --occupied "$elf/embedded-demo"
    for program in inference universal short predictor act embedded-demo; do
        "$runner" --boot-block "$elf/$program"
    done
    exit 0
fi

if [ "$board" = mps2-an386 ]; then
    for algorithm in 'online TD' 'true online TD' 'batch TD' LSTD 'recursive LSTD'; do
        ALGORITHM=$algorithm build --no-default-features --bin classical
        echo "$algorithm:"
        "$runner" --footprint "$elf/classical"
    done
fi

need qemu-system-arm qemu-system-arm
for alone in inference universal short; do
    [ -e "$elf/$alone" ] || continue
    "$runner" --board "$board" "$elf/$alone"
    echo "$alone alone: the host's value, stack within its budget"
done
# same PROGRAM: the chip's lines, but for those about the chip, are the host's.
same() {
    "$runner" --board "$board" "$elf/$1" | tee "$out/$1.chip.log"
    cargo run -q -p embedded-demo --bin "$1" >"$out/$1.host.log"
    if ! diff <(grep -v '^chip: ' "$out/$1.chip.log") "$out/$1.host.log"; then
        echo "$1: the chip's lines differ from the host's" >&2
        return 1
    fi
    echo "$1: every line equals the host's"
}
same predictor
# (Behind `||` a command that fails would not end the script.)
if [ "$board" != microbit ]; then
    same act
    same embedded-demo
fi
