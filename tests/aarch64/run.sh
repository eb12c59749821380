#!/usr/bin/env bash
# Cross-builds for aarch64 and runs the crates' tests under qemu-user, then records and reports with
# the built programs. Tests that start further programs are left out: that needs a kernel that
# knows the emulator.
set -euo pipefail
cd "$(dirname "$0")/../.."

cache=${CACHE:-$HOME/.cache/hodo}
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$cache/target}
target=aarch64-unknown-linux-gnu
version=$(rustc -V | cut -d' ' -f2)

if ! command -v aarch64-linux-gnu-gcc qemu-aarch64 >/dev/null; then
    bash scripts/packages.sh gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user ||
        { echo "aarch64: gcc-aarch64-linux-gnu, libc6-dev-arm64-cross and qemu-user are needed" >&2; exit 1; }
fi
export RUSTUP_HOME=$cache/rustup
rustup toolchain install "$version" --profile minimal --target $target --no-self-update >/dev/null 2>&1

export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER="qemu-aarch64 -L /usr/aarch64-linux-gnu"
export CC_aarch64_unknown_linux_gnu=aarch64-linux-gnu-gcc

cargo "+$version" build --locked --target $target -p hodo-cli -p hodo-tests
cargo "+$version" test --locked --target $target --no-fail-fast --lib --tests \
    -p hodo-record -p hodo-race -p hodo-trace -p hodo-format -- \
    --skip live::a_process_reads_its_own_run --skip live::a_process_that_holds_the_lock "$@"

built=$CARGO_TARGET_DIR/$target/debug
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
head -c 128 /dev/zero >"$scratch/acks"
cd "$scratch"
$CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER "$built/hodo-victim" steady acks=acks lanes=2 steps=5000
$CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER "$built/hodo" report --depth 1
