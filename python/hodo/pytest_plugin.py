"""hodo in pytest: ``--hodo`` records every test, ``hodo_bench`` measures a function."""

from __future__ import annotations

import functools
from collections.abc import Callable, Generator
from typing import Any

import pytest

import hodo
from hodo._bench import Statistics, bench

_BENCH = "hodo_bench"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("hodo", "flight recorder")
    group.addoption("--hodo", action="store_true", help="record the session: every test is a scope")
    group.addoption("--hodo-dir", metavar="FOLDER", help="folder the runs are in (.hodo)")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(_Benchmarks(), "hodo-benchmarks")
    if config.getoption("--hodo"):
        config.pluginmanager.register(_Recorder(config.getoption("--hodo-dir")), "hodo-recorder")


@pytest.fixture
def hodo_bench(request: pytest.FixtureRequest) -> Callable[..., Statistics]:
    """``hodo_bench(function, *args, repeat=10, warmup=3)``: run it so often, give the times."""

    def measure(
        function: Callable[..., Any],
        *args: Any,
        repeat: int = 10,
        warmup: int = 3,
        sync: Callable[[], Any] | None = None,
        **kwargs: Any,
    ) -> Statistics:
        call = functools.partial(function, *args, **kwargs)
        name = getattr(function, "__name__", None) or type(function).__name__
        # One test, one row: cases of a parametrised one are not each other's repetitions.
        case = getattr(getattr(request.node, "callspec", None), "id", None)
        measured: Statistics = bench(
            call, repeat, warmup, sync=sync, name=name, tag=case, show=False
        )
        # With the test's report, so that it also comes from a worker process and into JUnit files.
        request.node.user_properties.append((_BENCH, str(measured)))
        return measured

    return measure


class _Benchmarks:
    """Shows what `hodo_bench` measured at the end."""

    def __init__(self) -> None:
        self._lines: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "teardown":
            measured = [str(text) for name, text in report.user_properties if name == _BENCH]
            self._lines += [f"{report.nodeid}  {text}" for text in measured]

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if self._lines:
            terminalreporter.section("hodo benchmarks")
            for line in self._lines:
                terminalreporter.write_line(line)


class _Recorder:
    """Records every test as a scope, with its phases inside."""

    def __init__(self, folder: str | None) -> None:
        hodo.init("pytest", folder)
        self._run = hodo.health()["run"]
        self._test: hodo.Scope | None = None

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, None]:
        name = getattr(item, "originalname", None) or item.name
        with hodo.scope(name, nodeid=item.nodeid) as self._test:
            yield

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None, Any, None]:
        with hodo.scope("setup"):
            yield

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, Any, None]:
        with hodo.scope("call"):
            yield

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Generator[None, Any, None]:
        with hodo.scope("teardown"):
            yield

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[Any]
    ) -> Generator[None, Any, None]:
        made = yield
        report: pytest.TestReport = made.get_result()
        if self._test is None or (report.passed and report.when != "call"):
            return
        self._test.set(outcome=_outcome(report))
        if report.failed:
            self._test.fail(call.excinfo.type if call.excinfo else AssertionError)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if self._run:
            terminalreporter.section("hodo")
            terminalreporter.write_line(f"recorded: hodo report {self._run}")

    def pytest_unconfigure(self) -> None:
        hodo.shutdown()


def _outcome(report: pytest.TestReport) -> str:
    """passed, failed, skipped, xfailed or xpassed; error for a phase around the test."""
    if hasattr(report, "wasxfail"):
        return "xfailed" if report.skipped else "xpassed"
    if report.failed and report.when != "call":
        return "error"
    return str(report.outcome)
