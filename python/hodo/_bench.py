"""Benchmark loops: warm-up, then passes that are each recorded and timed."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import hodo
from hodo import _hodo

_now = time.perf_counter_ns

# Two-sided 95 % quantiles of Student's t, by degrees of freedom.
_T95 = (
    math.inf, 12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262,
    2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093,
    2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
)  # fmt: skip


def passes(scope: _hodo.Scope) -> Iterator[int]:
    """The passes of ``for i in hodo.scope(name, repeat=..., warmup=...)``."""
    repeat, warmup = scope._repeat or (0, 0)
    for one in _scopes(scope, repeat, warmup):
        with one:
            yield one.index or 0


def _scopes(scope: _hodo.Scope, repeat: int, warmup: int) -> Iterator[_hodo.Scope]:
    """A scope for each pass, inside of one for the warm-up and one for what is measured."""
    if warmup:
        with _hodo.flagged(f"{scope.name} warm-up", _hodo.WARMUP, None, scope):
            for index in range(-warmup, 0):
                yield _hodo.flagged("iteration", _hodo.ITERATION | _hodo.WARMUP, index)
    with _hodo.flagged(scope.name, _hodo.BENCH, scope.index, scope) as part:
        part.set(repeat=repeat, warmup=warmup)
        for index in range(repeat):
            yield _hodo.flagged("iteration", _hodo.ITERATION, index)


@dataclass(frozen=True)
class Statistics:
    """Times of the measured passes of a benchmark loop, in nanoseconds."""

    name: str
    samples_ns: tuple[int, ...]
    warmup: int

    @property
    def min_ns(self) -> int:
        return min(self.samples_ns)

    @property
    def max_ns(self) -> int:
        return max(self.samples_ns)

    @property
    def mean_ns(self) -> float:
        return math.fsum(self.samples_ns) / len(self.samples_ns)

    @property
    def median_ns(self) -> float:
        return self.quantile_ns(0.5)

    @property
    def p95_ns(self) -> float:
        return self.quantile_ns(0.95)

    @property
    def ci95_ns(self) -> tuple[float, float]:
        """The 95 % confidence interval of the mean (Student's t)."""
        count, mean = len(self.samples_ns), self.mean_ns
        if count < 2:
            return (mean, mean)
        variance = math.fsum((sample - mean) ** 2 for sample in self.samples_ns) / (count - 1)
        t = _T95[count - 1] if count <= len(_T95) else 1.96 + 2.5 / (count - 1)
        half = t * math.sqrt(variance / count)
        return (max(0.0, mean - half), mean + half)

    def quantile_ns(self, q: float) -> float:
        """The time that a share ``q`` of the passes stays below, between passes linearly."""
        ordered = sorted(self.samples_ns)
        at = q * (len(ordered) - 1)
        low = math.floor(at)
        high = min(low + 1, len(ordered) - 1)
        return ordered[low] + (ordered[high] - ordered[low]) * (at - low)

    def __str__(self) -> str:
        count, (low, high) = len(self.samples_ns), self.ci95_ns
        within = f" (95 % between {_time(low)} and {_time(high)})" if count > 1 else ""
        return (
            f"{self.name}: {count} pass{'es' * (count != 1)} after {self.warmup} warm-up: "
            f"median {_time(self.median_ns)}, mean {_time(self.mean_ns)}{within}, "
            f"min {_time(self.min_ns)}, p95 {_time(self.p95_ns)}"
        )


def bench(
    function: Callable[[], Any] | str,
    repeat: int = 10,
    warmup: int = 3,
    *,
    sync: Callable[[], Any] | None = None,
    tag: str | None = None,
    name: str | None = None,
    show: bool = True,
) -> Any:
    if not isinstance(repeat, int) or repeat < 1 or not isinstance(warmup, int) or warmup < 0:
        raise ValueError("bench() takes repeat >= 1 and warmup >= 0, both whole numbers")
    if isinstance(function, str):
        return _Loop(function, repeat, warmup, sync, tag, show)
    if not callable(function):
        raise TypeError("bench() takes a function to call, or the name of a loop")
    if sync is not None and not callable(sync):
        raise TypeError(f"sync is a function that waits for the work, not {sync!r}")
    title = name or getattr(function, "__qualname__", None) or type(function).__name__
    loop = _Loop(str(title), repeat, warmup, sync, tag, show)
    loop.run(function)
    return loop.statistics


class _Loop:
    """The passes of ``hodo.bench("name", ...)``; ``statistics`` when it has run."""

    def __init__(
        self,
        name: str,
        repeat: int,
        warmup: int,
        sync: Callable[[], Any] | None,
        tag: str | None,
        show: bool,
    ) -> None:
        self.statistics: Statistics | None = None
        self._name, self._repeat, self._warmup = name, repeat, warmup
        self._sync, self._tag, self._show = sync, tag, show

    def __len__(self) -> int:
        return self._repeat + self._warmup

    def run(self, function: Callable[[], Any]) -> None:
        """Calls ``function`` in every pass."""
        with self._measuring() as (scopes, add):
            for scope in scopes:
                start = _now()
                with scope:
                    function()
                    if self._sync is not None:
                        self._sync()
                add(scope, start)

    def __iter__(self) -> Iterator[int]:
        with self._measuring() as (scopes, add):
            for scope in scopes:
                start = _now()
                with scope:
                    yield scope.index or 0
                    if self._sync is not None:
                        self._sync()
                add(scope, start)

    @contextmanager
    def _measuring(self) -> Iterator[tuple[Iterator[_hodo.Scope], Callable[[_hodo.Scope, int], None]]]:
        """The scopes of all passes, and what takes the time of one: what was recorded, if it was."""
        samples: list[int] = []

        def add(scope: _hodo.Scope, start: int) -> None:
            if (scope.index or 0) >= 0:
                samples.append(scope._took_ns or _now() - start)

        template = _hodo.scope(self._name, tag=self._tag)
        scopes = _scopes(template, self._repeat, self._warmup)
        try:
            yield scopes, add
        finally:
            scopes.close()  # type: ignore[attr-defined]
            if samples:
                self.statistics = Statistics(self._name, tuple(samples), self._warmup)
        if self._show:
            print(self.statistics)


def _time(ns: float) -> str:
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if abs(ns) >= size:
            return f"{ns / size:.3g} {unit}"
    return f"{ns:.0f} ns"


setattr(hodo, "Statistics", Statistics)
