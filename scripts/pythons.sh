#!/usr/bin/env bash
# Prints every CPython >= 3.11 of this machine, one a line: VERSION PROGRAM. HODO_PYTHONS names others.
set -euo pipefail

candidates() {
    if [[ -n ${HODO_PYTHONS:-} ]]; then
        tr ' ' '\n' <<<"$HODO_PYTHONS"
        return
    fi
    printf '%s\n' "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.*/bin/python3 | sort -V
    for version in 3.11 3.12 3.13 3.14; do type -aP "python$version" || true; done
    printf '%s\n' /usr/bin/python3
    type -aP python3 || true
}

# Free-threaded builds cannot load a module of the stable ABI.
probe='
import os, platform, sys, sysconfig
if sys.implementation.name == "cpython" and sys.version_info >= (3, 11) and not sysconfig.get_config_var("Py_GIL_DISABLED"):
    print(platform.python_version(), os.path.realpath(sys._base_executable))
'
candidates | while read -r program; do
    "$program" -c "$probe" 2>/dev/null || true
done | awk '!seen[$0]++'
