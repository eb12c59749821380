"""Worker processes: their scopes are in the same run, under the scope that started them."""

from __future__ import annotations

import multiprocessing
import os
import sys
from concurrent.futures import ProcessPoolExecutor

import hodo


def work(shard: int) -> int:
    with hodo.scope("shard", index=shard):
        total = 0
        for step in range(50):
            with hodo.scope("step"):
                total += step * shard
        return total


def main(method: str) -> None:
    context = multiprocessing.get_context(method)
    with hodo.scope("pool", method=method):
        with ProcessPoolExecutor(2, mp_context=context) as pool:
            totals = list(pool.map(work, range(4)))
    print(f"process {os.getpid()} started two others by {method}: {sum(totals)}")


if __name__ == "__main__":
    hodo.init(app="multiprocessing_workers")
    main(sys.argv[1] if len(sys.argv) > 1 else "spawn")
