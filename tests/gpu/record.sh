#!/usr/bin/env bash
# Records what CUPTI tells real programs, for tests/capture to replay: record.sh LIBRARY OUT [NAME...]
#
# For a machine with a GPU, torch, Triton and the hodo package. LIBRARY is a libhodo.so that can
# record; it is built, on any machine of the same sort, by
#   cargo build --locked --profile wheel -p hodo-runtime --features record
# OUT gets NAME.fixture and NAME.expected of every program in tests/gpu/recorded; those that are good
# go to tests/data/gpu. PYTHON names the interpreter.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
library=$(realpath "$1")
mkdir -p "$2"
out=$(realpath "$2")
shift 2
python=${PYTHON:-python}
names=("$@")
if [[ ${#names[@]} -eq 0 ]]; then
  for file in "$here"/recorded/*.py; do
    name=$(basename "$file" .py)
    [[ $name == known ]] || names+=("$name")
  done
fi

# The package takes a libhodo.so that is loaded already.
named=$(mktemp -d "${TMPDIR:-/tmp}/hodo-record.XXXXXX")
trap 'rm -rf "$named"' EXIT
cp "$library" "$named/libhodo.so"
failed=0
for name in "${names[@]}"; do
  program=$here/recorded/$name.py
  echo "== $name"
  kinds=kernels,copies,sets
  # Waits and allocations are asked for before the library is loaded.
  [[ $name == memory ]] && kinds+=,syncs,memory
  if HODO_GPU_KINDS=$kinds LD_PRELOAD=$named/libhodo.so HODO_DIR=$named/runs HODO_GPU=trace \
      NVTX_INJECTION64_PATH=$named/libhodo.so HODO_GPU_RECORD=$out/$name.fixture \
      "$python" "$program" hodo && "$python" "$program" expected >"$out/$name.expected"; then
    printf '%s: %s bytes\n' "$name" "$(stat -c %s "$out/$name.fixture")"
    sed 's/^/  /' "$out/$name.expected"
  else
    echo "$name: failed, and is left out" >&2
    rm -f "$out/$name".{fixture,expected}
    failed=1
  fi
done
exit "$failed"
