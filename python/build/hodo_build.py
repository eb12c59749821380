"""Builds the wheel: first the runtime and the `hodo` program, then maturin for the native module.

The build folder lies outside the clone, so that a second build takes seconds; `CARGO_TARGET_DIR`
names another one.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import maturin
from maturin import (  # noqa: F401 - hooks that are maturin's as they are
    build_sdist,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "python" / "hodo"


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """The wheel, with `libhodo.so` and `hodo` inside."""
    build_parts()
    return maturin.build_wheel(wheel_directory, config_settings, metadata_directory)


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    """A wheel that points at `python/`; the parts are put there."""
    build_parts()
    return maturin.build_editable(wheel_directory, config_settings, metadata_directory)


def build_parts() -> None:
    """Puts the runtime and the program into the package folder."""
    home = Path.home() / ".cache" / "hodo" / "target"
    target = Path(os.environ.setdefault("CARGO_TARGET_DIR", str(home)))
    # The recorder's fast path is inlined across crates; the program is quicker to build without.
    cargo("--profile", "wheel", "--package", "hodo-runtime", "--lib")
    cargo("--release", "--package", "hodo-cli", "--bin", "hodo")
    place(target / "wheel" / "libhodo_runtime.so", PACKAGE / "lib" / "libhodo.so")
    place(target / "release" / "hodo", PACKAGE / "bin" / "hodo")


def cargo(*arguments: str) -> None:
    """`cargo build`, with the versions of Cargo.lock."""
    try:
        done = subprocess.run(["cargo", "build", "--locked", *arguments], cwd=ROOT, check=False)
    except FileNotFoundError:
        sys.exit("hodo is built by cargo, which is not on the PATH. https://rustup.rs installs it.")
    if done.returncode:
        sys.exit(f"cargo build {' '.join(arguments)} failed; the reason stands above.")


def place(built: Path, at: Path) -> None:
    """Copies without symbols, by renaming: a process that has the old file mapped keeps it."""
    at.parent.mkdir(parents=True, exist_ok=True)
    fresh = at.with_name(f".{at.name}.{os.getpid()}")
    shutil.copy2(built, fresh)
    if shutil.which("strip"):
        subprocess.run(["strip", "--strip-unneeded", fresh], check=True)
    fresh.replace(at)
