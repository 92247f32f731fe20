#!/usr/bin/env bash
# The promise "the same bits everywhere", tried: builds and runs the kernels of ictd_core::digest on
# every platform, and compares their digests with tests/digests.txt; likewise the bytes of figures with
# tests/figures.txt, where there is a standard library.
#
#   tests/platforms.sh            all platforms; installs what is missing (Debian packages, targets)
#   tests/platforms.sh NAME...    only the platforms whose name contains one of the words
#   tests/platforms.sh --bless    writes this machine's digests to tests/digests.txt
#
# Fails on any difference and on any platform that cannot be built or run. A digest that changed on
# purpose (another order of a sum, a new kernel) is blessed, and said so in CHANGELOG.md.
set -uo pipefail
cd "$(dirname "$0")/.."
. tests/platforms/cargo-for.sh
exec 3>&1
# Each crate in one piece: two thirds of the time that sixteen pieces take, for every target.
export CARGO_PROFILE_RELEASE_CODEGEN_UNITS=1

expected=tests/digests.txt
out=target/platforms
mkdir -p "$out"

if [ "${1:-}" = --bless ]; then
    cargo build -q --release -p platforms --target-dir "$out" || exit 1
    {
        echo "# Digests of the kernels of ictd_core::digest, equal on every platform."
        echo "# Regenerate: tests/platforms.sh --bless"
        "$out/release/platforms" | awk '{ printf "%-22s %s\n", $1, $2 }'
    } >"$expected.new" && mv "$expected.new" "$expected"
    exit
fi

wanted=("$@")
rows=$out/rows
rm -rf "$rows" && mkdir -p "$rows"
count=0
jobs=$(nproc 2>/dev/null || sysctl -n hw.ncpu)
printf '%-34s %-42s %-14s %7s  %-16s  %s\n' platform how compiler seconds digest equal

# row NAME HOW FUNCTION [ARGUMENT...]: FUNCTION sets COMPILER and prints the digests to $log. As many rows at
# once as there are processors (of builds in one directory the second waits): emulators use one each.
row() {
    local name=$1 word chosen=$((${#wanted[@]} == 0))
    for word in "${wanted[@]}"; do
        case $name in *"$word"*) chosen=1 ;; esac
    done
    [ "$chosen" = 1 ] || return 0
    while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do sleep 0.2; done
    count=$((count + 1))
    one_row "$@" >"$rows/$count" &
}

one_row() {
    local name=$1 how=$2 start=$SECONDS verdict digest line
    shift 2
    log=$out/$(tr -c 'a-z0-9\n' - <<<"${name,,}").log
    COMPILER=$(rustc -V | cut -d' ' -f1,2)
    if ! "$@" 2>"$log.err" || ! [ -s "$log" ]; then
        verdict=MISSING
    elif ! diff <(awk '!/^#/ { print $1, $2 }' "$expected") "$log" >"$log.diff"; then
        verdict=DIFFERENT
    else
        verdict=equal
    fi
    echo "$verdict"
    digest=$(sed -n 's/^all //p' "$log" 2>/dev/null)
    line=$(printf '%-34s %-42s %-14s %7d  %-16s  %s' \
        "$name" "$how" "$COMPILER" $((SECONDS - start)) "${digest:--}" "$verdict")
    case $verdict in
    # The kernels that differ, by name.
    DIFFERENT) line+=$'\n'$(sed -n 's/^> /    differs: /p' "$log.diff") ;;
    MISSING) line+=$'\n'$(tail -n 5 "$log.err" | sed 's/^/    /') ;;
    esac
    echo "$line" >&3
}

# host DIRECTORY RUSTFLAGS CARGO_ARGUMENTS -- PROGRAM_ARGUMENTS
host() {
    local directory=$out/$1 flags=$2
    shift 2
    local build=()
    while [ "$1" != -- ]; do build+=("$1") && shift; done
    shift
    rm -f "$log"
    RUSTFLAGS=$flags cargo build -q -p platforms --target-dir "$directory" "${build[@]}" || return
    local profile=release
    case " ${build[*]} " in *unoptimised*) profile=unoptimised ;; esac
    "$directory/$profile/platforms" "$@" >"$log"
}

# other_libm VERSION: a copy of the sources whose lock file has another version of the libm crate.
other_libm() {
    local sources=$out/sources
    rm -rf "$log" "$sources" && mkdir -p "$sources"
    # Without the packages that ask for the newest one.
    cp -r --parents Cargo.lock core tests/platforms host/compute/src "$sources" &&
        sed 's/^members = .*/members = ["core", "tests\/platforms"]/' Cargo.toml >"$sources/Cargo.toml" || return
    cargo update -q --manifest-path "$sources/Cargo.toml" -p libm --precise "$1" || return
    host libm "" --profile unoptimised $scalar --manifest-path "$sources/Cargo.toml" -- --lanes 1
}

