"""Does `hodo gate` fire when it should, and only then?

    python3 benches/gate/study.py HODO STEPS [--runs 40] [--pairs 100] [--size 5] [--out FOLDER]

HODO is the `hodo` command, STEPS the example `steps` of the crate `hodo`. Records real runs on this
machine, a plain one and one whose scope `load` does 10 % more, in turns. Then draws pairs of sides,
each a block of neighbouring runs, and gives them to `hodo gate --max 5%`:

- both sides plain: it must fire in at most 2 of 100;
- one side slower: it must fire and name `load` in at least 90 of 100;

and a run whose batches come late must be called input-bound. Ends with 1 when a bar is not met.
The machine may be busy: that is what the gate has to cope with.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
from typing import NamedTuple

PLANTED = ["train", "batch", "load"]
MAX = "5%"
MOST_FALSE = 0.02
LEAST_FOUND = 0.90


class Result(NamedTuple):
    code: int
    named: bool
    first: bool
    others: int


def record(steps: str, folder: pathlib.Path, *arguments: str) -> pathlib.Path:
    folder.mkdir(parents=True, exist_ok=True)
    before = set(folder.iterdir())
    environment = {k: v for k, v in os.environ.items() if not k.startswith("HODO_")}
    subprocess.run(
        [steps, *arguments], check=True, stdout=subprocess.DEVNULL, env=environment | {"HODO_DIR": str(folder)}
    )
    (new,) = set(folder.iterdir()) - before
    return new


def gate(hodo: str, base: list[pathlib.Path], head: list[pathlib.Path]) -> Result:
    sides = [",".join(str(run) for run in side) for side in (base, head)]
    done = subprocess.run([hodo, "gate", *sides, "--max", MAX, "--json"], capture_output=True, text=True)
    if done.returncode not in (0, 3, 4):
        raise SystemExit(f"hodo gate ended with {done.returncode}: {done.stderr}")
    document = json.loads(done.stdout)
    found = [row["path"] for row in document["gate"]["regressions"]]
    explained = [part["path"] for part in document["explanations"][0]["parts"]]
    # The scopes around the planted one take longer because of it.
    others = [path for path in found if path != PLANTED[: len(path)]]
    return Result(done.returncode, PLANTED in found, explained[:1] == [PLANTED], len(others))


def blocks(rng: random.Random, count: int, size: int, pairs: int) -> list[list[int]]:
    """Blocks of `size` neighbours among `count`, at random."""
    return [[*range(start, start + size)] for start in (rng.randrange(count - size + 1) for _ in range(pairs))]


def same(rng: random.Random, plain: list[pathlib.Path], size: int, pairs: int):
    for block in blocks(rng, len(plain), 2 * size, pairs):
        duos = [rng.sample(block[at : at + 2], 2) for at in range(0, 2 * size, 2)]
        yield [plain[a] for a, _ in duos], [plain[b] for _, b in duos]


def slower(rng: random.Random, plain: list[pathlib.Path], slow: list[pathlib.Path], size: int, pairs: int):
    for block in blocks(rng, len(plain), size, pairs):
        yield [plain[at] for at in block], [slow[at] for at in block]


def study(hodo: str, pairs) -> list[Result]:
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return [*pool.map(lambda pair: gate(hodo, *pair), pairs)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("hodo")
    parser.add_argument("steps")
    parser.add_argument("--runs", type=int, default=40, help="plain runs, and as many slow ones")
    parser.add_argument("--pairs", type=int, default=100)
    parser.add_argument("--size", type=int, default=5, help="runs on each side, for the bars")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--out", type=pathlib.Path, help="keep the runs here; those that are there are used again")
    options = parser.parse_args()
    folder = options.out or pathlib.Path(tempfile.mkdtemp(prefix="hodo-gate-"))
    try:
        return judge(options, folder)
    finally:
        if options.out is None:
            shutil.rmtree(folder, ignore_errors=True)


def runs(options: argparse.Namespace, folder: pathlib.Path) -> tuple[list[pathlib.Path], list[pathlib.Path]]:
    kept = [sorted((folder / side).glob("*")) for side in ("plain", "slow")]
    if all(kept):
        return kept[0], kept[1]
    plain, slow = [], []
    for _ in range(options.runs):
        plain.append(record(options.steps, folder / "plain"))
        slow.append(record(options.steps, folder / "slow", "--load", "1.1"))
    return plain, slow


def judge(options: argparse.Namespace, folder: pathlib.Path) -> int:
    plain, slow = runs(options, folder)
    load = " ".join(f"{value:.1f}" for value in os.getloadavg())
    print(f"{len(plain)} plain and {len(slow)} slow runs in turns, {os.cpu_count()} cores, load {load}\n")
    print("| runs a side | same program: fires | 10 % slower: fires | names `load` | first in the explanation | others fire |")
    print("| ---: | ---: | ---: | ---: | ---: | ---: |")
    failed = []
    sizes = sorted({1, 3, options.size, 10})
    for size in (size for size in sizes if 2 * size <= len(plain)):
        rng = random.Random(options.seed)
        alike = study(options.hodo, same(rng, plain, size, options.pairs))
        unlike = study(options.hodo, slower(rng, plain, slow, size, options.pairs))
        fired = sum(result.code == 3 for result in alike)
        named = sum(result.code == 3 and result.named for result in unlike)
        cells = [
            sum(result.code == 3 for result in unlike),
            named,
            sum(result.first for result in unlike),
            sum(result.others > 0 for result in unlike),
        ]
        of = f" of {options.pairs}"
        print(f"| {size} | {fired}{of} | " + " | ".join(f"{cell}{of}" for cell in cells) + " |", flush=True)
        if size == options.size:
            if fired > MOST_FALSE * options.pairs:
                failed.append(f"fires in {fired}{of} pairs of the same program")
            if named < LEAST_FOUND * options.pairs:
                failed.append(f"names the slow scope in {named}{of}")
    failed += input_wait(options, folder)
    print("\n" + ("\n".join(f"FAILED: {line}" for line in failed) or "every bar is met"))
    return 1 if failed else 0


def input_wait(options: argparse.Namespace, folder: pathlib.Path) -> list[str]:
    """A planted wait for input must be called that."""
    run = record(options.steps, folder / "late", "--steps", "60", "--wait-ms", "10")
    done = subprocess.run([options.hodo, "report", "--json", run], capture_output=True, text=True, check=True)
    verdict = json.loads(done.stdout)["verdict"]
    print(f"\nbatches that come 10 ms late: {verdict['bound']}-bound")
    return [] if verdict["bound"] == "input" else [f"late batches are called {verdict['bound']}-bound"]


if __name__ == "__main__":
    sys.exit(main())
