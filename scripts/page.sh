#!/usr/bin/env bash
# The page that `hodo view` serves: page.sh build | unit | test | sql | shots | ready
#   build  writes crates/hodo-server/page from web/
#   unit   types, unit tests, size, and whether the committed page is fresh
#   test   the same, and every view in Chromium (HODO_BIN: over real runs too)
#   sql    the view of SQL with the program that answers it (HODO_BIN, HODO_SQL)
#   shots  pictures of every view, into PAGE_SHOTS to be looked at, those of the docs into docs/images/page (HODO_BIN)
#   ready  only fetches what the others need
# With HODO_OPTIONAL=1 it is no failure, but said, that Node.js or Chromium is not here and cannot be installed.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root/web"

lacking() {
    echo "page: not tested: $1" >&2
    [[ -n ${HODO_OPTIONAL:-} ]] && exit 0
    exit 1
}

needed="Node.js 20.10 or newer with npm"
command -v npm >/dev/null || bash "$root/scripts/packages.sh" nodejs npm || lacking "it needs $needed"
is_new='const [major, minor] = process.versions.node.split(".").map(Number); process.exit(major * 100 + minor < 2010 ? 1 : 0)'
node -e "$is_new" || lacking "it needs $needed, and node is $(node --version)"
if [[ ! -f node_modules/.ready || package-lock.json -nt node_modules/.ready ]]; then
    fetch() { npm ci --no-audit --no-fund --loglevel=error; }
    fetch || { sleep 20 && fetch; } || lacking "its packages cannot be fetched"
    touch node_modules/.ready
fi

chromium() {
    [[ -n ${CHROMIUM:-} ]] && return
    CHROMIUM=$(chromium_on_path) || { bash "$root/scripts/packages.sh" chromium fonts-dejavu-core && CHROMIUM=$(chromium_on_path); } ||
        lacking "the browser tests need Chromium: install it, or set CHROMIUM to one"
    export CHROMIUM
}

chromium_on_path() {
    # Not `command -v`: a function here has that name too.
    type -P chromium || type -P chromium-browser || type -P google-chrome
}

unit() {
    npx tsc --noEmit
    npm run --silent unit
}

case $1 in
build)
    npx tsc --noEmit
    node build.mjs
    ;;
unit)
    unit
    ;;
test)
    unit
    chromium
    npm run --silent browser
    ;;
sql)
    chromium
    npm run --silent browser real
    ;;
shots)
    chromium
    shots=${PAGE_SHOTS:-$(mktemp -d)}
    node dev/shots.mjs "$HODO_BIN" "$shots" docs
    echo "page: pictures in $shots"
    ;;
ready)
    chromium
    ;;
*)
    echo "page: build, unit, test, sql, shots or ready, not $1" >&2
    exit 2
    ;;
esac
