#!/usr/bin/env bash
# Prints the folder of NVTX's C headers, fetched into the cache unless they are there: nvtx.sh CACHE
set -euo pipefail
cache=$1
folder=$cache/nvtx-12.9.79
if [[ ! -d $folder ]]; then
  pip=(python3 -m pip)
  [[ -x $cache/venv/bin/python ]] && pip=("$cache/venv/bin/python" -m pip)
  "${pip[@]}" install --quiet --no-deps --target "$folder" nvidia-nvtx-cu12==12.9.79 >&2 || exit 1
fi
echo "$folder/nvidia/nvtx/include"
