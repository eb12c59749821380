#!/usr/bin/env bash
# Fetches NVTX into the cache unless it is there, and prints where: nvtx.sh CACHE [PYTHON]
# The folder of the C headers; with a Python, the folder of the package `nvtx` for it.
set -euo pipefail
cache=$1
pip=(python3 -m pip)
[[ -x $cache/venv/bin/python ]] && pip=("$cache/venv/bin/python" -m pip)
pip+=(--quiet --disable-pip-version-check)

if [[ -z ${2:-} ]]; then
  folder=$cache/nvtx-12.9.79
  [[ -d $folder ]] || "${pip[@]}" install --no-deps --target "$folder" nvidia-nvtx-cu12==12.9.79 >&2 || exit 1
  echo "$folder/nvidia/nvtx/include"
else
  folder=$cache/python-nvtx-0.2.16-$("$2" -c 'import sys; print(sys.implementation.cache_tag)')
  [[ -d $folder ]] || "${pip[@]}" --python "$2" install --no-deps --target "$folder" nvtx==0.2.16 >&2 || exit 1
  echo "$folder"
fi
