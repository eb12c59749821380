#!/usr/bin/env bash
# Builds the page that `hodo view` serves, or tests it: page.sh build | test
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root/web"
command -v npm >/dev/null || { echo "page: needs Node.js 20 or newer with npm" >&2; exit 1; }
if [[ ! -f node_modules/.ready || package-lock.json -nt node_modules/.ready ]]; then
    npm ci --no-audit --no-fund --loglevel=error
    touch node_modules/.ready
fi

chromium() {
    [[ -n ${CHROMIUM:-} ]] && return
    command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null && return
    [[ $EUID -eq 0 ]] && apt-get install -y --no-install-recommends chromium fonts-dejavu-core >/dev/null ||
        { echo "page: the browser tests need Chromium: install it, or set CHROMIUM to one" >&2; exit 1; }
}

case $1 in
build)
    npx tsc --noEmit
    node build.mjs
    ;;
test)
    chromium
    npx tsc --noEmit
    npm run --silent unit
    npm run --silent browser
    ;;
*)
    echo "page: build or test, not $1" >&2
    exit 2
    ;;
esac
