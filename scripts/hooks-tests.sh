#!/usr/bin/env bash
# Runs python/tests/hooks from the wheel: hooks-tests.sh CACHE system|all [PYTEST ARGUMENT...]
# `system` takes the torch of this machine's own Python, `all` an environment with every framework.
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

program=/usr/bin/python3 requirements=$scratch/requirements.txt
case $which in
    system)
        if ! "$program" -c 'import torch' 2>/dev/null; then
            [[ $EUID -eq 0 ]] && apt-get install -y --no-install-recommends python3-torch >/dev/null 2>&1 || {
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
        cp "$tests/requirements-hooks.txt" "$requirements"
        options=()
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
made "hooks-$key" install_into "$requirements" >"$(echo "$scratch"/venv/lib/python3.*/site-packages)/tests.pth"
cd "$scratch"
"$scratch/venv/bin/python" -m pytest "$tests/hooks" "$@"
