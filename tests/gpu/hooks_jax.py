"""Checks the hooks of JAX on a machine that has a GPU.

    python tests/gpu/hooks_jax.py [--seconds 30] [--out FOLDER]

A plain training loop (`programs/jax_train.py`) with one line of hodo: its tree, where its kernels are and how long
they took; then one process that changes between no hodo, a scope written by hand and hooks, for so many seconds.
Prints one table and leaves the tree and the figures in FOLDER ($OUT, else a new one). Ends with 1 if something is
not as it must be, with 77 where there is no JAX that has the GPU. Nothing else may run on the GPU.
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


def compare(seconds: float, dir: pathlib.Path) -> list[dict[str, float]]:
    """Seconds of a step in each way, round by round, of one process that changes between them."""
    done = check.python("jax_train.py", "turns", seconds, dir=dir)
    return list(json.loads(done.stdout.splitlines()[-1]))


def table(rounds: list[dict[str, float]]) -> list[str]:
    lines = ["| way | step, µs | x none | x scopes by hand | quartiles |", "|---|---:|---:|---:|---:|"]
    for way in WAYS:
        low, of_hand, high = statistics.quantiles([row[way] / row["scopes"] for row in rounds], n=4)
        of_none = statistics.median(row[way] / row["none"] for row in rounds)
        step_us = statistics.median(row[way] for row in rounds) * 1e6
        lines.append(f"| {way} | {step_us:,.1f} | {of_none:.3f} | {of_hand:.3f} | {low:.3f} - {high:.3f} |")
    return [*lines, "", f"{len(rounds)} rounds; kernels are not recorded, what jitting costs is left out"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seconds", type=float, default=30.0, help="how long the ways take turns")
    parser.add_argument("--out", type=pathlib.Path)
    args = parser.parse_args()
    out = args.out or pathlib.Path(os.environ.get("OUT") or tempfile.mkdtemp(prefix="hodo-hooks-jax-"))
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="hodo-runs-") as runs:
        scratch = pathlib.Path(runs)
        told = train("hooks", scratch / "tree", EPOCHS, STEPS)
        (out / "hooks_jax.txt").write_text(tree(scratch / "tree"))
        print(f"jax {told['jax']}, GPU {told['gpu']}")
        for line in check_tree(scratch / "tree", told):
            print(line)
        rounds = compare(args.seconds, scratch / "turns")
    (out / "hooks_jax.json").write_text(json.dumps(rounds, indent=1))
    print("\n".join(["", *table(rounds)]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
