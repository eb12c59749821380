"""Checks the capture of GPU work on a machine that has a GPU.

    python tests/gpu/check.py [--out FOLDER] [NAME ...]

Every check runs programs of `tests/gpu/programs` as processes of their own and compares what hodo
recorded with what the program knows, or with what torch.profiler counts in a run of its own. Prints
a line a check and ends with 1 if one failed. Needs hodo to be importable, torch, and nvcc for the
programs in CUDA C++.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from typing import Any

HERE = pathlib.Path(__file__).resolve().parent
PROGRAMS = HERE / "programs"
CHECKS: dict[str, Callable[[pathlib.Path], str]] = {}


def check(function: Callable[[pathlib.Path], str]) -> Callable[[pathlib.Path], str]:
    CHECKS[function.__name__] = function
    return function


def package() -> pathlib.Path:
    import hodo

    return pathlib.Path(hodo.__file__).parent


def python(
    program: str, *args: object, dir: pathlib.Path, expect: int | None = 0, **env: str
) -> subprocess.CompletedProcess[str]:
    return run([sys.executable, PROGRAMS / program, *args], dir=dir, expect=expect, **env)


def run(
    command: list[object], *, dir: pathlib.Path, expect: int | None = 0, **env: str
) -> subprocess.CompletedProcess[str]:
    """A program that records into ``dir``; fails the check if it ends otherwise than expected."""
    done = subprocess.run(
        [str(part) for part in command],
        env=os.environ | {"HODO_DIR": str(dir)} | env,
        capture_output=True,
        text=True,
        timeout=240,
    )
    if expect is not None and done.returncode != expect:
        tail = (done.stdout + done.stderr)[-1500:]
        raise AssertionError(f"{command[1:3]} ended with {done.returncode}, not {expect}: {tail}")
    return done


def only_run(dir: pathlib.Path) -> pathlib.Path:
    runs = [path for path in dir.iterdir() if (path / "run.json").is_file()]
    assert len(runs) == 1, f"{len(runs)} runs in {dir}"
    return runs[0]


def report(dir: pathlib.Path) -> dict[str, Any]:
    command = [package() / "bin" / "hodo", "report", "--json", only_run(dir)]
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def paths(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Nodes of a report by path."""
    return {"/".join(node["path"]): node for node in document["nodes"]}


def kernels(document: dict[str, Any]) -> dict[str, int]:
    """Kernels launched directly in each path that launched any."""
    own = {path: node["gpu"]["own"]["kernels"] for path, node in paths(document).items() if node["gpu"]}
    return {path: count for path, count in own.items() if count}


def state(dir: pathlib.Path) -> dict[str, Any]:
    """What the program printed of `health()["gpu"]` at its end."""
    return json.loads((dir / "gpu.json").read_text())


def launched(document: dict[str, Any]) -> tuple[int, int, int]:
    """Kernels in all, outside any scope, and unknown."""
    gpu = document["gpu"]
    outside = (gpu["outside"] or {}).get("kernels", 0)
    unknown = (gpu["unknown"] or {}).get("kernels", 0)
    return gpu["all"]["kernels"], outside, unknown


def compile_cuda(name: str, dir: pathlib.Path, *flags: str) -> pathlib.Path:
    built = dir / name
    headers = HERE.parent.parent / "cpp" / "include"
    command = ["nvcc", "-O2", "-std=c++17", "-lineinfo", f"-I{headers}", *flags]
    subprocess.run([*command, "-o", built, HERE / f"{name}.cu", "-ldl"], check=True)
    return built


