#!/usr/bin/env bash
# Measures what a scope costs in C++ and prints one table, a verdict for every bar, and where it ran.
#
#   benches/cpp/run.sh CACHE [--quick]
#
# HODO_BENCH_ROUNDS sets the rounds of the table.
set -euo pipefail
cd "$(dirname "$0")/../.."

cache=$1
quick=false
[[ ${2:-} == --quick ]] && quick=true
rounds=${HODO_BENCH_ROUNDS:-$($quick && echo 31 || echo 201)}
target=${CARGO_TARGET_DIR:-$PWD/target}
export CARGO_TARGET_DIR=$target
# A port of its own: another program with Tracy in it would get our viewer.
export TRACY_PORT=$((20000 + RANDOM % 10000))
scratch=$(mktemp -d "${TMPDIR:-/tmp}/hodo-bench.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
manifest=benches/cpp/Cargo.toml
flags=(-O3 -fPIC -shared)

# Tracy's sources are those that its crate carries.
TRACY_INCLUDE=$(cargo metadata --locked --format-version 1 --manifest-path $manifest |
  python3 -c 'import json, os, sys
for p in json.load(sys.stdin)["packages"]:
    if p["name"] == "tracy-client-sys": print(os.path.dirname(p["manifest_path"]) + "/tracy")')
export TRACY_INCLUDE

cargo build --quiet --locked --release -p hodo-runtime
cp "$target/release/libhodo_runtime.so" "$scratch/libhodo.so"
export HODO_LIBRARY=$scratch/libhodo.so
cargo build --quiet --locked --release --manifest-path $manifest
g++ -std=c++17 "${flags[@]}" -Icpp/include benches/cpp/src/hodo_rows.cpp -o "$scratch/libshared.so"
export HODO_BENCH_SHARED=$scratch/libshared.so

if ! include=$(bash scripts/nvtx.sh "$cache"); then
  echo "NVTX's headers could not be fetched: its rows are left empty" >&2
else
  for copy in "" _2 _3; do
    g++ -std=c++17 "${flags[@]}" -isystem "$include" benches/cpp/src/nvtx_row.cpp -o "$scratch/libnvtx$copy.so"
    export "HODO_BENCH_NVTX$copy=$scratch/libnvtx$copy.so"
  done
  gcc -std=c11 "${flags[@]}" -isystem "$include" benches/cpp/src/nvtx_tool.c -o "$scratch/libtool.so"
  export HODO_BENCH_NVTX_TOOL=$scratch/libtool.so
fi

printf 'date: %s\ncommit: %s\ncompilers: %s; %s\n\n' "$(date -u +%F)" \
  "$(git rev-parse --short HEAD 2>/dev/null || echo unknown)" "$(g++ --version | head -1)" "$(rustc --version)"
program=$target/release/hodo-benches-cpp
"$program" "$rounds"

printf '\n## Instructions (callgrind)\n\n'
if ! command -v valgrind >/dev/null; then
  echo "not counted: valgrind is not installed"
  exit
fi
# Valgrind hides restartable sequences; the perf page takes the same path with the same test.
export HODO_CPU=perf
counted() {
  valgrind --tool=callgrind --separate-threads=yes '--toggle-collect=*measure::timed*' \
    --callgrind-out-file="$scratch/out" "$program" count "$1" "$2" >/dev/null 2>&1 || return 1
  sed -n 's/^totals: //p' "$scratch/out-01"
}
echo '| row | instructions a cycle |'
echo '|---|---:|'
for row in rust-not-started not-started clock rust hodo shared rust-attributes attributes mark runtime-name nvtx nvtx-tool nvtx-hodo nvtx-hodo-domain; do
  many=$(counted "$row" 120000) && few=$(counted "$row" 20000) || { echo "| $row | not counted |"; continue; }
  echo "| $row | $(((many - few + 50000) / 100000)) |"
done
