#!/usr/bin/env bash
# Installs packages of Debian's; ends with 1 where that is not allowed or they are not to be had: packages.sh NAME...
set -euo pipefail
[[ $EUID -eq 0 ]] && command -v apt-get >/dev/null || exit 1

install() {
    DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3 install -y --no-install-recommends "$@" >/dev/null
}

# A machine that has not asked for the list of them yet has none, or one whose packages are gone.
install "$@" 2>/dev/null && exit 0
# Their server may be away for a moment, or another may be asking.
for pause in 0 20; do
    sleep "$pause"
    apt-get -o Acquire::Retries=3 update -qq && install "$@" && exit 0
done
exit 1
