"""The pytest plugin: `--hodo` and `hodo_bench`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from helpers import Run, plugin

pytest_plugins = ["pytester"]

TESTS = """
import pytest

def test_passes(): pass
def test_fails(): assert 0

@pytest.mark.parametrize("n", [1, 2])
def test_each(n): pass

@pytest.mark.skip
def test_skipped(): pass

@pytest.mark.xfail
def test_expected(): assert 0

@pytest.fixture
def broken(): raise OSError

def test_setup(broken): pass
"""

Start = Callable[..., pytest.RunResult]


@pytest.fixture
def start(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Start:
    """pytest with the plugin, in a process of its own."""
    for name in ("HODO", "HODO_DIR", "HODO_RUN", "HODO_PARENT"):
        monkeypatch.delenv(name, raising=False)

    def run(tests: str, *arguments: str) -> pytest.RunResult:
        pytester.makepyfile(tests)
        return pytester.runpytest_subprocess(*plugin(), *arguments)

    return run


def test_every_test_is_a_scope(start: Start, pytester: pytest.Pytester) -> None:
    result = start(TESTS, "--hodo", "--hodo-dir", "runs")
    result.assert_outcomes(passed=3, failed=1, skipped=1, xfailed=1, errors=1)
    result.stdout.fnmatch_lines(["recorded: hodo report *"])
    run = Run(pytester.path / "runs")
    outcomes = {
        "test_passes": ["passed"],
        "test_fails": ["failed"],
        "test_each": ["passed", "passed"],
        "test_skipped": ["skipped"],
        "test_expected": ["xfailed"],
        "test_setup": ["error"],
    }
    for name, expected in outcomes.items():
        assert [attrs["outcome"] for attrs in run.attributes(name)] == expected, name
    assert run.attributes("test_each")[1]["nodeid"].endswith("::test_each[2]")
    assert run.node("test_fails", "call")["count"] == 1
    failed = {node["name"] for node in run.report["nodes"] if node["failed"]}
    assert failed == {"test_fails", "test_setup"}
    assert run.attributes("test_setup")[0]["error"] == "OSError"


def test_nothing_happens_without_the_option(start: Start, pytester: pytest.Pytester) -> None:
    result = start("import hodo\ndef test_off(): assert not hodo.is_on()")
    result.assert_outcomes(passed=1)
    assert "hodo report" not in result.stdout.str()
    assert not (pytester.path / ".hodo").exists()


BENCH = """
def test_sum(hodo_bench):
    calls = []
    def work(x, y=0):
        calls.append(x + y)
    times = hodo_bench(work, 2, y=3, repeat=7, warmup=2)
    assert calls == [5] * 9
    assert len(times.samples_ns) == 7
    assert times.min_ns <= times.median_ns <= times.max_ns
"""


@pytest.mark.parametrize("options", [(), ("--hodo",)])
def test_a_benchmark_is_shown(
    start: Start, pytester: pytest.Pytester, options: tuple[str, ...]
) -> None:
    result = start(BENCH, *options)
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*hodo benchmarks*", "*::test_sum*work: 7 passes after 2*"])
    if options:
        bench = Run(pytester.path / ".hodo").node("test_sum", "call", "work")["bench"]
        assert (bench["iterations"], bench["warmup"]) == (7, 2)


def test_a_folder_that_cannot_be_written_fails_no_test(start: Start, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    start("def test_x(): pass", "--hodo", "--hodo-dir", str(file)).assert_outcomes(passed=1)
