#!/usr/bin/env bash
# Makes the Python environment the tests use: venv.sh FOLDER REQUIREMENTS
set -euo pipefail
folder=$1 requirements=$2

if ! python3 -m venv --clear "$folder" >/dev/null 2>&1; then
    # Debian ships python3 without ensurepip; its package is small.
    apt-get install -y --no-install-recommends python3-venv >/dev/null
    python3 -m venv --clear "$folder"
fi
"$folder/bin/python" -m pip install --quiet --disable-pip-version-check --requirement "$requirements"
touch "$folder/.ready"
