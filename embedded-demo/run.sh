#!/usr/bin/env bash
# Builds the demo for a board and runs it in QEMU: embedded-demo/run.sh [BOARD | learner | tasks | table | flash]
#
#   mps2-an386  Cortex-M4F (default): runs, and holds the operations to their budgets
#   stm32f405   STM32F405 (Cortex-M4F): the same ELF runs in QEMU's netduinoplus2
#   microbit    micro:bit v1 (Cortex-M0, 16 KiB RAM): inference and the predictor run
#   rp2350      Raspberry Pi RP2350 (Cortex-M33): builds, and checks what its boot ROM looks for;
#               QEMU has no such machine
#   learner     a device that trains, loses its power, and uses what it has trained, on four chips: one
#               digest; on two of them it links without a panic at opt-level 3, "s" and "z", each with link-time
#               optimisation and without
#   tasks       a sensor task that feeds a predictor, in embassy and in RTIC, on an LM3S6965 (Cortex-M3)
#   table       the costs by feature dimension, layers and optimisation level, on the mps2-an386:
#               README.md's tables
#   flash       what the products occupy by optimisation level, with link-time optimisation and without
#
# The target need not be installed. For a real board see README.md (probe-rs, feature rtt).
set -euo pipefail
cd "$(dirname "$0")/.."
. tests/platforms/cargo-for.sh

board=${1:-mps2-an386}
# Boards of one target share what is built for both; the host's programs are there, too, where no other build holds the folder.
out=target/embedded
if [ "$board" = table ]; then
    need qemu-system-arm qemu-system-arm
    cargo build -q --manifest-path embedded-demo/runner/Cargo.toml --target-dir target/runner
    # measure TARGET LEVEL: adds what the program prints to rows.
    measure() {
        BOARD=mps2-an386 cargo_for "$1" build -q --release -p embedded-demo --bin table \
            --config "profile.release.opt-level=$2" --target-dir "$out"
        rows+=$(target/runner/debug/runner "$out/$1/release/table")$'\n'
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
if [ "$board" = flash ]; then
    need qemu-system-arm qemu-system-arm
    need qemu-system-riscv32 qemu-system-misc
    cargo build -q --manifest-path embedded-demo/runner/Cargo.toml --target-dir target/runner
    products=(inference universal short stored)
    # occupied BOARD TARGET LEVEL: what each product occupies on a board.
    occupied() {
        local lto
        for lto in false '"fat"'; do
            build=(build -q --release -p embedded-demo --target-dir "$out"
                --config "profile.release.opt-level=$3" --config "profile.release.lto=$lto")
            BOARD=$1 cargo_for "$2" "${build[@]}" --no-default-features "${products[@]/#/--bin=}"
            BOARD=$1 cargo_for "$2" "${build[@]}" --bin stream
            printf '\n%s, opt-level %s, lto %s, %s\n' "$1" "$3" "$lto" "$COMPILER"
            for program in "${products[@]}" stream; do
                target/runner/debug/runner --footprint "$out/$2/release/$program"
                # A board runs the first three, at the level of its own.
                case $1.$program in
                virt.* | *.stored | *.stream) target/runner/debug/runner --board "$1" "$out/$2/release/$program" ;;
                esac
            done
        done
    }
    occupied mps2-an386 thumbv7em-none-eabihf 3
    occupied mps2-an386 thumbv7em-none-eabihf '"s"'
    occupied virt riscv32imac-unknown-none-elf '"s"'
    exit 0
