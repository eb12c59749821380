#!/usr/bin/env bash
# Writes the C header from the crate, or with --check says whether the one here is what it gives.
#
#   cpp/header.sh CBINDGEN [--check]
set -euo pipefail
cd "$(dirname "$0")/.."

header=cpp/include/hodo/hodo.h
fresh=$(mktemp)
trap 'rm -f "$fresh"' EXIT
"$1" --quiet --config crates/hodo-runtime/cbindgen.toml --output "$fresh" crates/hodo-runtime
# What must hold for a call is said without a heading of rustdoc.
sed -i -e '/^ *\/\/ # Safety$/d' "$fresh"
if [[ ${2:-} == --check ]]; then
  diff -u "$header" "$fresh" || { echo "$header is not what the crate gives: run \`make header\`" >&2; exit 1; }
else
  install -m 644 "$fresh" "$header"
fi
