#!/usr/bin/env bash
# Builds the wheel, an environment with the peers, and measures: run.sh CACHE [run.py's arguments]
#
#   make bench-python                   everything, about five minutes; writes RESULTS.md here
#   make bench-python BENCH_ARGS=--quick    fewer rounds, no instruction counts, writes nothing
#
# HODO_BENCH_PYTHON names the interpreter, else the first CPython >= 3.11.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$here/../..
cache=$1
shift
pip=("$cache/venv/bin/python" -m pip --quiet --disable-pip-version-check)
wheel=$(bash "$root/scripts/wheel.sh" "$cache")
scratch=$(mktemp -d "${TMPDIR:-/tmp}/hodo-bench.XXXXXX")
trap 'rm -rf "$scratch"' EXIT

# An environment with hodo and the peers named: `environment NAME PROGRAM REQUIREMENT...`
environment() {
    "$2" -m venv --without-pip "$scratch/$1"
    "${pip[@]}" --python "$scratch/$1/bin/python" install "$wheel" "${@:3}"
}

mapfile -t pythons < <(bash "$root/scripts/pythons.sh")
first=${HODO_BENCH_PYTHON:-${pythons[0]#* }}
environment first "$first" --requirement "$here/requirements.txt"
arguments=()
# gpufl has wheels for 3.12 and newer only.
for line in "${pythons[@]}"; do
    if [[ ${#arguments[@]} -eq 0 && $line != 3.11.* ]] && environment gpufl "${line#* }" "gpufl==1.2.1"; then
        arguments=(--gpufl-python "$scratch/gpufl/bin/python")
    fi
done
[[ " $* " == *" --quick "* ]] || arguments+=(--out "$here/RESULTS.md")
"$scratch/first/bin/python" "$here/run.py" "${arguments[@]}" "$@"
