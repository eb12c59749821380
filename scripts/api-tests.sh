#!/usr/bin/env bash
# Asks a running `hodo view` whatever its description allows and much that it does not, and checks that
# every answer is one that docs/openapi.json has: api-tests.sh CACHE HODO [schemathesis options]
set -euo pipefail
cd "$(dirname "$0")/.."
cache=$1 hodo=$2
shift 2
scratch=$(mktemp -d "${TMPDIR:-/tmp}/hodo-api.XXXXXX")
server=
trap '[[ -z $server ]] || kill "$server"; rm -rf "$scratch"' EXIT

"$hodo" demo --seconds 1 --dir "$scratch/runs" >/dev/null 2>&1
cp -r crates/hodo-cli/tests/data/h200-training "$scratch/runs/"
"$hodo" view --no-open --dir "$scratch/runs" >"$scratch/url" 2>/dev/null &
server=$!
for _ in $(seq 100); do
    [[ -s $scratch/url ]] && break
    sleep 0.1
done
url=$(head -1 "$scratch/url")
# What only a run has is told to it, so that it gets past the first check.
python3 tests/api/known.py docs/openapi.json "$scratch/runs" "$url" >"$scratch/openapi.json"
# The events never end. SQL is a program of its own, tested with it.
"$cache/venv-api/bin/schemathesis" run "$scratch/openapi.json" \
    --url "${url%%/\?*}" --header "Authorization: Bearer ${url##*token=}" \
    --exclude-path /api/events --exclude-path /api/sql \
    --checks not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance,ignored_auth,use_after_free,unsupported_method \
    --max-examples "${HODO_EXAMPLES:-40}" --seed 7 --workers 1 --request-timeout 60 --no-color "$@"
kill -0 "$server" || { echo "api: the server is gone" >&2; exit 1; }
