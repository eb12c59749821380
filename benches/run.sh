#!/usr/bin/env bash
# Measures what recording costs and prints one table, a verdict for every bar, and where it ran.
#
#   benches/run.sh            everything: about three minutes once built
#   benches/run.sh --quick    fewer rounds, no plain release build, no report of ten million spans
#
# HODO_BENCH_ROUNDS sets the rounds of the table.
set -euo pipefail
cd "$(dirname "$0")/.."

quick=false
[[ ${1:-} == --quick ]] && quick=true
rounds=${HODO_BENCH_ROUNDS:-$($quick && echo 31 || echo 201)}
target=${CARGO_TARGET_DIR:-$PWD/target}
export CARGO_TARGET_DIR=$target
scratch=$(mktemp -d "${TMPDIR:-/tmp}/hodo-bench.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
verdicts=$scratch/verdicts
# A port of its own: another program with Tracy in it would get our viewer.
export TRACY_PORT=$((20000 + RANDOM % 10000))
heading() { printf '\n## %s\n\n' "$1"; }
bench() { "$target/release/hodo-benches" "$@" | tee -a "$verdicts"; }

cargo build --quiet --locked --release --manifest-path benches/Cargo.toml
cargo build --quiet --locked --release -p hodo-cli
printf 'date: %s\n' "$(date -u +%F)"
printf 'commit: %s\n' "$(git rev-parse --short HEAD 2>/dev/null || echo unknown)"
printf 'compiler: %s\n' "$(rustc --version)"

heading "A scope, release with LTO"
bench scopes "$rounds"

if ! $quick; then
  heading "The same in a plain release build (no LTO, 16 codegen units)"
  cargo build --quiet --locked --profile plain --manifest-path benches/Cargo.toml
  "$target/plain/hodo-benches" scopes $((rounds / 4)) | grep '^|'
fi

heading "Instructions (callgrind)"
if command -v valgrind >/dev/null; then
  # Valgrind hides restartable sequences; the perf page takes the same path with the same test.
  HODO_CPU=perf bench instructions not-started hodo attributes mark runtime-name depth-63 \
    clock store fastrace tracing puffin perfetto opentelemetry
else
  echo "not counted: valgrind is not installed"
fi

heading "GPU: hodo's part of a kernel launch"
export HODO_BENCH_FAKE=$scratch/fake
mkdir "$HODO_BENCH_FAKE"
fake() { cc -O2 -shared -fPIC -pthread -Wl,-soname,"$1" -o "$HODO_BENCH_FAKE/$1" "${@:2}"; }
fake libcuda.so.1 tests/fake-cupti/cuda.c -ldl
fake libcupti.so.13 tests/fake-cupti/cupti.c "$HODO_BENCH_FAKE/libcuda.so.1"
bench launches "$rounds"
if command -v valgrind >/dev/null; then
  HODO_CPU=perf bench instructions launch launch-outside
fi

heading "Spool: spans of the demo's training loop, repeated to ten million"
"$target/release/hodo" demo --dir "$scratch/runs" >/dev/null
run=$(echo "$scratch"/runs/*)
process=$(echo "$run"/p*)
# As recorded, and with one attribute record to ten spans, which is what the bars speak of.
for share in "" 0.1; do
  big=$scratch/big$share
  mkdir -p "$big"
  cp "$run/run.json" "$big/"
  bench spool-rate "$process" "$big/$(basename "$process")" $share
  echo
done

if ! $quick; then
  heading "Report of ten million spans, one attribute record to ten spans"
  bench report-cost "$target/release/hodo" "$scratch/big0.1"
  heading "Report of ten million spans with the attributes as recorded"
  "$target/release/hodo-benches" report-cost "$target/release/hodo" "$scratch/big" | grep '^report'
fi

if ! $quick; then
  heading "Parquet: ten million scopes recorded for it, packed, and reported from the tables"
  bench record "$scratch/real" 10000000
  bench pack-cost "$target/release/hodo" "$(echo "$scratch"/real/*)" "$scratch/packed"
  rm -rf "$scratch/real" "$scratch/packed"
  heading "The same of the demo's loop, repeated to ten million"
  "$target/release/hodo-benches" pack-cost "$target/release/hodo" "$scratch/big0.1" "$scratch/packed"
fi

heading "Verdicts"
grep '^bar: ' "$verdicts" | sed 's/^bar: /- /'
