#!/usr/bin/env bash
# Builds libhodo.so, libhodo.a and the `hodo` program and installs them with the headers: install.sh PREFIX
set -euo pipefail
cd "$(dirname "$0")/.."
prefix=$(realpath --canonicalize-missing "$1")
target=${CARGO_TARGET_DIR:-$PWD/target}
command -v cmake >/dev/null || { echo "make install needs cmake" >&2; exit 1; }

cargo build --quiet --locked --release -p hodo-runtime -p hodo-cli --features hodo-cli/object-store
scratch=$(mktemp -d "${TMPDIR:-/tmp}/hodo-install.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/runtime"
cp "$target/release/libhodo_runtime.so" "$scratch/runtime/libhodo.so"
cp "$target/release/libhodo_runtime.a" "$scratch/runtime/libhodo.a"
cp "$target/release/hodo" "$scratch/runtime/hodo"
strip --strip-unneeded "$scratch/runtime/libhodo.so" "$scratch/runtime/hodo"
strip --strip-debug "$scratch/runtime/libhodo.a"
cmake -S cpp -B "$scratch/build" -DCMAKE_INSTALL_PREFIX="$prefix" -DCMAKE_INSTALL_LIBDIR=lib \
  -DHODO_RUNTIME_DIR="$scratch/runtime" >"$scratch/log" || { cat "$scratch/log" >&2; exit 1; }
cmake --install "$scratch/build" >"$scratch/log" || { cat "$scratch/log" >&2; exit 1; }
echo "installed hodo into $prefix"
