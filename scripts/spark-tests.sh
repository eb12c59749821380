#!/usr/bin/env bash
# The tables of a run as Spark reads them, against pyarrow, polars, DuckDB, `hodo sql` and the report:
# spark-tests.sh CACHE
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
cache=$1
python=$cache/venv-spark/bin/python
if ! command -v java >/dev/null; then
    bash "$root/scripts/packages.sh" default-jre-headless ||
        { echo "spark-tests: Spark needs Java 17 or newer: install a JRE" >&2; exit 1; }
fi
if [[ ! -f $cache/venv-spark/.ready || $root/tests/requirements-spark.txt -nt $cache/venv-spark/.ready ]]; then
    bash "$root/scripts/venv.sh" "$cache/venv-spark" "$root/tests/requirements-spark.txt"
fi
scratch=$(mktemp -d "${TMPDIR:-/tmp}/hodo-spark.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
hodo=$CARGO_TARGET_DIR/demo/hodo
cd "$scratch"
"$hodo" demo --seconds 1 --dir runs >/dev/null 2>&1
"$hodo" import --dir runs "$root/crates/hodo-convert/tests/data/torch_profiler_h200_mlp.json.gz" >/dev/null 2>&1
for run in runs/*; do
    rm -rf tables
    "$hodo" report "$run" --json >report.json
    "$hodo" export "$run" --to parquet tables >/dev/null 2>&1
    "$python" "$root/crates/hodo-cli/tests/parquet_readers.py" tables --report report.json --spark \
        --hodo-sql "$CARGO_TARGET_DIR/release/hodo-sql" 2>spark.log ||
        { cat spark.log >&2; exit 1; }
done
"$python" "$root/crates/hodo-cli/tests/snippets.py" "$root/docs/parquet.md" spark 2>spark.log ||
    { cat spark.log >&2; exit 1; }
