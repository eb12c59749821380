#!/usr/bin/env bash
# Fetches a nightly toolchain with Miri and the standard library's sources into a rustup home of
# its own: nightly.sh RUSTUP_HOME TOOLCHAIN
set -euo pipefail
export RUSTUP_HOME=$1

rustup toolchain install "$2" --profile minimal --component miri,rust-src --no-self-update
touch "$RUSTUP_HOME/.ready"
