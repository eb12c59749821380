"""Checks the hooks of JAX on a machine that has a GPU.

    python tests/gpu/hooks_jax.py [--rounds 5] [--steps 400] [--out FOLDER]

A plain training loop (`programs/jax_train.py`) with one line of hodo: its tree, where its kernels are and how long
they took; then the loop without hodo, with a scope written by hand and with hooks, in turn. Prints one table and
leaves the tree and the figures in FOLDER ($OUT, else a new one). Ends with 1 if something is not as it
must be, with 77 where there is no JAX that has the GPU. Nothing else may run on the GPU.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
from typing import Any

import check

EPOCHS, STEPS = 4, 100
WAYS = ("none", "scopes", "hooks")


def train(way: str, dir: pathlib.Path, *sizes: int) -> dict[str, Any]:
    """Runs the loop in one way; what it printed."""
    done = check.python("jax_train.py", way, *sizes, dir=dir, expect=None)
    if done.returncode == 77:
        print("no JAX here that has the GPU", done.stderr[-500:], file=sys.stderr)
        sys.exit(77)
    assert done.returncode == 0, (done.stdout + done.stderr)[-2000:]
    return dict(json.loads(done.stdout.splitlines()[-1]))


def tree(dir: pathlib.Path) -> str:
    command = [check.package() / "bin" / "hodo", "report", "--width", 140, check.only_run(dir)]
    words = [str(word) for word in command]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


def check_tree(dir: pathlib.Path, told: dict[str, Any]) -> list[str]:
    """What must hold of the tree of the hooked loop, and one line on each."""
    assert told["hooks"] == "hooked", told
    document = check.report(dir)
    nodes = check.paths(document)
    step = nodes["epoch/train_step"]
    assert nodes["epoch"]["count"] == EPOCHS and step["count"] == EPOCHS * STEPS, nodes.keys()
    assert nodes["epoch/train_step/compile"]["count"] == 1, "compiled once"
    assert nodes["epoch/device_get"]["count"] == EPOCHS and nodes["block_until_ready"]["count"] == 1
    compiled_ms = nodes["epoch/train_step/compile"]["total_ns"] / 1e6
    lines = [
        f"tree: {EPOCHS} epochs, {step['count']} train_step, compile {compiled_ms:.0f} ms, waits as scopes"
    ]
    if told["gpu"] != "capturing":
        return [*lines, f"kernels: not captured ({told['gpu']})"]
    kernels = check.kernels(document)
    in_all, outside, unknown = check.launched(document)
    inside = sum(count for path, count in kernels.items() if path.startswith("epoch/"))
    per_step = step["gpu"]["all"]["kernels"] / step["count"] if step["gpu"] else 0
    assert per_step >= 1, f"no kernels in train_step: {kernels}"
    assert unknown == 0, f"{unknown} of {in_all} kernels of an unknown launch"
    busy_ms = step["gpu"]["all"]["busy_ns"] / 1e6
    assert busy_ms > 0
    return [
        *lines,
        f"kernels: {in_all} in all, {inside} in epochs, {outside} outside scopes, {per_step:.1f} a step, "
        f"{step['gpu']['all']['inherited']} of train_step inherited",
        f"GPU time of train_step: {busy_ms:.1f} ms, {busy_ms / step['count']:.4f} ms a step",
    ]


def compare(rounds: int, steps: int, out: pathlib.Path) -> dict[str, float]:
    """Seconds of a step in each way: the median of rounds in turn."""
    times: dict[str, list[float]] = {way: [] for way in WAYS}
    for number in range(rounds):
        for way in WAYS:
            told = train(way, out / f"round-{number}-{way}", 6, steps)
            times[way].append(told["step_s"])
    (out / "hooks_jax.json").write_text(json.dumps(times, indent=1))
    return {way: statistics.median(times[way]) for way in WAYS}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--out", type=pathlib.Path)
    args = parser.parse_args()
    kept = args.out or os.environ.get("OUT")
    out = pathlib.Path(kept or tempfile.mkdtemp(prefix="hodo-hooks-jax-"))
    with tempfile.TemporaryDirectory(prefix="hodo-runs-") as runs:
        scratch = pathlib.Path(runs)
        told = train("hooks", scratch / "tree", EPOCHS, STEPS)
        (out / "hooks_jax.txt").write_text(tree(scratch / "tree"))
        print(f"jax {told['jax']}, GPU {told['gpu']}")
        for line in check_tree(scratch / "tree", told):
            print(line)
        times = compare(args.rounds, args.steps, scratch)
        (out / "hooks_jax.json").write_text((scratch / "hooks_jax.json").read_text())
    for way, seconds in times.items():
        more = (seconds / times["none"] - 1) * 100
        print(f"{way:>8} {seconds * 1e6:9.1f} µs a step  {more:+6.2f} %")
    print(f"hooks over scopes by hand: {(times['hooks'] / times['scopes'] - 1) * 100:+.2f} %")
    return 0


if __name__ == "__main__":
    sys.exit(main())
