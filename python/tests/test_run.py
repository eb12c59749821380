"""`hodo run`: a script as it is, and one that uses hodo itself, in one run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import runs
from helpers import Run

USES_HODO = """
    import hodo, subprocess, sys

    print(hodo.init(app="own name"))
    with hodo.scope("outer"):
        with hodo.scope("inner"):
            pass
        if len(sys.argv) > 1:
            subprocess.run([sys.executable, __file__], check=True, stdout=subprocess.DEVNULL)
"""


def launch(dir: Path, code: str, *args: str, **env: str) -> subprocess.CompletedProcess[str]:
    script = runs.written(dir, code)
    command = [str(runs.PROGRAM), "run", "--", sys.executable, str(script), *args]
    return subprocess.run(
        command, env=runs.environment(dir / "runs", **env), capture_output=True, text=True, timeout=600
    )


def test_a_script_that_starts_hodo_joins_the_run(tmp_path: Path) -> None:
    done = launch(tmp_path, USES_HODO)
    assert (done.returncode, done.stdout) == (0, "on\n"), done.stderr
    assert done.stderr.startswith("hodo: recorded 1 process, 2 scopes in ")
    folders = list((tmp_path / "runs").iterdir())
    assert len(folders) == 1 and "-program-" in folders[0].name
    assert Run(tmp_path / "runs").tree == "outer 1\n  inner 1"


def test_what_a_script_starts_joins_too(tmp_path: Path) -> None:
    done = launch(tmp_path, USES_HODO, "and a child")
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith("hodo: recorded 2 processes, 4 scopes in ")
    assert len(list((tmp_path / "runs").iterdir())) == 1


def test_multiprocessing_joins(tmp_path: Path) -> None:
    code = """
        import hodo, multiprocessing, sys

        def work(i):
            with hodo.scope("work", index=i):
                pass

        if __name__ == "__main__":
            hodo.init()
            with hodo.scope("main"), multiprocessing.get_context(sys.argv[1]).Pool(2) as pool:
                pool.map(work, range(8))
    """
    for method in ("fork", "spawn"):
        done = launch(tmp_path / method, code, method)
        assert done.returncode == 0, done.stderr
        dir = tmp_path / method / "runs"
        assert len(list(dir.iterdir())) == 1
        assert runs.paths(dir)["main", "work"] == 8


def test_a_script_without_hodo_is_left_alone(tmp_path: Path) -> None:
    done = launch(tmp_path, "import sys; print(sys.argv[1:]); sys.exit(9)", "--dir", "-q")
    assert (done.returncode, done.stdout) == (9, "['--dir', '-q']\n")
    assert done.stderr.startswith("hodo: nothing was recorded: ")
    assert not (tmp_path / "runs").exists()