# level_row LEVEL FLAG KERNELS: what a level is chosen for, if this processor has the flag.
level_row() {
    local level=$1 expected=$out/$1.txt
    grep -E "^($3) " tests/digests.txt >"$expected"
    if grep -qw "$2" /proc/cpuinfo; then
        row "x86-64 dispatched: $level" "release, chosen at run time: training" \
            host host "" --release -- --level "$level"
    else
        echo "x86-64 dispatched: $level: this processor has no $2; not counted"
    fi
}

# cross TARGET RUSTFLAGS: builds for a target; sets elf.
cross() {
    local target=$1 flags=$2
    rm -f "$log"
    RUSTFLAGS=$flags cargo_for "$target" build -q --release -p platforms \
        --target-dir "$out/cross$(tr -c 'a-z0-9' - <<<"$flags")" || return
    elf=$out/cross$(tr -c 'a-z0-9' - <<<"$flags")/$target/release/platforms
}

emulate() {
    local qemu=$1 package=$2
    shift 2
    need "$qemu" "$package" || return
    timeout 600 "$qemu" -nographic -monitor none -serial none \
        -semihosting-config enable=on,target=native "$@" -kernel "$elf" </dev/null >"$log"
}

cortex_m() {
    local target=$1 machine=$2 flags=$3
    shift 3
    cross "$target" "$flags" && emulate qemu-system-arm qemu-system-arm -M "$machine" "$@"
}

risc_v() {
    cross "$1" "" &&
        emulate "qemu-system-${1:0:7}" qemu-system-misc -M virt -bios none -cpu "$2"
}

aarch64() {
    cross aarch64-unknown-none "" &&
        emulate qemu-system-aarch64 qemu-system-arm -M virt -cpu cortex-a53 -nic none
}

wasm() {
    need node nodejs && cross wasm32-unknown-unknown "$1" &&
        node tests/platforms/wasm.mjs "$elf.wasm" >"$log"
}

big_endian() {
    cross armebv7r-none-eabihf "" && need qemu-armeb qemu-user &&
        timeout 600 qemu-armeb "$elf" >"$log"
}

# figures TARGET RUSTFLAGS [CARGO_ARGUMENT...]: the digests of figures.
figures() {
    local target=$1 flags=$2
    shift 2
    rm -f "$log"
    RUSTFLAGS=$flags cargo test -q -p figures --test figures --target "$target" \
        --target-dir "$out/figures" "$@" the_bytes_of_figures -- --nocapture |
        grep -oE '[a-z-]+\.(svg|pdf) +[0-9a-f]{16}' | tr -s ' ' >"$log"
    [ -s "$log" ]
}

# figures_row NAME HOW TARGET RUSTFLAGS [CARGO_ARGUMENT...]: if the target's standard library can be had.
figures_row() {
    local name=$1 how=$2 target=$3 expected=tests/figures.txt
    shift 2
    has_target "$target" || timeout 60 rustup -q target add "$target" >/dev/null 2>&1
    if has_target "$target"; then
        row "$name" "$how" figures "$@"
    else
        echo "$name: no standard library for $target (rustup target add $target); not counted"
    fi
}

