#!/usr/bin/env bash
# Times the five views on a packed run, and the memory they take: bench.sh HODO_SQL RUN [ROUNDS]
set -euo pipefail
program=$1 run=$2 rounds=${3:-3}
scratch=$(mktemp -d "${TMPDIR:-/tmp}/hodo-sql-bench.XXXXXX")
trap 'rm -rf "$scratch"' EXIT

rows() { "$program" "$run" "select count(*) from $1" --format csv | tail -1 | tr -d '\r'; }
printf '%s spans, %s kernels, best of %s, %s cores\n\n' "$(rows spans)" "$(rows kernels)" "$rounds" "$(nproc)"
printf '| query | seconds | CPU seconds | memory, MiB |\n| --- | --- | --- | --- |\n'
for query in \
  "select * from tree" \
  "select * from steps" \
  "select * from slowest limit 100" \
  "select * from kernels_by_scope" \
  "select * from gpu_idle order by idle_ns desc limit 100"; do
  for _ in $(seq "$rounds"); do
    /usr/bin/time -f '%e %U %S %M' -o "$scratch/time" "$program" "$run" "$query" --format csv --timeout 0 >"$scratch/rows"
    awk '{print $1, $2 + $3, $4 / 1024}' "$scratch/time"
  done | sort -n | head -1 | awk -v query="$query" '{printf "| `%s` | %.2f | %.2f | %.0f |\n", query, $1, $2, $3}'
done
