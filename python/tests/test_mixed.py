"""A Python program that calls C++ that calls Rust, each with scopes of its own: one tree."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from runs import recorded, report

ROOT = Path(__file__).resolve().parents[2]
needs_sources = pytest.mark.skipif(
    not (shutil.which("cargo") and shutil.which("g++") and (ROOT / "cpp").is_dir()),
    reason="needs cargo, g++ and the sources",
)
CPP = """
#include <hodo/hodo.hpp>

using Host = void (*)(std::int64_t);
using Rust = void (*)(std::int64_t, Host);

static void called_back(std::int64_t index) {
  HODO_SCOPE_F("called back", index) {}
}

extern "C" void cpp_step(std::int64_t index, Rust rust) {
  HODO_SCOPE_F("cpp", index, {"language", "C++"}) { rust(index, called_back); }
}
"""
PROGRAM = """
import ctypes, sys, threading
import hodo

hodo.init()
rust = ctypes.CDLL(sys.argv[2]).plugin_work
step = ctypes.CDLL(sys.argv[1]).cpp_step
step.argtypes = [ctypes.c_int64, ctypes.c_void_p]
address = ctypes.cast(rust, ctypes.c_void_p)

def loop(times):
    for i in range(times):
        with hodo.scope("python", index=i):
            step(i, address)

loop(100)
threads = [threading.Thread(target=loop, args=(50,)) for _ in range(4)]
[t.start() for t in threads]
[t.join() for t in threads]
"""


def rust_library() -> Path:
    """The plugin of the whole-program tests: Rust with its own copy of hodo."""
    command = ["cargo", "build", "--quiet", "--locked", "--package", "hodo-test-plugin"]
    subprocess.run(command, cwd=ROOT, check=True)
    return Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"), "debug", "libhodo_test_plugin.so")


@needs_sources
@pytest.mark.slow
def test_python_calls_cpp_calls_rust(tmp_path: Path) -> None:
    source = tmp_path / "step.cpp"
    source.write_text(CPP)
    library = tmp_path / "libstep.so"
    flags = ["-std=c++17", "-O2", "-fPIC", "-shared", f"-I{ROOT / 'cpp' / 'include'}"]
    subprocess.run(["g++", *flags, str(source), "-o", str(library)], check=True)
    runs = tmp_path / "runs"
    tree = recorded(runs, PROGRAM, str(library), str(rust_library()))
    path: tuple[str, ...] = ()
    for name in ("python", "cpp", "plugin", "called back"):
        path += (name,)
        assert tree.pop(path) == 300, path
    assert not tree
    assert len(report(runs)["processes"]) == 1
