"""A small training loop in plain Python: epochs, batches, nested scopes, marks.

Run it, then look at it:

    python training_loop.py
    hodo report
"""

from __future__ import annotations

import random
from collections.abc import Iterator

import hodo

Batch = list[tuple[float, float]]


def load(batches: int, size: int) -> Iterator[Batch]:
    """Points on the line y = 3x - 1, with noise; the wait for each batch shows as `data_wait`."""
    rng = random.Random(7)
    for _ in range(batches):
        xs = [rng.uniform(-1, 1) for _ in range(size)]
        yield [(x, 3 * x - 1 + rng.gauss(0, 0.1)) for x in xs]


@hodo.scope("backward")
def gradient(batch: Batch, errors: list[float]) -> tuple[float, float]:
    by_slope = sum(2 * e * x for e, (x, _) in zip(errors, batch, strict=True))
    return by_slope / len(batch), 2 * sum(errors) / len(batch)


def train(epochs: int = 3, batches: int = 40, size: int = 64) -> tuple[float, float]:
    """Fits the line; every step is recorded."""
    slope = offset = 0.0
    for epoch in hodo.epochs(range(epochs)):
        rate = 0.5 / (epoch + 1)
        loss = 0.0
        for batch in hodo.batches(load(batches, size)):
            with hodo.scope("forward", rate=rate) as forward:
                errors = [slope * x + offset - y for x, y in batch]
                loss = sum(e * e for e in errors) / len(batch)
                forward.set(loss=loss)
            by_slope, by_offset = gradient(batch, errors)
            slope -= rate * by_slope
            offset -= rate * by_offset
            hodo.mark("loss", loss)
        hodo.mark("loss at the end", loss, kind="summary")
    return slope, offset


if __name__ == "__main__":
    hodo.init(app="training_loop")
    slope, offset = train()
    print(f"y = {slope:.2f} x {offset:+.2f}")
