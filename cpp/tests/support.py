"""Building programs against the headers, running them, reading back what they recorded."""

from __future__ import annotations

import functools
import json
import os
import shutil
import subprocess
import tempfile
import unittest
from collections import Counter
from pathlib import Path

TESTS = Path(__file__).resolve().parent
ROOT = TESTS.parents[1]
INCLUDE = TESTS.parent / "include"
PROGRAMS = TESTS / "programs"
# Put there by run.sh: libhodo.so, libhodo.a and the `hodo` program, and what to link the archive with.
BUILT = Path(os.environ["HODO_TEST_BUILT"])
HODO = BUILT / "hodo"
STATIC_LIBS = os.environ["HODO_TEST_STATIC_LIBS"].split()
HEAVY = os.environ.get("HODO_HEAVY") == "1"
STRICT = ("-Wall", "-Wextra", "-Werror", "-Wpedantic", "-Wshadow")
# What would make a program record elsewhere, or not at all.
_FOREIGN = ("HODO", "HODO_DIR", "HODO_RUN", "HODO_PARENT", "HODO_APP", "HODO_LIBRARY", "HODO_GPU",
            "HODO_INJECT", "CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH", "CI")

_KEPT = tempfile.TemporaryDirectory(prefix="hodo-cpp-")
_SHARED = Path(_KEPT.name)

Paths = dict[tuple[str, ...], int]


def compilers(language: str) -> list[str]:
    """The compilers of ``"c"`` or ``"c++"`` that are installed."""
    known = {"c": ("gcc", "clang"), "c++": ("g++", "clang++")}[language]
    return [name for name in known if shutil.which(name)]


@functools.cache
def links(compiler: str, flag: str) -> bool:
    """Whether a compiler has the libraries that a flag needs."""
    empty = [compiler, flag, "-x", "c++", "-", "-o", str(_SHARED / "empty")]
    return subprocess.run(empty, input="int main() {}", text=True, capture_output=True).returncode == 0


def command(*arguments: object, **options) -> subprocess.CompletedProcess[str]:
    """Runs a program of the tool chain; its output is the message when it fails."""
    done = subprocess.run(
        [str(a) for a in arguments], text=True, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, **options
    )
    if done.returncode:
        raise AssertionError(f"{' '.join(map(str, arguments))}\n{done.stdout}")
    return done


@functools.cache
def built(source: str, compiler: str, standard: str, *flags: str) -> Path:
    """A program of ``programs/``, compiled once for all tests."""
    at = _SHARED / f"{Path(source).stem}-{len(list(_SHARED.iterdir()))}"
    command(compiler, f"-std={standard}", *STRICT, "-pthread", f"-I{INCLUDE}", PROGRAMS / source,
            "-o", at, *flags)
    return at


class Case(unittest.TestCase):
    """A test with a folder of its own."""

    maxDiff = None

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="hodo-cpp-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def build(self, source: str, *flags: str, compiler: str = "g++", standard: str = "") -> Path:
        """Compiles a program of ``programs/``."""
        standard = standard or ("c11" if source.endswith(".c") else "c++17")
        return built(source, compiler, standard, *flags)

    def environment(self, library: Path | None = BUILT, **more: str) -> dict[str, str]:
        """For a program that records into the test's folder."""
        clean = {key: value for key, value in os.environ.items() if key not in _FOREIGN}
        if library is not None:
            clean["LD_LIBRARY_PATH"] = str(library)
        return {**clean, "HODO_DIR": str(self.folder / "runs"), **more}

    def start(self, program: Path, *arguments: str, library: Path | None = BUILT,
              **env: str) -> subprocess.CompletedProcess[str]:
        """Runs a program to its end, however it ends."""
        return subprocess.run(
            [program, *arguments], env=self.environment(library, **env), text=True,
            capture_output=True, cwd=self.folder, timeout=600
        )

    def run_well(self, program: Path, *arguments: str, library: Path | None = BUILT,
                 **env: str) -> str:
        """Runs a program that must end well; what it printed."""
        done = self.start(program, *arguments, library=library, **env)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def report(self) -> dict:
        """What the newest run of the test's folder says."""
        done = command(HODO, "report", "--json", "--dir", self.folder / "runs")
        return json.loads(done.stdout)

    def paths(self) -> Paths:
        """Every path of names in the tree, with how often it was recorded."""
        counts: Counter[tuple[str, ...]] = Counter()
        for node in self.report()["nodes"]:
            counts[tuple(node["path"])] += node["count"]
        return dict(counts)
