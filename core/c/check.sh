#!/usr/bin/env bash
# The C interface, tried: core/c/check.sh
#
# The header as C and as C++, all warnings errors, with any size of enums; what must not compile; a library and a header of other
# sizes; every function on this machine, under AddressSanitizer and Valgrind, and on four chips in QEMU, where a call that could
# panic does not link: the digests of digests.txt; flash, stack and instructions of two chips, held to budgets; the projects of
# CMake and of Zephyr.
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
for standard in c99 c11 c17; do gcc -std=$standard "${strict[@]}" -fsyntax-only -x c core/c/ictd.h; done
for standard in c++11 c++17; do g++ -std=$standard "${strict[@]}" -fsyntax-only -x c++ core/c/ictd.h; done
echo "ictd.h: C99, C11, C17, C++11 and C++17 without a warning"

# compiles CALL COMPILER...: a program with this call does.
compiles() {
    "${@:2}" -Icore/c -fsyntax-only - 2>/dev/null <<END
#include "ictd.h"
static ictd_predictor predictor;
static ICTD_CONTEXT(4) pump;
ictd_status call(void);
ictd_status call(void) { return $1; }
END
}
for compiler in "gcc -std=c11 -Werror -x c" "g++ -std=c++17 -x c++"; do
    for call in "ictd_predictor_reset(&predictor)" "ictd_context_clear(&pump.context)"; do
        compiles "$call" $compiler || { echo "does not compile: $compiler, $call" >&2 && exit 1; }
    done
    for call in "ictd_predictor_reset(&pump.context)" "ictd_predictor_reset(&pump)" "ictd_predictor_reset(pump.words)" \
        "ictd_context_clear(&predictor)" "ictd_context_clear(pump.words)" "ictd_context_clear(predictor.opaque)"; do
        if compiles "$call" $compiler; then echo "compiles: $compiler, $call" >&2 && exit 1; fi
    done
    for options in -fpack-struct=1 -DICTD_MAX_HORIZONS=5; do
        if compiles "ictd_predictor_reset(&predictor)" $compiler $options; then
            echo "compiles: $compiler $options" >&2 && exit 1
        fi
    done
done
echo "ictd.h: an object in the place of another does not compile, nor another layout"

# example NAME OPTION...: the example builds in $out/NAME, and runs.
example() {
    local build=$out/$1
    cmake -S core/c/example -B "$build" "${@:2}" >/dev/null
    cmake --build "$build" >"$build.log" 2>&1 || { cat "$build.log" >&2 && return 1; }
    "$build/example" && "$build/context"
}
rm -rf "$out/installed"
example cmake -DCMAKE_DISABLE_FIND_PACKAGE_ictd=ON
library=$out/cmake/ictd/cargo/release/libictd_c.a
cmake -S core/c -B "$out/package" -DICTD_LIBRARY="$library" >/dev/null
cmake --install "$out/package" --prefix "$out/installed" >/dev/null
example found -DCMAKE_PREFIX_PATH="$out/installed" -DCMAKE_REQUIRE_FIND_PACKAGE_ictd=ON
echo "CMake: add_subdirectory and find_package build, and one alarm"
if cmake -S core/c/example -B "$out/refused" -DICTD_HORIZONS=5 >"$out/refused.log" 2>&1; then
    echo "CMake: took 5 horizons" >&2 && exit 1
fi