@check
def known_launches(dir: pathlib.Path) -> str:
    """Four threads, three streams, a graph captured in one scope and replayed in another."""
    program = compile_cuda("launches", dir)
    library = str(package() / "lib" / "libhodo.so")
    env = {"HODO_LIBRARY": library, "HODO_GPU": "trace"}
    run([program, "init"], dir=dir / "embedded", **env)
    run([package() / "bin" / "hodo", "run", "--", program], dir=dir / "injected", **env)
    for way in ("embedded", "injected"):
        document = report(dir / way)
        expected = {"worker/step/fill": 2000, "worker/step/scale": 3996, "replay": 1000}
        assert kernels(document) == expected, (way, kernels(document))
        assert launched(document) == (6996, 0, 0), (way, launched(document))
        nodes = paths(document)
        captured = nodes["capture/layers"]["gpu"]["graph_captured"]["kernels"]
        assert captured == 1000, captured
        copies = nodes["copies"]["gpu"]["own"]["copies"]
        assert sum(copy["count"] for copy in copies) == 20, copies
        assert sum(copy["bytes"] for copy in copies) == 20 * 8192, copies
        assert nodes["copies"]["gpu"]["own"]["sets"]["count"] == 10
    return "6,996 kernels, 20 copies, 10 sets under the right scope, embedded and by hodo run"


def _regions(work: str, dir: pathlib.Path) -> str:
    python("train.py", work, "hodo", dir / "hodo.json", dir=dir / "runs", HODO_GPU="trace")
    python("train.py", work, "torch", dir / "torch.json", dir=dir / "none")
    theirs = json.loads((dir / "torch.json").read_text())
    document = report(dir / "runs")
    nodes = paths(document)
    ours = {}
    for region in ("forward", "loss", "backward", "optimizer"):
        gpu = nodes[f"step/{region}"]["gpu"]["all"]
        ours[region] = (gpu["kernels"], gpu["kernel_ns"])
    for region, (count, ns) in ours.items():
        expected, expected_ns = theirs["regions"][region]
        assert count == expected, f"{region}: {count} kernels, torch.profiler {expected}"
        off = abs(ns - expected_ns) / max(expected_ns, 1)
        assert off < 0.05, f"{region}: {ns} ns of kernels, torch.profiler {expected_ns}"
    total, outside, unknown = launched(document)
    inside = nodes["step"]["gpu"]["all"]["kernels"]
    assert inside == theirs["total"], (inside, theirs["total"])
    shown = nodes["step"]["gpu"]["all"]
    attributed = (total - outside - unknown) / total
    assert attributed >= 0.99, f"only {attributed:.2%} of {total} kernels have a scope"
    bytes_a_kernel = sum(p.stat().st_size for p in dir.glob("runs/*/*/gpu-*.hodo")) / total
    assert bytes_a_kernel <= 40
    assert nodes["load"]["gpu"]["all"]["kernels"] == 0, "a loader thread launched nothing"
    return (
        f"{inside:,} kernels in {', '.join(f'{k} {v[0]:,}' for k, v in ours.items())}: as torch.profiler; "
        f"{shown['kernel_ns'] / 1e6:.1f} ms of kernels, torch.profiler {theirs['total_ns'] / 1e6:.1f}; "
        f"{attributed:.2%} attributed; {bytes_a_kernel:.1f} bytes a kernel"
    )


@check
def mlp_as_torch_profiler(dir: pathlib.Path) -> str:
    return _regions("mlp", dir)


@check
def gpt2_as_torch_profiler(dir: pathlib.Path) -> str:
    return _regions("gpt", dir)


@check
def order_of_start(dir: pathlib.Path) -> str:
    """hodo before and after torch is imported, before and after CUDA is up."""
    seen = {}
    for order in ("before-import", "after-import", "after-cuda"):
        python("order.py", order, dir=dir / order, HODO_GPU="trace")
        document = report(dir / order)
        own = kernels(document)
        assert own == {"step/forward": 40, "step/backward": 59}, (order, own)
        assert launched(document)[2] == 0, (order, launched(document))
        seen[order] = sum(own.values())
    assert len(set(seen.values())) == 1, seen
    return f"{seen['after-cuda']} kernels each way"


@check
def torch_profiler(dir: pathlib.Path) -> str:
    """Before, during and after hodo: the profiler keeps its kernels, hodo says what it missed."""
    done = python("profiler.py", dir=dir, HODO_GPU="trace")
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["before"]["kernels"] == told["during"]["kernels"] == told["after"]["kernels"] == 50, told
    document = report(dir)
    own = kernels(document)
    assert own["before"] == 50 and own["after"] == 50, own
    assert told["gaps"] == 2, told
    assert told["states"] == ["capturing", "yielded", "capturing by time"], told
    return f"the profiler saw 50 kernels each time; hodo captured the rest by time of launch: {own}"


