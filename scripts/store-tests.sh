#!/usr/bin/env bash
# Packed runs in a store of objects that speaks as Amazon S3 does, over HTTP: store-tests.sh CACHE
set -euo pipefail
cd "$(dirname "$0")/.."
cache=$1
scratch=$(mktemp -d "${TMPDIR:-/tmp}/hodo-store.XXXXXX")
server=
trap '[[ -z $server ]] || kill "$server"; rm -rf "$scratch"' EXIT

port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
"$cache/venv-sql/bin/python" -c 'from moto.server import main; main()' -H 127.0.0.1 -p "$port" \
    >"$scratch/log" 2>&1 &
server=$!
endpoint=http://127.0.0.1:$port
for _ in $(seq 100); do
    curl --silent --fail --output /dev/null --request PUT "$endpoint/runs" && break
    kill -0 "$server" || { cat "$scratch/log" >&2; exit 1; }
    sleep 0.2
done

export AWS_ENDPOINT=$endpoint AWS_ALLOW_HTTP=true AWS_REGION=us-east-1
export AWS_ACCESS_KEY_ID=made-up AWS_SECRET_ACCESS_KEY=made-up
export HODO_TEST_STORE=s3://runs/collector
cargo test --locked --quiet -p hodo-server --features object-store -- objects --ignored
grep -c '"PUT /runs/' "$scratch/log" | sed 's/$/ objects and parts were put/'