# says NAME COMMAND...: the command prints the digests.
says() {
    local name=$1
    shift
    diff <(grep -v "${without:-^$}" core/c/digests.txt) <("$@") || { echo "$name: other digests than those of the Rust crate" >&2; return 1; }
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

for options in -fshort-enums -fno-short-enums; do
    gcc -std=c11 -O2 $options "${strict[@]}" core/c/every.c "$library" -lm -lpthread -ldl -o "$out/every$options"
    says "$options" "$out/every$options"
done
g++ -std=c++17 -O2 "${strict[@]}" -x c++ core/c/every.c -x none "$library" -lm -lpthread -ldl -o "$out/every++"
says "C++17" "$out/every++"

# A library for one horizon gives the same alarm to a header for four; one for four refuses a header for one.
one=$out/cmake/ictd/cargo
cp "$library" "$out/libictd_c.a"
library=$out/libictd_c.a
cargo build -q --release -p ictd-c --target-dir "$one" --no-default-features
for horizons in 1 4; do
    gcc -std=c11 -O2 "${strict[@]}" -DICTD_MAX_HORIZONS=$horizons core/c/example/main.c "$one/release/libictd_c.a" \
        -lm -lpthread -ldl -o "$out/sizes"
    "$out/sizes" || { echo "a library for one horizon, a header for $horizons: no alarm" >&2 && exit 1; }
done
gcc -std=c11 -DICTD_MAX_HORIZONS=1 "${strict[@]}" -x c - -x none "$library" -lm -lpthread -ldl -o "$out/sizes" <<'END'
#include "ictd.h"
int main(void) {
    static ictd_predictor predictor;
    const float horizon = 10.0f;
    return ictd_predictor_init(&predictor, sizeof predictor, &horizon, 1) != ICTD_STATUS_BAD_STORAGE;
}
END
"$out/sizes" || { echo "a library for four horizons took the storage of one" >&2 && exit 1; }
echo "other sizes of library and header: one answer, or a status"

# A caller may compile with -ffast-math; what it links into the process is found out.
gcc -std=c99 -O2 -ffast-math "${strict[@]}" -c core/c/every.c -o "$out/fast.o"
gcc "$out/fast.o" "$library" -lm -lpthread -ldl -o "$out/fast"
says "-ffast-math" "$out/fast"
gcc -ffast-math "$out/fast.o" "$library" -lm -lpthread -ldl -o "$out/fast"
if "$out/fast" >"$out/fast.log" || ! grep -q 'flushes subnormal numbers' "$out/fast.log"; then
    echo "subnormal numbers are flushed, and nobody says so" >&2 && exit 1
fi

# on BOARD: sets GCC, QEMU and MEMORY (where flash and RAM are, and what they have).
on() {
    local arm="arm-none-eabi-gcc -mthumb -mcpu"
    case $1 in
    microbit) GCC="$arm=cortex-m0" QEMU="arm -M microbit" MEMORY="0 256K 0x20000000 16K" ;;
    mps2-an386) GCC="$arm=cortex-m4 -mfloat-abi=hard -mfpu=fpv4-sp-d16" QEMU="arm -M mps2-an386" MEMORY="0 1M 0x20000000 256K" ;;
    mps2-an505)
        GCC="$arm=cortex-m33 -mfloat-abi=hard -mfpu=fpv5-sp-d16" QEMU="arm -M mps2-an505"
        MEMORY="0x10000000 1M 0x38000000 256K"
        ;;
    virt)
        GCC="riscv64-unknown-elf-gcc -march=rv32imac -mabi=ilp32" QEMU="riscv32 -M virt -bios none"
        MEMORY="0x80000000 1M 0x80800000 256K"
        ;;
    esac
}
# build TARGET LEVEL OPTION...: the library, for size or speed, from what embedded-demo/run.sh has built of its dependencies.
build() {
    cargo_for "$1" build -q --release -p ictd-c --target-dir target/embedded --config "profile.release.opt-level=$2" "${@:3}"
    library=$PWD/target/embedded/$1/release/libictd_c.a
}
# program NAME OPTION...: $elf is core/c/NAME.c on the board.
program() {
    local memory
    read -ra memory <<<"$MEMORY"
    elf=$out/$(basename "$1").elf
    link=(-ffreestanding -nostdlib -ffunction-sections -Wl,--gc-sections -Wl,--no-warn-execstack -Wl,--no-warn-rwx-segments
        -Wl,--defsym=FLASH_ORIGIN="${memory[0]}",--defsym=FLASH_LENGTH="${memory[1]}"
        -Wl,--defsym=RAM_ORIGIN="${memory[2]}",--defsym=RAM_LENGTH="${memory[3]}" -T"$PWD/core/c/chip/chip.ld")
    $GCC -std=c99 -O2 "${strict[@]}" "${link[@]}" "${@:2}" core/c/chip/start.c "core/c/$1.c" "$library" -lgcc -o "$elf"
}
# run OPTION...: the program in QEMU.
run() {
    timeout 120 qemu-system-$QEMU -nographic -monitor none -serial none -chardev stdio,id=out \
        -semihosting-config enable=on,target=native,chardev=out "$@" -kernel "$elf" </dev/null
}
# chip NAME BOARD TARGET LEVEL: every function of the header is linked, and called; a part with 16 KB of RAM has no room for a
# trainer.
chip() {
    local missing without= options=()
    on "$2"
    build "$3" "$4"
    if [ "$2" = microbit ]; then without=trainer options=(-DWITHOUT_TRAINER); fi
    program every "${options[@]}"
    missing=$(comm -13 <(nm "$elf" | cut -d' ' -f3 | sort) <(grep -o 'ictd_[a-z_]*(' core/c/ictd.h | tr -d '(' | sort -u) |
        grep -v "${without:+ictd_trainer\|ictd_model\|}^$" || true)
    [ -z "$missing" ] || { echo "every.c does not call" $missing >&2; return 1; }
    says "$1, opt-level $4" run
    program every -fno-short-enums "${options[@]}"
    says "$1, -fno-short-enums" run
}
# flash NAME PROGRAM BUDGET: the program fits.
flash() {
    program "$2"
    run
    local bytes
    bytes=$(size "$elf" | awk 'NR == 2 { print $1 + $2 }')
    echo "$1, $2: $bytes bytes of flash (budget $3)"
    [ "$bytes" -le "$3" ]
}
# costs NAME TICKS FEATURES: what each call costs; TICKS: the instructions of n ticks.
costs() {
    printf '\n%s, %s: instructions in the mean | at most | bytes of stack\n' "$1" "$COMPILER"
    program chip/measure "-DTICKS(n)=$2" "-DFEATURES=$3" "${@:4}"
    run -icount shift=6
}
# product NAME TARGET LEVEL FLASH: a library of what small products use, and of a predictor of one horizon alone.
product() {
    build "$2" "$3" --no-default-features --features horizons-4,capacity-4,growing,forgetting
    flash "$1" example/main "$4"
    flash "$1" example/context 36864
    costs "$1" "$5" 4
    build "$2" "$3" --no-default-features
    costs "$1, one horizon" "$5" 0 -DICTD_MAX_HORIZONS=1
}
chip Cortex-M0 microbit thumbv6m-none-eabi '"s"'
product Cortex-M0 thumbv6m-none-eabi '"s"' 30720 '(n)*125u/128u'
chip Cortex-M33 mps2-an505 thumbv8m.main-none-eabihf '"z"'
chip RV32IMAC virt riscv32imac-unknown-none-elf 3
chip Cortex-M4F mps2-an386 thumbv7em-none-eabihf 3
costs "Cortex-M4F, all sizes" '(n)*5u/8u' 16 -DTRAINER
product Cortex-M4F thumbv7em-none-eabihf 3 26624 '(n)*5u/8u'

