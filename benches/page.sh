#!/usr/bin/env bash
# Measures the page over runs of ten and of a hundred million spans: how long the server takes to open
# them, tiles, memory, and the work of a browser's main thread while panning and zooming. Takes some
# ten minutes once built, and 800 MB below TMPDIR; needs Node.js and Chromium.
#
#   benches/page.sh             ten and a hundred million spans
#   benches/page.sh 1000000     so many
set -euo pipefail
cd "$(dirname "$0")/.."

sizes=("$@")
[[ $# -gt 0 ]] || sizes=(10000000 100000000)
target=${CARGO_TARGET_DIR:-$PWD/target}
export CARGO_TARGET_DIR=$target
scratch=$(mktemp -d "${TMPDIR:-/tmp}/hodo-bench.XXXXXX")
trap 'rm -rf "$scratch"' EXIT

bash scripts/page.sh ready
cargo build --quiet --locked --release --manifest-path benches/Cargo.toml
cargo build --quiet --locked --release -p hodo-cli
printf 'date: %s\n' "$(date -u +%F)"
printf 'commit: %s\n\n' "$(git rev-parse --short HEAD 2>/dev/null || echo unknown)"
"$target/release/hodo" demo --dir "$scratch/demo" >/dev/null 2>&1
run=$(echo "$scratch"/demo/*)
process=$(echo "$run"/p*)
for size in "${sizes[@]}"; do
    mkdir -p "$scratch/runs/spans-$size"
    cp "$run/run.json" "$scratch/runs/spans-$size/"
    "$target/release/hodo-benches" spool-rate "$process" "$scratch/runs/spans-$size/$(basename "$process")" 0.1 "$size" >/dev/null
done
node web/dev/bench/run.mjs "$target/release/hodo" "$scratch/runs" "${sizes[@]/#/spans-}"