@check
def torch_profiler_first(dir: pathlib.Path) -> str:
    """The profiler ran before hodo started: it keeps the callbacks, and hodo does without."""
    done = python("profiler_first.py", dir=dir, HODO_GPU="trace")
    told = json.loads(done.stdout.splitlines()[-1])
    assert told == {"first": 50, "state": "capturing by time", "second": 50}, told
    own = kernels(report(dir))
    assert own == {"one": 50, "two": 50}, own
    return f"the profiler saw 50 kernels each time, hodo {own}"


@check
def triton_jax_cupy(dir: pathlib.Path) -> str:
    seen = []
    for program, expected in (("triton_add.py", 25), ("cupy_add.py", 25), ("jax_add.py", 25)):
        where = dir / program
        done = python(program, dir=where, expect=None, HODO_GPU="trace")
        if done.returncode == 77:
            seen.append(f"{program}: not installed")
            continue
        assert done.returncode == 0, done.stderr[-1500:]
        own = kernels(report(where))
        assert own.get("launches", 0) >= expected, (program, own)
        seen.append(f"{program} {own['launches']}")
    return ", ".join(seen)


@check
def forked_workers(dir: pathlib.Path) -> str:
    """A DataLoader's forked workers record scopes; the GPU stays their parent's."""
    python("workers.py", dir=dir, HODO_GPU="trace")
    nodes = paths(report(dir))
    assert nodes["epoch/step/forward"]["gpu"]["own"]["kernels"] == 32 * 2, kernels(report(dir))
    loads = [node for path, node in nodes.items() if path.endswith("load")]
    assert sum(node["count"] for node in loads) == 64, [*nodes]
    return "64 scopes of two workers, 64 kernels of their parent"


@check
def exits(dir: pathlib.Path) -> str:
    """Queued kernels at sys.exit, SIGTERM and SIGKILL: readable, counted, exit codes unchanged."""
    told = []
    for how, code in (("exit", 3), ("term", -signal.SIGTERM), ("kill", -signal.SIGKILL)):
        where = dir / how
        python("exits.py", how, dir=where, expect=code, HODO_GPU="trace")
        document = report(where)
        gpu = document["gpu"]
        seen = gpu["all"]["kernels"]
        lost = gpu["lost_kernels"]
        if how == "exit":
            assert seen == 3000, (how, seen)
        else:
            assert seen + lost == 3000, (how, seen, lost)
        told.append(f"{how}: {seen} of 3000, {lost} counted as lost")
    return "; ".join(told)


@check
def no_code_change(dir: pathlib.Path) -> str:
    """A script that knows nothing of hodo, with NVTX ranges; and torchrun on the one GPU."""
    hodo = package() / "bin" / "hodo"
    command = [hodo, "run", "--gpu", "trace", "--", sys.executable, PROGRAMS / "plain.py"]
    done = run(command, dir=dir / "plain", expect=5)
    assert done.stdout.startswith("loss "), done.stdout
    own = kernels(report(dir / "plain"))
    assert own == {"step/forward": 40, "step/backward": 59}, own
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2"]
    run([hodo, "run", "--gpu", "trace", "--", *torchrun, PROGRAMS / "ranks.py"], dir=dir / "ranks")
    document = report(dir / "ranks")
    own = kernels(document)
    ranks = sorted(p["info"]["rank"] for p in document["processes"] if p["spans"])
    assert ranks == [0, 1], document["processes"]
    assert own == {"step/forward": 80, "step/backward": 118}, own
    return f"exit code kept; two ranks in one run: {own}"


@check
def backward_by_layer(dir: pathlib.Path) -> str:
    python("layers.py", dir=dir, HODO_GPU="trace")
    nodes = paths(report(dir))
    backward = nodes["step/backward"]["gpu"]["all"]["kernels"]
    layers = {p: n["gpu"]["backward"]["kernels"] for p, n in nodes.items() if "layer" in p}
    share = sum(layers.values()) / backward
    assert share >= 0.90, (share, layers, backward)
    assert all(layers.values()), layers
    return f"{share:.1%} of {backward} backward kernels by layer: {layers}"


