#!/usr/bin/env bash
# The C interface, tried: core/c/check.sh
#
# The header as C99 and as C++, all warnings errors; every function on this machine, under AddressSanitizer and
# Valgrind, and on four chips in QEMU, where a call that could panic does not link: the digests of digests.txt; the
# projects of CMake and of Zephyr.
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/platforms/cargo-for.sh
need gcc gcc
need g++ g++
need valgrind valgrind
need cmake cmake
need qemu-system-arm qemu-system-arm
need qemu-system-riscv32 qemu-system-misc
need arm-none-eabi-gcc gcc-arm-none-eabi
need riscv64-unknown-elf-gcc gcc-riscv64-unknown-elf
need python3 python3
python3 -c 'import yaml' 2>/dev/null || apt_install python3-yaml

out=$PWD/target/c
mkdir -p "$out"
strict=(-Wall -Wextra -Wconversion -Wshadow -Wpedantic -Werror -Icore/c)
gcc -std=c99 "${strict[@]}" -fsyntax-only -x c core/c/ictd.h
g++ -std=c++11 "${strict[@]}" -fsyntax-only -x c++ core/c/ictd.h
echo "ictd.h: C99 and C++11 without a warning"

# example NAME OPTION...: the example builds in $out/NAME, and runs.
example() {
    local build=$out/$1
    cmake -S core/c/example -B "$build" "${@:2}" >/dev/null
    cmake --build "$build" >"$build.log" 2>&1 || { cat "$build.log" >&2 && return 1; }
    "$build/example"
}
rm -rf "$out/installed"
example cmake -DCMAKE_DISABLE_FIND_PACKAGE_ictd=ON
library=$out/cmake/ictd/cargo/release/libictd_c.a
cmake -S core/c -B "$out/package" -DICTD_LIBRARY="$library" >/dev/null
cmake --install "$out/package" --prefix "$out/installed" >/dev/null
example found -DCMAKE_PREFIX_PATH="$out/installed" -DCMAKE_REQUIRE_FIND_PACKAGE_ictd=ON
echo "CMake: add_subdirectory and find_package build, and one alarm"

# says NAME COMMAND...: the command prints the digests.
says() {
    local name=$1
    shift
    diff core/c/digests.txt <("$@") || { echo "$name: other digests than those of the Rust crate" >&2; return 1; }
    echo "$name: equal"
}

for program in every misuse; do
    for sanitizer in "" -fsanitize=address,undefined; do
        gcc -std=c99 -g "${strict[@]}" $sanitizer -fno-sanitize-recover core/c/$program.c \
            "$library" -lm -lpthread -ldl -o "$out/$program$sanitizer"
    done
done
valgrind=(valgrind -q --error-exitcode=1 --leak-check=full)
says "this machine" "$out/every"
says "AddressSanitizer" "$out/every-fsanitize=address,undefined"
says "Valgrind" "${valgrind[@]}" "$out/every"
"$out/misuse"
"$out/misuse-fsanitize=address,undefined"
"${valgrind[@]}" "$out/misuse"

# chip NAME TARGET FLASH RAM GCC QEMU: every function of the header is linked, and called.
chip() {
    local name=$1 target=$2 elf=$out/$2.elf missing
    cargo_for "$target" build -q --release -p ictd-c --target-dir "$out"
    link=(-ffreestanding -nostdlib -ffunction-sections -Wl,--gc-sections -Wl,--no-warn-execstack -Wl,--no-warn-rwx-segments
        -Wl,--defsym=FLASH_ORIGIN="$3",--defsym=RAM_ORIGIN="$4" -T"$PWD/core/c/chip/chip.ld")
    $5 -std=c99 -O2 "${strict[@]}" "${link[@]}" core/c/chip/start.c core/c/every.c "$out/$target/release/libictd_c.a" \
        -lgcc -o "$elf"
    missing=$(comm -13 <(nm "$elf" | cut -d' ' -f3 | sort) <(grep -o 'ictd_[a-z_]*(' core/c/ictd.h | tr -d '(' | sort -u))
    [ -z "$missing" ] || { echo "every.c does not call" $missing >&2; return 1; }
    emulator=(timeout 120 qemu-system-$6 -nographic -monitor none -serial none -chardev stdio,id=out
        -semihosting-config enable=on,target=native,chardev=out -kernel)
    says "$name" "${emulator[@]}" "$elf" </dev/null
}
m4f="arm-none-eabi-gcc -mthumb -mcpu=cortex-m4 -mfloat-abi=hard -mfpu=fpv4-sp-d16"
chip Cortex-M0 thumbv6m-none-eabi 0 0x20000000 "arm-none-eabi-gcc -mthumb -mcpu=cortex-m0" \
    "arm -M microbit -global nrf51-soc.flash-size=1048576 -global nrf51-soc.sram-size=262144"
chip Cortex-M33 thumbv8m.main-none-eabihf 0x10000000 0x38000000 \
    "arm-none-eabi-gcc -mthumb -mcpu=cortex-m33 -mfloat-abi=hard -mfpu=fpv5-sp-d16" "arm -M mps2-an505"
chip RV32IMAC riscv32imac-unknown-none-elf 0x80000000 0x80800000 \
    "riscv64-unknown-elf-gcc -march=rv32imac -mabi=ilp32" "riscv32 -M virt -bios none"
chip Cortex-M4F thumbv7em-none-eabihf 0 0x20000000 "$m4f" "arm -M mps2-an386"

# The module, without Zephyr: its settings, and its project in one that stands for Zephyr's.
module=$(python3 -c 'import yaml; print(yaml.safe_load(open("core/c/zephyr/module.yml"))["build"]["cmake"])')
cmake -S core/c/zephyr/shim -B "$out/zephyr" -DMODULE="$PWD/core/c/$module" -DCMAKE_SYSTEM_NAME=Generic \
    -DCMAKE_C_COMPILER=arm-none-eabi-gcc -DCMAKE_TRY_COMPILE_TARGET_TYPE=STATIC_LIBRARY \
    -DCMAKE_C_FLAGS="-O2 ${m4f#* } ${link[*]}" -DICTD_LIBRARY="$out/thumbv7em-none-eabihf/release/libictd_c.a" >/dev/null
cmake --build "$out/zephyr" >"$out/zephyr.log" 2>&1 || { cat "$out/zephyr.log" >&2 && exit 1; }
"${emulator[@]}" "$out/zephyr/app" </dev/null
echo "Zephyr module: builds, and one alarm"
