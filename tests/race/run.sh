#!/usr/bin/env bash
# Checks the ring with loom, Miri and ThreadSanitizer, then again with a seeded bug, which each of
# them must find: a check that cannot fail shows nothing.
set -euo pipefail
cd "$(dirname "$0")"

cache=${CACHE:-$HOME/.cache/hodo}
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$cache/target}
nightly_home=$cache/rustup
nightly=${NIGHTLY:-nightly}
host=$(rustc -vV | sed -n 's/^host: //p')
log=$(mktemp)
trap 'rm -f "$log"' EXIT

[[ -e $nightly_home/.ready ]] || bash ../../scripts/nightly.sh "$nightly_home" "$nightly"

loom() { RUSTFLAGS="--cfg loom" cargo test --locked --release -p hodo-race --test models -- --nocapture "$@"; }
miri() {
    RUSTUP_HOME=$nightly_home MIRIFLAGS="-Zmiri-many-seeds=0..${MIRI_SEEDS:-8}" \
        cargo "+$nightly" miri test --locked -p hodo-race --test models -- "$@"
}
tsan() {
    RUSTUP_HOME=$nightly_home RUSTFLAGS="-Zsanitizer=thread" \
        cargo "+$nightly" test --locked -Zbuild-std --target "$host" -p hodo-race --test models -- "$@"
}

holds() { # TOOL: every model passes
    echo "$1: every model must hold"
    "$1" >"$log" 2>&1 || { cat "$log"; echo "$1: FAILED"; exit 1; }
    sed -n 's/^\.\{0,1\}\([0-9]* executions\)$/  \1/p; s/^test result/  test result/p' "$log"
}

finds() { # TOOL MODEL SYMPTOM: the model fails on the seeded bug, and for that reason
    if HODO_SEEDED_BUG=1 "$1" "$2" >"$log" 2>&1; then
        cat "$log"; echo "$1: missed the seeded bug in $2"; exit 1
    fi
    grep -qE "$3" "$log" || { cat "$log"; echo "$1: $2 failed for another reason"; exit 1; }
    echo "$1: found the seeded bug in $2: $(grep -m1 -oE "$3" "$log")"
}

published=a_published_record_is_whole
handed=segments_are_handed_over_and_recycled
taken=a_free_slab_has_one_taker

holds loom
finds loom $published 'Causality violation[^`]*'
finds loom $handed 'Causality violation[^`]*|assertion `left == right` failed|taken twice'
finds loom $taken 'taken twice: .*|a slab went missing: .*|Causality violation[^`]*'
holds miri
finds miri $published 'Data race detected between[^`]*'
finds miri $handed 'Data race detected between[^`]*'
holds tsan
finds tsan $published 'WARNING: ThreadSanitizer: data race'
finds tsan $handed 'WARNING: ThreadSanitizer: data race'
echo "race: loom, Miri and ThreadSanitizer passed, and each found its seeded bugs"
