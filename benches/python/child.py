"""One measuring process.

    child.py group NAME ROUNDS   figures of a group of rows, as JSON
    child.py count ROW CYCLES    only runs a row, for callgrind
"""

from __future__ import annotations

import json
import sys

import floor
import machine
import rows
from measure import EMPTY, FLOORS, rounds

COUNTED = {
    "hodo scope": 0,
    "hodo scope, index + 2 attributes": 1,
    "hodo decorator": 2,
    "hodo begin/end": 3,
    "hodo mark": 4,
    "hodo batches, an item": 5,
}
PLAIN = {"empty loop": EMPTY, "empty context manager": FLOORS["cm"], "empty call": FLOORS["call"]}


def group(name: str, count: int) -> None:
    """Measures a group; an import that fails is the answer."""
    make, beside = rows.GROUPS[name]
    try:
        measured = make()
    except Exception as error:  # whatever a peer raises, its row says so
        json.dump({"why": f"{type(error).__name__}: {error}"}, sys.stdout)
        return
    if beside:
        measured = rows.ours() + measured
    for row in measured:
        row.around(lambda row=row: row.burst(range(10)) or 0)
        row.drain()
    machine.spread()
    rounds(measured, count)
    json.dump({"rows": [row.figures() for row in measured]}, sys.stdout)


def count(name: str, cycles: int) -> None:
    """Runs one row that many times."""
    if name in PLAIN:
        floor.counted(PLAIN[name], range(cycles))
        return
    row = rows.hodo_rows(rows.started())[COUNTED[name]]
    row.around(lambda: row.burst(range(100)) or 0)
    row.around(lambda: floor.counted(row.burst, range(cycles)) or 0)


if __name__ == "__main__":
    what, name, number = sys.argv[1:]
    {"group": group, "count": count}[what](name, int(number))