@check
def graph_replays(dir: pathlib.Path) -> str:
    """Millions of kernels of a replayed graph: no times lost, no growing memory, or it is told."""
    told = []
    for launches, limit in ((20_000, "8"), (300_000, "")):
        where = dir / f"replays-{launches}"
        env = {"HODO_GPU_BUFFERS": limit} if limit else {}
        done = python("graphs.py", launches, dir=where, HODO_GPU="trace", **env)
        end = json.loads(done.stdout.splitlines()[-1])
        records, gpu = end["gpu"]["records"], end["gpu"]
        expected = launches * 100
        counted = records["graph_kernels"] + gpu["dropped"]
        assert counted == expected, (counted, expected, gpu)
        told.append(
            f"{expected:,} kernels{' with 8 buffers' if limit else ''}: {gpu['unstamped']:,} without "
            f"times, {gpu['dropped']:,} dropped, device memory {end['grown_mib']:+d} MiB, "
            f"{gpu['bytes'] / expected:.2f} bytes a kernel"
        )
    return "; ".join(told)


def _verdict(dir: pathlib.Path, bound: str, cause: str, scope: str) -> str:
    """The report must say ``bound``, with most of the idle time given to ``cause`` in ``scope``."""
    verdict = report(dir)["verdict"]
    ledger = verdict["gpu"]
    causes = {row["cause"]: row["ns"] for row in ledger["causes"]}
    assert sum(causes.values()) == ledger["idle_ns"], (causes, ledger["idle_ns"])
    shares = {name: ns / ledger["idle_ns"] for name, ns in causes.items()}
    told = ", ".join(f"{name} {share:.1%}" for name, share in shares.items())
    told = f"{verdict['bound']}, GPU idle {ledger['idle_ns'] / ledger['window_ns']:.1%}: {told}"
    assert verdict["bound"] == bound, told
    assert max(shares, key=lambda name: shares[name]) == cause, told
    assert shares["unknown"] <= 0.10, told
    largest = max(ledger["scopes"], key=lambda row: row["ns"])
    assert "/".join(largest["path"]) == scope, largest
    return told


@check
def input_wait(dir: pathlib.Path) -> str:
    python("input_wait.py", dir=dir, HODO_GPU="trace")
    return _verdict(dir, "input", "input", "batch/data_wait")


@check
def launch_bound(dir: pathlib.Path) -> str:
    python("launch_bound.py", dir=dir, HODO_GPU="trace")
    return _verdict(dir, "launch", "launch", "step/forward")


@check
def sync_in_loop(dir: pathlib.Path) -> str:
    """Read with `.item()`, which the copies show; and waited for, which takes records of waits."""
    python("sync_in_loop.py", "item", dir=dir / "item", HODO_GPU="trace")
    kinds = "kernels,copies,sets,syncs"
    python("sync_in_loop.py", "synchronize", dir=dir / "waits", HODO_GPU="trace", HODO_GPU_KINDS=kinds)
    told = [_verdict(dir / way, "sync", "sync", "step/log") for way in ("item", "waits")]
    return "; with waits recorded: ".join(told)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("names", nargs="*", help=", ".join(CHECKS))
    parser.add_argument("--out", type=pathlib.Path, help="keep what was recorded here")
    parser.add_argument("--jobs", type=int, default=4)
    options = parser.parse_args()
    folder = options.out or pathlib.Path(tempfile.mkdtemp(prefix="hodo-gpu-"))
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        names = options.names or [*CHECKS]
        for name, line, well in pool.map(lambda name: _one(name, folder / name), names):
            print(f"{'ok    ' if well else 'FAILED'} {name}: {line}", flush=True)
            failed += not well
    if options.out is None:
        shutil.rmtree(folder, ignore_errors=True)
    return 1 if failed else 0


def _one(name: str, dir: pathlib.Path) -> tuple[str, str, bool]:
    dir.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    try:
        line, well = CHECKS[name](dir), True
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        line, well = f"{type(error).__name__} line {place.lineno}: {error}", False
    return name, f"{line} ({time.monotonic() - began:.0f} s)", well


if __name__ == "__main__":
    sys.exit(main())
