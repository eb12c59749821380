"""`python -m hodo` and the `hodo` command: the program that comes with the package."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import NoReturn

_PROGRAM = Path(__file__).with_name("bin") / "hodo"


def main() -> NoReturn:
    """Becomes the packaged `hodo` program, with this process's arguments."""
    try:
        os.execv(_PROGRAM, ["hodo", *sys.argv[1:]])
    except OSError as error:
        sys.exit(
            f"hodo: cannot run {_PROGRAM}: {error.strerror}. "
            "Install the package again (`pip install --force-reinstall hodo`), "
            "or build the program with `make build`."
        )


if __name__ == "__main__":
    main()