# The module, without Zephyr: its settings, and its project in one that stands for Zephyr's.
module=$(python3 -c 'import yaml; print(yaml.safe_load(open("core/c/zephyr/module.yml"))["build"]["cmake"])')
shim=(-S core/c/zephyr/shim -DMODULE="$PWD/core/c/$module" -DCMAKE_SYSTEM_NAME=Generic -DCMAKE_C_COMPILER=arm-none-eabi-gcc
    -DCMAKE_TRY_COMPILE_TARGET_TYPE=STATIC_LIBRARY)
build thumbv7em-none-eabihf 3 --no-default-features --features horizons-4,capacity-4,growing
cmake "${shim[@]}" -B "$out/zephyr" -DHARD_FLOATS=y -DCMAKE_C_FLAGS="-O2 ${GCC#* } ${link[*]}" -DICTD_LIBRARY="$library" >/dev/null
cmake --build "$out/zephyr" >"$out/zephyr.log" 2>&1 || { cat "$out/zephyr.log" >&2 && exit 1; }
elf=$out/zephyr/app run
echo "Zephyr module: builds, and one alarm"
# refused MESSAGE OPTION...: the project is not configured.
refused() {
    if cmake "${shim[@]}" -B "$out/refused" --fresh "${@:2}" >"$out/refused.log" 2>&1 || ! grep -q -e "$1" "$out/refused.log"; then
        cat "$out/refused.log" >&2
        echo "not refused: ${*:2}" >&2
        return 1
    fi
}
refused CONFIG_ICTD_SOFTWARE_FLOAT=y -DHARD_FLOATS= -DCMAKE_C_FLAGS="-mthumb -mcpu=cortex-m4"
refused -mfloat-abi=hard -DHARD_FLOATS=y -DCMAKE_C_FLAGS="-mthumb -mcpu=cortex-m4 -mfloat-abi=softfp -mfpu=fpv4-sp-d16"
echo "Zephyr module: refuses a float ABI that is not the library's"
