#!/usr/bin/env bash
# The peer: the value function in CMSIS-DSP (C) beside ictd-core's, on the same emulated Cortex-M4F.
#
# Both run the same stored model on a context of 1000 transitions, by the same sequence of matrix
# products, and count instructions in the same way. CMSIS-DSP's source comes from PyPI (Apache-2.0);
# CMSIS_DSP=DIR takes a checkout of github.com/ARM-software/CMSIS-DSP instead.
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/platforms/cargo-for.sh

version=1.10.3
out=target/peer
mkdir -p "$out"
need qemu-system-arm qemu-system-arm
need arm-none-eabi-gcc gcc-arm-none-eabi libnewlib-arm-none-eabi
source=${CMSIS_DSP:-$out/cmsisdsp-$version}
if ! [ -d "$source/Source" ]; then
    python3 -m pip download -q --no-deps --no-binary cmsisdsp "cmsisdsp==$version" -d "$out" ||
        { echo "no CMSIS-DSP: set CMSIS_DSP to a checkout of it" >&2; exit 1; }
    tar -xzf "$out/cmsisdsp-$version.tar.gz" -C "$out"
fi

# ictd: the firmware of embedded-demo/run.sh, with its log.
cargo build -q --manifest-path embedded-demo/runner/Cargo.toml --target-dir target/runner
runner=target/runner/debug/runner
target=thumbv7em-none-eabihf
firmware=target/embedded
BOARD=mps2-an386 cargo_for $target build -q --release -p embedded-demo --bin embedded-demo \
    --target-dir "$firmware"
log=$("$runner" "$firmware/$target/release/embedded-demo")
# "chip: context 1000: observe 182, value function ..."
ictd() { sed -n "s/^chip: context 1000:.* $1 \([0-9]*\).*/\1/p" <<<"$log"; }

expected=$(sed -n 's/^const EXPECTED: u32 = \(0x[0-9a-f_]*\);/\1/p' embedded-demo/src/bin/inference.rs)
declare -A peer
for d in 4 8 16; do
    for level in -O2 -O3; do
        arm-none-eabi-gcc "$level" -mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16 \
            -D__GNUC_PYTHON__ -DFEATURES=$d -DEXPECTED="${expected//_/}" -Wa,-Iembedded-demo/src \
            -I"$source/Include" -I"$source/PrivateInclude" \
            -nostartfiles -ffunction-sections -Wl,--gc-sections -Tembedded-demo/peer/link.ld \
            embedded-demo/peer/main.c \
            "$source"/Source/MatrixFunctions/arm_mat_{mult,vec_mult,add,scale,trans}_f32.c \
            "$source"/Source/BasicMathFunctions/arm_{add,scale,negate,dot_prod}_f32.c \
            "$source"/Source/SupportFunctions/arm_copy_f32.c \
            -o "$out/peer-$d$level.elf"
        while read -r name instructions; do
            peer[$name-$d$level]=$instructions
        done < <("$runner" "$out/peer-$d$level.elf")
        # Exit code 1: its value is another one than the firmware's.
        "$runner" "$out/peer-$d$level.elf" >/dev/null
    done
done

echo "ictd-core: $COMPILER, release; CMSIS-DSP ${CMSIS_DSP:-$version}: gcc $(arm-none-eabi-gcc -dumpversion)"
format='%-16s %10s %12s %12s %10s\n'
printf "$format" instructions ictd-core 'C, -O2' 'C, -O3' 'C / ictd'
for operation in observe 'value function' query; do
    rust=$(ictd "$operation") name=${operation/ /-}-4
    # The better of the two levels counts.
    best=$((peer[$name-O2] < peer[$name-O3] ? peer[$name-O2] : peer[$name-O3]))
    ratio=$(awk "BEGIN { printf \"%.1f\", $best / $rust }")
    printf "$format" "$operation" "$rust" "${peer[$name-O2]}" "${peer[$name-O3]}" "$ratio"
done

# Beside embedded-demo/run.sh table.
printf '\nCMSIS-DSP by feature dimension, the better of the two levels:\n'
printf '%4s %10s %16s %8s\n' d observe 'value function' query
for d in 4 8 16; do
    row=()
    for name in observe value-function query; do
        a=${peer[$name-$d-O2]} b=${peer[$name-$d-O3]}
        row+=("$((a < b ? a : b))")
    done
    printf '%4s %10s %16s %8s\n' "$d" "${row[@]}"
done
