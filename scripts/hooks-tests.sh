#!/usr/bin/env bash
# Runs python/tests/hooks from the wheel: hooks-tests.sh CACHE system|all [PYTEST ARGUMENT...]
# `system` takes the torch of this machine's own Python, `all` an environment with every framework: torch too, from PyPI with
# its gigabytes for GPUs, unless HODO_HOOKS_PYTHON names a Python that has one (2.5 or newer, as Debian 13's python3-torch).
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
cache=$1 which=$2
shift 2
tests=$root/python/tests
pip=("$cache/venv/bin/python" -m pip --quiet --disable-pip-version-check)
scratch=$(mktemp -d "${TMPDIR:-/tmp}/hodo-hooks.XXXXXX")
trap 'rm -rf "$scratch"' EXIT

# A folder of the cache, made once by `made KEY COMMAND...`, which gets a fresh folder as its last word.
made() {
    local folder=$cache/python/$1 fresh
    shift
    if [[ ! -d $folder ]]; then
        mkdir -p "$cache/python"
        fresh=$(mktemp -d "$cache/python/.new.XXXXXX")
        "$@" "$fresh/made" >&2
        mv -T "$fresh/made" "$folder" 2>/dev/null || [[ -d $folder ]]
        rm -rf "$fresh"
    fi
    echo "$folder"
}

install_into() {
    "${pip[@]}" --python "$program" install --requirement "$1" --target "$2"
}

# The same with what the program has itself: left as it is, and counted as installed.
install_beside() {
    "$program" -m venv --without-pip --system-site-packages "$2"
    "${pip[@]}" --python "$2/bin/python" install --requirement "$1"
}

program=/usr/bin/python3 requirements=$scratch/requirements.txt install=install_into
case $which in
    system)
        if ! "$program" -c 'import torch' 2>/dev/null; then
            bash "$root/scripts/packages.sh" python3-torch || {
                echo "hooks-tests: $program has no torch and none can be installed: its hooks are not tested" >&2
                exit 0
            }
        fi
        # Not numpy: this torch goes with the one it came with.
        grep -h '^pytest' "$tests/requirements.txt" >"$requirements"
        options=(--system-site-packages)
        ;;
    all)
        read -r _ program < <(bash "$root/scripts/pythons.sh")
        program=${HODO_HOOKS_PYTHON:-$program}
        cp "$tests/requirements-hooks.txt" "$requirements"
        options=()
        if version=$("$program" -c 'import importlib.metadata as m; print(m.version("torch"))' 2>/dev/null); then
            sed -i "s/^torch==.*/torch==$version/" "$requirements"
            options=(--system-site-packages) install=install_beside
        fi
        ;;
    *)
        echo "hooks-tests: system or all, not $which" >&2
        exit 2
        ;;
esac
wheel=$(bash "$root/scripts/wheel.sh" "$cache")
key=$({ "$program" --version; cat "$requirements"; } | sha256sum | cut -c1-16)
"$program" -m venv --without-pip "${options[@]}" "$scratch/venv"
"${pip[@]}" --python "$scratch/venv/bin/python" install --no-index "$wheel"
folder=$(made "hooks-$key" "$install" "$requirements")
[[ $install == install_into ]] || folder=$(echo "$folder"/lib/python3.*/site-packages)
echo "$folder" >"$(echo "$scratch"/venv/lib/python3.*/site-packages)/tests.pth"
cd "$scratch"
"$scratch/venv/bin/python" -m pytest "$tests/hooks" "$@"