fi
if [ "$board" = learner ]; then
    need qemu-system-arm qemu-system-arm
    need qemu-system-riscv32 qemu-system-misc
    cargo build -q --manifest-path embedded-demo/runner/Cargo.toml --target-dir target/runner
    cargo build -q -p embedded-demo --bin learner --target-dir "$out"
    "$out/debug/learner" | tee target/learner.host.log
    # The long run makes the checkpoint that the program carries.
    "$out/debug/learner" target/learner.ictr
    cmp target/learner.ictr embedded-demo/src/bin/learner/trained.ictr
    # learner BOARD TARGET LEVEL LTO [fat]: the chip prints the host's lines; a program with a panic would not link. The level is
    # that of the crates whose code is in it: others are generic, or tables of a chip, and are built once. All have
    # bitcode beside their code, for a fat link of the same builds.
    learner() {
        local package levels=() link=()
        for package in ictd-core embedded-demo libm; do
            levels+=(--config "profile.release.package.$package.opt-level=$3")
        done
        [ $# = 4 ] || link=(-C lto=fat)
        BOARD=$1 RUSTFLAGS="-C embed-bitcode=yes" cargo_for "$2" rustc -q --release -p embedded-demo --bin learner \
            --target-dir "$out" "${levels[@]}" --config "profile.release.lto=$4" -- "${link[@]}"
        elf=$out/$2/release/learner
        printf '\n%s, opt-level %s, lto %s, %s\n' "$1" "$3" "${5:-$4}" "$COMPILER"
        target/runner/debug/runner --footprint "$elf"
        target/runner/debug/runner --board "$1" "$elf" >target/learner.chip.log
        grep '^chip: ' target/learner.chip.log
        diff <(grep -v '^chip: ' target/learner.chip.log) target/learner.host.log
    }
    # Without link-time optimisation, cargo's default (false) still inlines between the pieces of a crate; "off" does not.
    for level in 3 '"s"' '"z"'; do
        learner mps2-an386 thumbv7em-none-eabihf "$level" false
        learner mps2-an386 thumbv7em-none-eabihf "$level" false fat
        learner virt riscv32imac-unknown-none-elf "$level" '"off"'
        learner virt riscv32imac-unknown-none-elf "$level" '"off"' fat
    done
    learner mps2-an505 thumbv8m.main-none-eabihf '"z"' '"off"'
    learner microbit thumbv6m-none-eabi '"z"' false fat
    exit 0
fi
if [ "$board" = tasks ]; then
    need qemu-system-arm qemu-system-arm
    cd embedded-demo/tasks
    cargo_for thumbv7m-none-eabi build -q --locked --target-dir "../../$out"
    for program in embassy rtic; do
        # Time goes by instructions, not by the clock of a host that may have other work: no sample is lost.
        status=0
        timeout 60 qemu-system-arm -M lm3s6965evb -icount shift=6,sleep=off -nographic -monitor none -serial none \
            -semihosting-config enable=on,target=native \
            -kernel "../../$out/thumbv7m-none-eabi/debug/$program" </dev/null || status=$?
        if [ "$status" -ne 0 ]; then
            echo "$program: exit code $status, not one alarm in 1,000 samples" >&2
            exit 1
        fi
        echo "$program: 1,000 samples, and one alarm"
    done
    exit 0
fi
# has_machine: whether QEMU has the board; is_small: whether it has room for inference and the predictor alone.
has_machine=yes is_small=no
case $board in
mps2-an386 | stm32f405) target=thumbv7em-none-eabihf ;;
microbit) target=thumbv6m-none-eabi is_small=yes ;;
rp2350) target=thumbv8m.main-none-eabihf has_machine=no ;;
*)
    echo "unknown board $board: accepted are mps2-an386, stm32f405, microbit, rp2350, learner, tasks, table, flash" >&2
    exit 2
    ;;
esac

export BOARD=$board
products=(inference universal) demos=(predictor)
if [ "$is_small" = yes ]; then
    # Software floating point unrolled for speed would not fit the flash budget.
    level=(--config 'profile.release.opt-level="s"')
else
    products+=(short) demos+=(embedded-demo) level=()
fi
build() { cargo_for "$target" build -q --release -p embedded-demo --target-dir "$out" "${level[@]}" "$@"; }
build --no-default-features "${products[@]/#/--bin=}"
build "${demos[@]/#/--bin=}"
elf=$out/$target/release

echo "$board, $target, $COMPILER"
cargo build -q --manifest-path embedded-demo/runner/Cargo.toml --target-dir target/runner
runner=target/runner/debug/runner
for program in "${products[@]}" "${demos[@]}"; do
    "$runner" --footprint "$elf/$program"
    [ "$board" != rp2350 ] || "$runner" --boot-block "$elf/$program"
done
[ "$has_machine" = yes ] || exit 0

need qemu-system-arm qemu-system-arm
for program in "${products[@]}"; do
    "$runner" --board "$board" "$elf/$program"
    echo "$program: the host's value, stack within its budget"
done
cargo build -q -p embedded-demo --target-dir "$out" "${demos[@]/#/--bin=}"
for program in "${demos[@]}"; do
    "$runner" --board "$board" "$elf/$program" | tee "$out/$program.chip.log"
    "$out/debug/$program" >"$out/$program.host.log"
    # The chip's lines, but for those about the chip, are the host's.
    if ! diff <(grep -v '^chip: ' "$out/$program.chip.log") "$out/$program.host.log"; then
        echo "$program: the chip's lines differ from the host's" >&2
        exit 1
    fi
    echo "$program: every line equals the host's"
done
