#!/usr/bin/env bash
# Asks a running `hodo view`, and a collector what only that answers, whatever their description allows and much that it
# does not, and checks that every answer is one that docs/openapi.json has: api-tests.sh CACHE HODO [schemathesis options]
set -euo pipefail
cd "$(dirname "$0")/.."
cache=$1 hodo=$2
shift 2
scratch=$(mktemp -d "${TMPDIR:-/tmp}/hodo-api.XXXXXX")
servers=()
trap '[[ ${#servers[@]} -eq 0 ]] || kill "${servers[@]}"; rm -rf "$scratch"' EXIT
checks=not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance,ignored_auth,use_after_free,unsupported_method
collectors='^/(api/ingest|v1|metrics)'

# Starts a server and waits for the last word that it says of itself: started FILE WORD COMMAND...
started() {
    local said=$1 word=$2 until=$((SECONDS + 600))
    shift 2
    "$@" >"$said" 2>/dev/null &
    servers+=($!)
    until grep -q "$word" "$said"; do
        ((SECONDS < until)) && kill -0 "${servers[-1]}" || { echo "api: the server did not start" >&2; exit 1; }
        sleep 0.1
    done
}

# Asks what a description has: asked DESCRIPTION URL TOKEN [OPTION...]
asked() {
    local description=$1 url=$2 token=$3
    shift 3
    "$cache/venv-api/bin/schemathesis" run "$description" --url "$url" --header "Authorization: Bearer $token" --checks "$checks" \
        --max-examples "${HODO_EXAMPLES:-40}" --seed 7 --workers 1 --request-timeout 60 --no-color "$@"
    kill -0 "${servers[-1]}" || { echo "api: the server is gone" >&2; exit 1; }
}

"$hodo" demo --seconds 1 --dir "$scratch/runs" >/dev/null 2>&1
cp -r crates/hodo-cli/tests/data/h200-training "$scratch/runs/"
started "$scratch/url" token= "$hodo" view --no-open --dir "$scratch/runs"
url=$(head -1 "$scratch/url")
# What only a run has is told to it, so that it gets past the first check.
python3 tests/api/known.py docs/openapi.json "$scratch/runs" "$url" >"$scratch/openapi.json"
# The events never end. SQL is a program of its own, tested with it.
asked "$scratch/openapi.json" "${url%%/\?*}" "${url##*token=}" \
    --exclude-path /api/events --exclude-path /api/sql --exclude-path-regex "$collectors" "$@"
started "$scratch/collector" "admin token" "$hodo" serve --bind 127.0.0.1:0 --dir "$scratch/store"
url=$(head -1 "$scratch/collector")
asked docs/openapi.json "${url%/}" "$(sed -n 's/^admin token: //p' "$scratch/collector")" --include-path-regex "$collectors" "$@"
