"""Benchmark loops: warm-up first, then every pass is timed and kept."""

from __future__ import annotations

import hodo

SIZE = 40
A = [[float(i * j % 7) for j in range(SIZE)] for i in range(SIZE)]


def multiply() -> list[list[float]]:
    columns = list(zip(*A, strict=True))
    return [[sum(x * y for x, y in zip(row, col, strict=True)) for col in columns] for row in A]


if __name__ == "__main__":
    hodo.init(app="benchmark")

    # A function: prints and returns the statistics.
    times = hodo.bench(multiply, repeat=10, warmup=2)
    assert times.min_ns <= times.median_ns <= times.max_ns

    # A loop: warm-up passes have negative numbers.
    for i in hodo.scope("sort", tag="builtin", repeat=20, warmup=3):
        sorted(range(1000), key=lambda x: -x * (i + 4))
