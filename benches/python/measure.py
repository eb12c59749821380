"""Bursts of every row in turn, each between two bursts of its floor.

A figure is the thread CPU time of a tight loop, less that of the empty loop, per cycle. Its ratio
is to the floor just before and just after, so a slow phase of the machine is in both.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import median, quantiles
from time import thread_time_ns
from typing import Any

import floor

FLOOR_CYCLES = 10_000
Burst = Callable[[Any], None]


def loop(body: str, names: dict[str, Any], items: str = "items") -> Burst:
    """A function that runs `body` for every item; all rows and floors have this shape."""
    source = f"def burst(items):\n for i in {items}:\n  {body}\n"
    namespace = dict(names)
    exec(compile(source, "<row>", "exec"), namespace)
    return namespace["burst"]


EMPTY = loop("pass", {})
FLOORS = {
    "cm": loop("\n  ".join(['with floor.cm("x"):', " pass"]), {"floor": floor}),
    "call": loop("floor.call()", {"floor": floor}),
}


@dataclass
class Row:
    """One thing that is measured."""

    name: str
    keeps: str
    burst: Burst
    floor: str = "cm"
    cycles: int = 10_000
    # Runs the burst: a row that needs an open scope around it does that here.
    around: Callable[[Callable[[], int]], int] = lambda timed: timed()
    # Empties buffers after a burst; how many records were lost.
    drain: Callable[[], int] = lambda: 0
    ns: list[float] = field(default_factory=list)
    ratio: list[float] = field(default_factory=list)
    lost: int = 0

    def figures(self) -> dict[str, Any]:
        """What the rounds gave, for the table."""
        low, _, high = quantiles(self.ratio, n=4)
        return {
            "name": self.name,
            "keeps": self.keeps,
            "floor": self.floor,
            "min": min(self.ns),
            "ns": median(self.ns),
            "ratio": median(self.ratio),
            "low": low,
            "high": high,
            "lost": self.lost,
        }


def timed(burst: Burst, cycles: int) -> int:
    """Thread CPU time of one burst, in nanoseconds."""
    items = range(cycles)
    start = thread_time_ns()
    burst(items)
    return thread_time_ns() - start


def per_cycle(burst: Burst, cycles: int) -> float:
    """Nanoseconds a cycle, loop included."""
    return timed(burst, cycles) / cycles


def rounds(rows: list[Row], count: int, warmup: int = 3) -> None:
    """Measures all rows, round by round, each against its floor."""
    gc.collect()
    for number in range(warmup + count):
        for turn in range(len(rows)):
            # Every row follows another one in the next round.
            row = rows[(turn * 3 + number) % len(rows)] if len(rows) % 3 else rows[turn]
            took, below = once(row)
            row.lost += row.drain()
            if number >= warmup:
                row.ns.append(took)
                row.ratio.append(took / below)


def once(row: Row) -> tuple[float, float]:
    """One burst of the row and the mean of the two floors around it, both without the loop."""
    under = FLOORS[row.floor]
    empty = per_cycle(EMPTY, FLOOR_CYCLES)
    before = per_cycle(under, FLOOR_CYCLES)
    took = row.around(lambda: timed(row.burst, row.cycles)) / row.cycles
    after = per_cycle(under, FLOOR_CYCLES)
    empty = min(empty, per_cycle(EMPTY, FLOOR_CYCLES))
    return took - empty, (before + after) / 2 - empty
