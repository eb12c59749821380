#!/usr/bin/env bash
# Packed runs in a store of objects that speaks as Amazon S3 does, over HTTP: store-tests.sh CACHE
set -euo pipefail
cd "$(dirname "$0")/.."
cache=$1
command -v curl >/dev/null || { echo "store-tests: curl is not here, which makes the bucket: install it" >&2; exit 1; }
scratch=$(mktemp -d "${TMPDIR:-/tmp}/hodo-store.XXXXXX")
server=
trap '[[ -z $server ]] || kill "$server"; rm -rf "$scratch"' EXIT

# It takes a port that is free, and says which.
"$cache/venv-sql/bin/python" -c 'from moto.server import main; main()' -H 127.0.0.1 -p 0 >"$scratch/log" 2>&1 &
server=$!
patience=$((SECONDS + 600))
until endpoint=$(grep -m1 -oE 'http://127\.0\.0\.1:[0-9]+$' "$scratch/log") &&
    curl --silent --fail --output /dev/null --request PUT "$endpoint/runs"; do
    ((SECONDS < patience)) && kill -0 "$server" || { cat "$scratch/log" >&2; exit 1; }
    sleep 0.2
done

export AWS_ENDPOINT=$endpoint AWS_ALLOW_HTTP=true AWS_REGION=us-east-1
export AWS_ACCESS_KEY_ID=made-up AWS_SECRET_ACCESS_KEY=made-up
export HODO_TEST_STORE=s3://runs/collector
cargo test --locked --quiet -p hodo-server --features object-store -- objects --ignored
grep -c '"PUT /runs/' "$scratch/log" | sed 's/$/ objects and parts were put/'
