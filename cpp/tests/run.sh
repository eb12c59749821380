#!/usr/bin/env bash
# Tests of the C and C++ headers: run.sh CACHE [UNITTEST ARGUMENT...]
# HODO_HEAVY=1 runs every way a program can end a hundred times.
set -euo pipefail
cd "$(dirname "$0")/../.."
cache=$1
shift
target=${CARGO_TARGET_DIR:-$PWD/target}
export CARGO_TARGET_DIR=$target

# Installs packages, or says what is left out without them.
wanted() {
  [[ $# -eq 0 ]] || bash scripts/packages.sh "$@" ||
    echo "test-cpp: without $*, what needs them is left out" >&2
}

missing=()
command -v cmake >/dev/null || missing+=(cmake)
command -v clang++ >/dev/null || missing+=(clang)
command -v pkg-config >/dev/null || missing+=(pkg-config)
wanted "${missing[@]}"
# Debian has clang's sanitizers in a package of their own.
if command -v clang++ >/dev/null && ! compgen -G "$(clang++ -print-resource-dir)/lib/*/libclang_rt.asan*.a" >/dev/null; then
  wanted "libclang-rt-$(clang++ -dumpversion | cut -d. -f1)-dev"
fi

bash cpp/header.sh "$cache/tools/bin/cbindgen" --check

built=$(mktemp -d "${TMPDIR:-/tmp}/hodo-built.XXXXXX")
trap 'rm -rf "$built"' EXIT
bash cpp/install.sh "$built/prefix"
export HODO_TEST_PREFIX=$built/prefix HODO_TEST_BUILT=$built
ln -s prefix/lib/libhodo.so prefix/lib/libhodo.a prefix/bin/hodo "$built"
export HODO_TEST_STATIC_LIBS="-ldl -lpthread -lm -lgcc_s"
export PYTHONDONTWRITEBYTECODE=1
# The Python package, for what is compared between languages; HODO_TEST_SITE names a folder that has it.
python=python3
if [[ -n ${HODO_TEST_SITE:-} ]]; then
  export HODO_TEST_SITE
elif read -r _ found < <(bash scripts/pythons.sh) && [[ -x $cache/venv/bin/python ]]; then
  python=$found
  wheel=$(bash scripts/wheel.sh "$cache")
  "$python" -m zipfile --extract "$wheel" "$built/site"
  export HODO_TEST_SITE=$built/site
else
  echo "test-cpp: no Python that hodo is for: its snippets are left out" >&2
fi
if HODO_TEST_NVTX=$(bash scripts/nvtx.sh "$cache"); then export HODO_TEST_NVTX; fi
if HODO_TEST_NVTX_SITE=$(bash scripts/nvtx.sh "$cache" "$python"); then export HODO_TEST_NVTX_SITE; fi
"$python" -m unittest discover --start-directory cpp/tests "$@"
