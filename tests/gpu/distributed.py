"""Checks the scopes of models that are trained in parallel: DDP, FSDP and fully_shard.

    python tests/gpu/distributed.py [--out FOLDER] [--cpu]

`programs/parallel.py` runs as the ranks of each way, with one line of hodo, and counts itself which collectives it
comes to. The tree must have each of them, those of the steps inside of their forward or backward pass (which on a
GPU runs on a thread of autograd's own). Two ranks share the GPU through gloo; NCCL, which refuses that, runs as
one. Without a GPU, or with --cpu, the ways that need none run. Prints a table, leaves the trees in FOLDER ($OUT, else
a new one), and ends with 1 if something is not as it must be.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile
from typing import Any

import check

STEPS = 5
# Way, backend, device, ranks.
WAYS = (
    ("ddp", "gloo", "cuda", 2),
    ("buckets", "gloo", "cuda", 2),
    ("buckets", "nccl", "cuda", 1),
    ("fsdp", "nccl", "cuda", 1),
    ("fully_shard", "nccl", "cuda", 1),
    ("ddp", "gloo", "cpu", 2),
    ("buckets", "gloo", "cpu", 2),
    ("fsdp", "gloo", "cpu", 2),
    ("fully_shard", "gloo", "cpu", 2),
)
STEP = "epoch/step"
PASSES = (f"{STEP}/forward", f"{STEP}/backward")


def start(way: str, backend: str, device: str, ranks: int, dir: pathlib.Path) -> list[dict[str, Any]] | str:
    """Runs all ranks; what each printed, or why it cannot run here."""
    env = {"HODO_DIR": str(dir), "HODO_RUN": str(dir / "run"), "WORLD_SIZE": str(ranks), "OMP_NUM_THREADS": "1"}
    if device == "cpu":
        env |= {"CUDA_VISIBLE_DEVICES": ""}
    command = [sys.executable, str(check.PROGRAMS / "parallel.py"), way, backend, device, str(dir / "store")]
    processes = [
        subprocess.Popen(
            command, env=os.environ | env | {"RANK": str(rank)}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for rank in range(ranks)
    ]
    try:
        told = [process.communicate(timeout=100) for process in processes]
    finally:
        for process in processes:
            process.kill()
    if all(process.returncode == 77 for process in processes):
        return f"not in this torch: {told[0][0].strip()}"
    for process, (out, errors) in zip(processes, told):
        assert process.returncode == 0, f"ended with {process.returncode}: {(out + errors)[-1500:]}"
    return [json.loads(out.splitlines()[-1]) for out, _ in told]


def summed(told: list[dict[str, Any]], phase: str) -> dict[str, int]:
    names = {name for rank in told for name in rank["counts"][phase]}
    return {name: sum(rank["counts"][phase].get(name, 0) for rank in told) for name in sorted(names)}


def seen(way: str, told: list[dict[str, Any]], dir: pathlib.Path) -> str:
    """What must hold of the tree; a line of what was seen."""
    for rank in told:
        assert not rank["wrong"] and rank["open"] is None, rank
    nodes = check.paths(check.report(dir))
    in_all = STEPS * len(told)
    for path in (STEP, *PASSES, f"{STEP}/optimizer", f"{STEP}/data_wait"):
        assert nodes.get(path, {}).get("count") == in_all, f"{path}: {nodes.get(path, {}).get('count')}, not {in_all}"
    training, before = summed(told, "training"), summed(told, "before")
    of_buckets = 0
    if way == "buckets":
        # Those of buckets are torch's, asked for by our hook: what they come to is counted too.
        bucket = nodes[f"{STEP}/backward/all_reduce"]
        of_buckets = bucket["count"]
        assert of_buckets >= in_all and bucket["open"] == 0, bucket
    for name, count in training.items():
        inside = {path: node["count"] for path, node in nodes.items() if path.startswith("epoch/") and node["name"] == name}
        assert sum(inside.values()) == count, f"{name}: {inside} of {count}"
        lost = [path for path in inside if not path.startswith(PASSES)]
        assert not lost, f"{name} outside of its pass: {lost}"
    for name, count in before.items():
        outside = sum(n["count"] for path, n in nodes.items() if not path.startswith("epoch") and n["name"] == name)
        assert outside == count, f"{name} outside of training: {outside} of {count}"
    assert training or way == "ddp" or len(told) == 1, "no collectives at all"
    if way == "ddp":
        marks = {mark["name"]: mark for mark in nodes[f"{STEP}/backward"]["marks"]}
        assert marks["reduced_bytes"]["count"] == in_all, marks
        # The last step's are told by nobody.
        assert marks["reduce_ms"]["count"] == in_all - len(told) and marks["reduce_ms"]["min"] > 0, marks["reduce_ms"]
        return f"{in_all} backward passes say what they reduce, in {marks['reduce_ms']['mean']:.2f} ms"
    paths = sorted(f"{path[len(STEP) + 1:]} {node['count']}" for path, node in nodes.items() if node["name"] in training)
    return ", ".join(paths) or "no collectives, as one rank needs none"


def gpu_of(told: list[dict[str, Any]], dir: pathlib.Path) -> str:
    """Kernels of the passes, where they are recorded."""
    if any(rank["gpu"] != "capturing" for rank in told):
        return f"not captured ({told[0]['gpu']})"
    nodes = check.paths(check.report(dir))
    kernels = {path: (nodes[path]["gpu"] or {"all": {"kernels": 0}})["all"]["kernels"] for path in PASSES}
    assert all(kernels.values()), kernels
    return ", ".join(f"{path.rsplit('/', 1)[1]} {count}" for path, count in kernels.items())


def one(way: str, backend: str, device: str, ranks: int, out: pathlib.Path) -> tuple[str, bool]:
    """A row of the table, and whether all is well."""
    name = f"{way}, {backend}, {device}, {ranks}"
    with tempfile.TemporaryDirectory(prefix="hodo-parallel-") as folder:
        dir = pathlib.Path(folder)
        try:
            told = start(way, backend, device, ranks, dir)
            if isinstance(told, str):
                return f"| {name} | – | {told} | |", True
            command = [str(check.package() / "bin" / "hodo"), "report", "--width", "140", str(check.only_run(dir))]
            tree = subprocess.run(command, capture_output=True, text=True).stdout
            (out / f"parallel-{way}-{backend}-{device}.txt").write_text(tree)
            line = seen(way, told, dir)
            return f"| {name} | ✓ | {line} | {gpu_of(told, dir) if device == 'cuda' else ''} |", True
        except Exception as error:
            said = " ".join(f"{type(error).__name__}: {error}".split())
            return f"| {name} | ✗ | {said[-700:]} | |", False


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--cpu", action="store_true", help="only what needs no GPU")
    args = parser.parse_args()
    out = args.out or pathlib.Path(os.environ.get("OUT") or tempfile.mkdtemp(prefix="hodo-parallel-"))
    out.mkdir(parents=True, exist_ok=True)
    import torch

    has_gpu = torch.cuda.is_available() and not args.cpu
    ways = [way for way in WAYS if has_gpu or way[2] == "cpu"]
    print(f"torch {torch.__version__}")
    with concurrent.futures.ThreadPoolExecutor(max(1, (os.cpu_count() or 2) // 4)) as pool:
        rows = list(pool.map(lambda way: one(*way, out), ways))
    lines = ["| way, backend, device, ranks | | collectives of the steps | kernels |", "|---|---|---|---|"]
    text = "\n".join([*lines, *(row for row, _ in rows)])
    (out / "parallel.md").write_text(text + "\n")
    print(text)
    return 0 if all(is_well for _, is_well in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
