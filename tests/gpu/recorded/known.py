"""What the programs beside this file share.

`PROGRAM.py hodo` runs the program under hodo; `PROGRAM.py expected` prints what hodo must show, a line
`COUNT PATH: WHAT` for every scope that launched something: counted by torch.profiler in a run of its
own, or known by the program.
"""

from __future__ import annotations

import collections
import contextlib
import json
import pathlib
import sys
import tempfile
from collections.abc import Callable, Iterable

import torch

Scope = Callable[[str], contextlib.AbstractContextManager]
Work = Callable[[Scope], None]
WHAT = {"kernel": "kernel", "gpu_memcpy": "copy", "gpu_memset": "set"}
# Kineto tells waits only when asked; allocations are told by the calls that make them.
WAIT = {"cuda_sync": "sync"}
ALLOCATIONS = ("cudaMalloc", "cudaFree")


def main(
    work: Work,
    *,
    warm_up: Work | None = None,
    expected: Iterable[str] | None = None,
    captured: str | None = None,
    everything: bool = False,
) -> None:
    """Runs ``work`` as the command line says.

    ``warm_up`` comes before, unrecorded. ``expected`` are the lines where the program knows them.
    ``captured`` is the path of the scope that graphs were captured in. ``everything`` counts waits
    and allocations too.
    """
    if sys.argv[1] == "expected" and expected is not None:
        print(*expected, sep="\n")
        return
    if warm_up:
        warm_up(lambda name: contextlib.nullcontext())
        torch.cuda.synchronize()
    if sys.argv[1] == "hodo":
        import hodo

        hodo.init(app=pathlib.Path(sys.argv[0]).stem)
        _to_the_end(work, hodo.scope)
        hodo.flush()
        state = hodo.health()["gpu"]
        assert state["state"] == "capturing", state
        hodo.shutdown()
        return
    for line, count in sorted(_counted(work, captured, everything).items()):
        print(count, line)


def _to_the_end(work: Work, scope: Scope) -> None:
    work(scope)
    with scope("end"):
        torch.cuda.synchronize()


def _counted(work: Work, captured: str | None, everything: bool) -> collections.Counter[str]:
    from torch._C._profiler import _ExperimentalConfig
    from torch.profiler import ProfilerActivity, profile, record_function

    names: set[str] = set()

    def scope(name: str) -> contextlib.AbstractContextManager:
        names.add(name)
        return record_function(name)

    both = [ProfilerActivity.CPU, ProfilerActivity.CUDA]
    waits = _ExperimentalConfig(enable_cuda_sync_events=everything)
    with profile(activities=both, experimental_config=waits) as profiler:
        _to_the_end(work, scope)
    with tempfile.TemporaryDirectory() as folder:
        trace = pathlib.Path(folder) / "trace.json"
        profiler.export_chrome_trace(str(trace))
        events = json.loads(trace.read_text())["traceEvents"]
    return count(events, names, captured, everything)


def count(
    events: list[dict], names: set[str], captured: str | None, everything: bool = False
) -> collections.Counter[str]:
    """Work by the scopes that were open when it was launched, the outermost first.

    Backward blocks its caller, so the thread does not matter where one thread has scopes.
    """
    windows = sorted(
        (event["ts"], event["ts"] + event["dur"], event["name"])
        for event in events
        if event.get("cat") == "user_annotation" and event["name"] in names
    )
    calls = {
        event["args"]["correlation"]: (event["ts"], event["name"])
        for event in events
        if event.get("cat") in ("cuda_runtime", "cuda_driver") and "correlation" in event.get("args", {})
    }
    wanted = WHAT | WAIT if everything else WHAT
    counts: collections.Counter[str] = collections.Counter()
    for event in events:
        what = wanted.get(event.get("cat", ""))
        if everything and event.get("cat") == "cuda_runtime" and event["name"] in ALLOCATIONS:
            what = "memory"
        if what is None:
            continue
        at, call = calls[event["args"]["correlation"]]
        path = "/".join(name for start, end, name in windows if start <= at <= end) or "-"
        if what == "sync" and path == "-":
            continue  # the profiler waits too
        in_graph = "GraphLaunch" in call
        counts[f"{path}: {what}" + (f" captured in {captured}" if in_graph else "")] += 1
    return counts
