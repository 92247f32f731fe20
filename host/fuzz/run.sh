#!/usr/bin/env bash
# Fuzzes every reader, or those named, for so many seconds each:
#   host/fuzz/run.sh SECONDS [TARGET...]
# Needs a C++ compiler for libFuzzer, and no nightly Rust: the coverage counters are LLVM's own pass.
# What is found is kept in target/fuzz: the corpus of each target, and files that crash it.
set -euo pipefail
cd "$(dirname "$0")"
seconds=${1:?usage: host/fuzz/run.sh SECONDS [TARGET...]}
shift
work=${CARGO_TARGET_DIR:-../../target}/fuzz
mkdir -p "$work"
work=$(cd "$work" && pwd)
host=$(rustc -vV | sed -n 's/^host: //p')
coverage='-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4
  -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table
  -Cllvm-args=-sanitizer-coverage-trace-compares'
RUSTFLAGS="$coverage --cfg fuzzing" \
  cargo build --release --target "$host" --target-dir "$work/build"
fuzz=$work/build/$host/release/ictd-fuzz
ICTD_FUZZ_SEEDS=$work/seeds "$fuzz" >/dev/null

# Run directories are made in memory where there is a place for it.
if [ -w /dev/shm ]; then
  TMPDIR=$(mktemp -d -p /dev/shm)
  export TMPDIR
  trap 'rm -r "$TMPDIR"' EXIT
fi
targets=("$@")
if [ $# = 0 ]; then
  for seeds in "$work"/seeds/*; do targets+=("$(basename "$seeds")"); done
fi
failed=0
for target in "${targets[@]}"; do
  mkdir -p "$work/corpus/$target" "$work/crashes"
  echo "== $target"
  # A target itself watches what it takes; one that does not come back, or takes far more, is ended.
  ICTD_FUZZ_TARGET=$target "$fuzz" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -malloc_limit_mb=512 \
    -max_len=16384 -print_final_stats=1 -verbosity=0 -artifact_prefix="$work/crashes/$target-" \
    "$work/corpus/$target" "$work/seeds/$target" 2>&1 |
    grep -E '^stat::(number_of|peak)|panicked|ERROR|SUMMARY|Test unit' || failed=1
done
exit "$failed"
