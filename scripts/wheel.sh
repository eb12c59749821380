#!/usr/bin/env bash
# Builds the wheel of these sources, unless the cache has it, and prints its path: wheel.sh CACHE
set -euo pipefail
cd "$(dirname "$0")/.."
cache=$1
folder=$cache/wheels
read -r _ python < <(bash scripts/pythons.sh) || {
    echo "no CPython 3.11 or newer was found; HODO_PYTHONS can name one" >&2
    exit 1
}

# Named after what is in it, so that no clone ever gets another one's.
list() {
    local parts=(Cargo.toml Cargo.lock pyproject.toml README.md LICENSE LICENSE-APACHE LICENSE-MIT crates python/build python/hodo python/native)
    if git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
        git ls-files -z --cached --others --exclude-standard -- "${parts[@]}" ':!crates/*/tests'
    else
        find "${parts[@]}" -type f -not -path '*/tests/*' -not -path '*/__pycache__/*' -not -path 'python/hodo/lib/*' -not -path 'python/hodo/bin/*' -not -name '*.so' -print0
    fi
}
key=$({ rustc --version; list | sort -z | while IFS= read -rd '' file; do [[ ! -f $file ]] || sha256sum "$file"; done; } | sha256sum | cut -c1-16)

if [[ ! -d $folder/$key ]]; then
    mkdir -p "$folder"
    find "$folder" -mindepth 1 -maxdepth 1 -mtime +7 -exec rm -rf {} +
    fresh=$(mktemp -d "$folder/.new.XXXXXX")
    trap 'rm -rf "$fresh"' EXIT
    "$cache/venv/bin/python" -m pip --disable-pip-version-check --python "$python" wheel --quiet --no-deps --wheel-dir "$fresh/wheel" . >&2
    mv -T "$fresh/wheel" "$folder/$key" 2>/dev/null || [[ -d $folder/$key ]]
fi
echo "$folder/$key"/*.whl
