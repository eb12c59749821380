#!/usr/bin/env bash
# Makes the Python environment the tests use: venv.sh FOLDER REQUIREMENTS
set -euo pipefail
folder=$1 requirements=$2

if ! python3 -m venv --clear "$folder" >/dev/null 2>&1; then
    # Debian ships python3 without ensurepip; its package is small.
    bash "$(dirname "$0")/packages.sh" python3-venv ||
        { echo "venv: python3 cannot make an environment: install python3-venv" >&2; exit 1; }
    python3 -m venv --clear "$folder"
fi
# From 23.1 on pip installs into any other Python, also one that has no pip.
"$folder/bin/python" -m pip install --quiet --disable-pip-version-check 'pip>=23.1' --requirement "$requirements"
touch "$folder/.ready"
