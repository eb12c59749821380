#!/usr/bin/env bash
# Installs the wheel into an empty environment of every Python there is and runs python/tests in each:
# python-tests.sh CACHE [PYTEST ARGUMENT...]
# The first Python runs everything and checks the types; the others leave out what is marked slow.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
cache=$1
shift
tests=$root/python/tests
pip=("$cache/venv/bin/python" -m pip --quiet --disable-pip-version-check)
scratch=$(mktemp -d "${TMPDIR:-/tmp}/hodo-python.XXXXXX")
trap 'rm -rf "$scratch"' EXIT

# What the tests need, in a folder beside the environment: `tools VERSION PROGRAM REQUIREMENTS` prints it.
tools() {
    local key folder fresh
    key=$(cat "$tests"/requirements*.txt "$3" | sha256sum | cut -c1-16)
    folder=$cache/python/${1%.*}-$key
    if [[ ! -d $folder ]]; then
        mkdir -p "$cache/python"
        fresh=$(mktemp -d "$cache/python/.new.XXXXXX")
        "$2" -m venv --without-pip "$fresh/venv"
        "${pip[@]}" --python "$fresh/venv/bin/python" install --target "$fresh/tools" --requirement "$3" >&2
        mv -T "$fresh/tools" "$folder" 2>/dev/null || [[ -d $folder ]]
        rm -rf "$fresh"
    fi
    echo "$folder"
}

# The package by itself: it imports, and its program runs by both names.
smoke() {
    "$1/bin/python" -W error -c 'import hodo' &&
        "$1/bin/python" -m hodo --version >/dev/null &&
        "$1/bin/hodo" --version >/dev/null
}

types() {
    local mypy=("$1" -m mypy --config-file "$root/pyproject.toml" --cache-dir "$scratch/mypy")
    "$1" -m mypy.stubtest hodo._hodo &&
        "${mypy[@]}" --package hodo &&
        "${mypy[@]}" "$root"/examples/python/*.py
}

wheel=$(bash "$root/scripts/wheel.sh" "$cache")
mapfile -t pythons < <(bash "$root/scripts/pythons.sh")
failed=() requirements=$tests/requirements-first.txt selection=()
for line in "${pythons[@]}"; do
    read -r version program <<<"$line"
    echo "== Python $version ($program)"
    venv=$scratch/$version-$(sha256sum <<<"$program" | cut -c1-6)
    "$program" -m venv --without-pip "$venv"
    "${pip[@]}" --python "$venv/bin/python" install --no-index "$wheel"
    smoke "$venv" || failed+=("$version: import or program")
    tools "$version" "$program" "$requirements" >"$(echo "$venv"/lib/python3.*/site-packages)/tests.pth"
    cd "$scratch"
    [[ ${#selection[@]} -gt 0 ]] || types "$venv/bin/python" || failed+=("$version: types")
    "$venv/bin/python" -m pytest "${selection[@]}" "$tests" "$@" || failed+=("$version: tests")
    requirements=$tests/requirements.txt selection=(-m "not slow")
done
[[ ${#failed[@]} -eq 0 ]] || { printf 'test-python: failed: %s\n' "${failed[@]}" >&2; exit 1; }
