#!/usr/bin/env bash
# Measures the report and two exports of a run of a hundred million spans. Takes about ten minutes
# once built, and 700 MB below TMPDIR.
#
#   benches/large.sh            a hundred million spans, one attribute record to ten spans
#   benches/large.sh 20000000   so many
set -euo pipefail
cd "$(dirname "$0")/.."

spans=${1:-100000000}
target=${CARGO_TARGET_DIR:-$PWD/target}
export CARGO_TARGET_DIR=$target
scratch=$(mktemp -d "${TMPDIR:-/tmp}/hodo-bench.XXXXXX")
trap 'rm -rf "$scratch"' EXIT

cargo build --quiet --locked --release --manifest-path benches/Cargo.toml
cargo build --quiet --locked --release -p hodo-cli
printf 'date: %s\n' "$(date -u +%F)"
printf 'commit: %s\n' "$(git rev-parse --short HEAD 2>/dev/null || echo unknown)"
"$target/release/hodo" demo --dir "$scratch/runs" >/dev/null
run=$(echo "$scratch"/runs/*)
process=$(echo "$run"/p*)
mkdir "$scratch/large"
cp "$run/run.json" "$scratch/large/"
"$target/release/hodo-benches" spool-rate "$process" "$scratch/large/$(basename "$process")" 0.1 "$spans"
"$target/release/hodo-benches" large-cost "$target/release/hodo" "$scratch/large"