if [ ${#wanted[@]} = 0 ]; then
    targets=(thumbv6m-none-eabi thumbv7m-none-eabi thumbv7em-none-eabihf thumbv7em-none-eabi thumbv8m.main-none-eabihf
        riscv32imac-unknown-none-elf riscv32imafc-unknown-none-elf riscv64gc-unknown-none-elf aarch64-unknown-none
        wasm32-unknown-unknown)
    # One try for all rows: without the server each would wait in vain.
    if command -v rustup >/dev/null; then
        timeout 60 rustup -q target add "${targets[@]}" armebv7r-none-eabihf >/dev/null 2>&1 || export RUSTUP_TRIED=1
    fi
    # What the rows without flags find built: one call compiles for several targets at once. A row says what it cannot build.
    installed=()
    for target in "${targets[@]}"; do
        if has_target "$target"; then installed+=(--target "$target"); fi
    done
    [ ${#installed[@]} = 0 ] ||
        RUSTFLAGS="" cargo build -q --release -p platforms --target-dir "$out/cross-" "${installed[@]}" >"$out/cross.log" 2>&1 &
fi
scalar="--no-default-features --features scalar"
if [ "$(uname -m)" = x86_64 ]; then
    row "x86-64 unoptimised" "opt-level 0" host host "" --profile unoptimised $scalar -- --lanes 1
    row "x86-64 release" "release" host host "" --release -- --lanes 1
    row "x86-64 release, lanes" "release, seeds in lanes" host host "" --release -- --lanes 8
    row "x86-64 release, 5 threads" "release, seeds in threads" \
        host host "" --release -- --lanes 1 --threads 5
    row "x86-64 release, threads and lanes" "release, 8 lanes in 3 threads" \
        host host "" --release -- --lanes 8 --threads 3
    # Chosen at run time in the portable binary, as the host program does.
    level_row "one seed" avx2 '(linear|any_shape|cart_pole)_training'
    level_row avx2 avx2 '[a-z_]+_training'
    level_row avx512 avx512vl '[a-z_]+_training'
    row "x86-64 native" "release, target-cpu=native, lanes" \
        host native "-C target-cpu=native" --release --no-default-features --features scalar,lanes -- --lanes 8
    row "x86-64 native, scalar" "release, target-cpu=native" \
        host native "-C target-cpu=native" --release --no-default-features --features scalar,lanes -- --lanes 1
    row "x86-64-v3" "release, AVX2 and FMA present, 8 lanes" \
        host v3 "-C target-cpu=x86-64-v3" --release --no-default-features --features lanes -- --lanes 8
else
    row "$(uname -m) unoptimised" "opt-level 0" host host "" --profile unoptimised $scalar -- --lanes 1
    row "$(uname -m) release" "release" host host "" --release -- --lanes 1
fi
row "libm 0.2.15" "opt-level 0, the oldest that is accepted" other_libm 0.2.15
row "AArch64 Cortex-A53" "qemu-system-aarch64 -M virt" aarch64
row "Cortex-M0" "qemu-system-arm -M microbit, soft float" \
    cortex_m thumbv6m-none-eabi microbit "" \
    -global nrf51-soc.flash-size=1048576 -global nrf51-soc.sram-size=262144
row "Cortex-M3" "qemu-system-arm -M mps2-an385, soft float" \
    cortex_m thumbv7m-none-eabi mps2-an385 ""
row "Cortex-M4" "qemu-system-arm -M mps2-an386, soft float" \
    cortex_m thumbv7em-none-eabi mps2-an386 ""
row "Cortex-M4F" "qemu-system-arm -M mps2-an386" cortex_m thumbv7em-none-eabihf mps2-an386 ""
row "Cortex-M7" "qemu-system-arm -M mps2-an500, f64 unit" \
    cortex_m thumbv7em-none-eabihf mps2-an500 "-C target-cpu=cortex-m7"
row "Cortex-M33" "qemu-system-arm -M mps2-an505" \
    cortex_m thumbv8m.main-none-eabihf mps2-an505 ""
row "RISC-V RV32IMAC" "qemu-system-riscv32 -M virt, soft float" \
    risc_v riscv32imac-unknown-none-elf rv32,f=false,d=false
row "RISC-V RV32IMAFC" "qemu-system-riscv32 -M virt" risc_v riscv32imafc-unknown-none-elf rv32
row "RISC-V RV64GC" "qemu-system-riscv64 -M virt" risc_v riscv64gc-unknown-none-elf rv64
row "WebAssembly" "node" wasm ""
row "WebAssembly SIMD" "node, simd128" wasm "-C target-feature=+simd128"
row "ARMv7-R big-endian" "qemu-armeb" big_endian
host=$(rustc -vV | sed -n 's/^host: //p')
figures_row "figures, unoptimised" "$host, opt-level 0" "$host" "" --profile unoptimised
if [ "$(uname -m)" = x86_64 ] && grep -qw fma /proc/cpuinfo; then
    figures_row "figures, x86-64-v3" "release, AVX2 and FMA present" "$host" "-C target-cpu=x86-64-v3" --release
fi
need qemu-aarch64 qemu-user
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_MUSL_RUNNER=qemu-aarch64
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_MUSL_LINKER=rust-lld
figures_row "figures, AArch64" "qemu-aarch64" aarch64-unknown-linux-musl "" --release
need node nodejs
export CARGO_TARGET_WASM32_WASIP1_RUNNER="node --no-warnings $PWD/tests/platforms/wasi.mjs"
figures_row "figures, WebAssembly" "node, WASI" wasm32-wasip1 "" --release

wait
equal=$(cat "$rows"/* 2>/dev/null | grep -c '^equal$')
failed=$((count - equal))
if [ "$failed" -gt 0 ] || [ "$equal" = 0 ]; then
    echo "$failed platforms differ or are missing, $equal are equal"
    exit 1
fi
echo "$equal platforms equal"
