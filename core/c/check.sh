#!/usr/bin/env bash
# The C interface, tried: core/c/check.sh
#
# The header as C99 and as C++, all warnings errors; the example on this machine, under AddressSanitizer and
# Valgrind, and on a Cortex-M4F in QEMU: one digest, that of the firmware in Rust.
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/platforms/cargo-for.sh
need gcc gcc
need g++ g++
need valgrind valgrind
need qemu-system-arm qemu-system-arm
need arm-none-eabi-gcc gcc-arm-none-eabi libnewlib-arm-none-eabi

out=target/c
mkdir -p $out
strict=(-Wall -Wextra -Wconversion -Wshadow -Wpedantic -Werror -Icore/c)
gcc -std=c99 "${strict[@]}" -fsyntax-only -x c core/c/ictd.h
g++ -std=c++11 "${strict[@]}" -fsyntax-only -x c++ core/c/ictd.h
echo "ictd.h: C99 and C++11 without a warning"

# What the firmware in Rust prints in QEMU.
target=thumbv7em-none-eabihf
embedded=target/embedded/mps2-an386
BOARD=mps2-an386 cargo_for $target build -q --release -p embedded-demo --no-default-features --bin universal --target-dir $embedded
cargo build -q --manifest-path embedded-demo/runner/Cargo.toml --target-dir target/runner
expected="done, $(target/runner/debug/runner $embedded/$target/release/universal | grep '^digest [0-9a-f]\{8\}$')"
echo "Cortex-M4F, Rust: ${expected#done, }"
# says NAME COMMAND...: the command prints what is expected.
says() {
    local name=$1 said
    shift
    said=$("$@")
    [ "$said" = "$expected" ] || { echo "$name: $said; expected: $expected" >&2; return 1; }
    echo "$name: $said"
}

cargo build -q --release -p ictd-c --target-dir $out
library=$out/release/libictd_c.a
for program in example misuse; do
    gcc -std=c99 -g "${strict[@]}" core/c/$program.c $library -lm -lpthread -ldl -o $out/$program
    gcc -std=c99 -g "${strict[@]}" -fsanitize=address,undefined -fno-sanitize-recover core/c/$program.c \
        $library -lm -lpthread -ldl -o $out/$program-sanitized
done
says "this machine" $out/example
says "AddressSanitizer" $out/example-sanitized
says "Valgrind" valgrind -q --error-exitcode=1 --leak-check=full $out/example
$out/misuse
$out/misuse-sanitized
valgrind -q --error-exitcode=1 --leak-check=full $out/misuse

cargo_for $target build -q --release -p ictd-c --target-dir $out
arm-none-eabi-gcc -std=c99 -Os "${strict[@]}" -mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16 \
    -ffunction-sections -Wl,--gc-sections -Wl,--no-warn-execstack --specs=nano.specs --specs=rdimon.specs \
    -Tcore/c/chip/mps2-an386.ld core/c/chip/start.c core/c/example.c \
    $out/$target/release/libictd_c.a -o $out/example.elf
says "Cortex-M4F, C" qemu-system-arm -M mps2-an386 -cpu cortex-m4 -nographic -monitor none -serial none \
    -semihosting-config enable=on,target=native -kernel $out/example.elf
