"""What tracing the GPU costs a training loop, beside the floor and the peers, in one interleaved run.

    python benches/gpu/overhead.py [--rounds 8] [--work mlp,gpt] [--peers FOLDER] [--json FILE]

`mlp` is bound by its launches, `gpt` (GPT-2 small, bf16) by the GPU. Every round runs each
configuration once, in an order of its own, in a process forked from one that has imported torch but
not started CUDA. A step's time is the median of segments; a row shows the median over the rounds, its
ratio to the same round's run without a profiler, and the spread. `--peers` names a folder with the
package `gpufl`. Needs a GPU, torch, transformers, gcc and CUPTI's headers.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time
import traceback

HERE = pathlib.Path(__file__).resolve().parent
CONFIGURATIONS = (
    "none",
    "hodo scopes",
    "hodo scopes, telemetry 50 ms",
    "hodo trace",
    "hodo trace, all kinds",
    "floor: kernels + callback",
    "floor: hodo's kinds",
    "floor: all kinds",
    "torch.profiler CUDA",
    "torch.profiler CPU+CUDA",
    "gpufl Trace",
)
FLOORS = {
    "floor: kernels + callback": "callback",
    "floor: hodo's kinds": "same",
    "floor: all kinds": "all",
}
SEGMENTS = {"mlp": 30, "gpt": 16}


def build_floor(folder: pathlib.Path) -> pathlib.Path:
    """The floor, linked with the libcupti that torch maps."""
    import nvidia.cu13

    root = pathlib.Path([*nvidia.cu13.__path__][0])
    library = folder / "floor.so"
    includes = [f"-I{root / 'include'}", "-I/usr/local/cuda/include"]
    link = [f"-L{root / 'lib'}", "-l:libcupti.so.13", f"-Wl,-rpath,{root / 'lib'}"]
    command = ["gcc", "-O2", "-shared", "-fPIC", *includes, str(HERE / "floor.c"), "-o", str(library), *link]
    subprocess.run(command, check=True)
    return library


def mlp():
    import torch
    from torch import nn

    layers = [layer for _ in range(6) for layer in (nn.Linear(256, 256), nn.ReLU())]
    model = nn.Sequential(*layers, nn.Linear(256, 10)).cuda()
    x = torch.randn(64, 256, device="cuda")
    y = torch.randint(0, 10, (64,), device="cuda")
    loss = nn.CrossEntropyLoss()
    return (lambda: model(x)), (lambda out: loss(out, y)), torch.optim.Adam(model.parameters(), foreach=True)


def gpt():
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(attn_pdrop=0.0, embd_pdrop=0.0, resid_pdrop=0.0)
    with torch.device("cuda"):
        model = GPT2LMHeadModel(config).to(torch.bfloat16)
    ids = torch.randint(0, 50257, (8, 1024), device="cuda")
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    return (lambda: model(input_ids=ids, labels=ids)), (lambda out: out.loss), optimizer


STEPS_A_SEGMENT = {"mlp": 20, "gpt": 1}
WARM_UP = {"mlp": 30, "gpt": 6}


def tool(name: str, out: str):
    """Start, scope and stop of a configuration."""
    nothing = lambda: None
    quiet = lambda name: contextlib.nullcontext()
    if name.startswith("hodo"):
        import hodo

        if name.endswith("all kinds"):
            os.environ["HODO_GPU_KINDS"] = "kernels,copies,sets,syncs,memory"
        level = "off" if name.startswith("hodo scopes") else "trace"
        rate = "50ms" if "telemetry" in name else "off"
        return (lambda: hodo.init(app="bench", dir=out, gpu=level, telemetry=rate)), hodo.scope, hodo.shutdown
    if name.startswith("torch"):
        from torch.profiler import ProfilerActivity, profile, record_function

        kinds = [ProfilerActivity.CUDA]
        kinds += [ProfilerActivity.CPU] if "CPU" in name else []
        profiler = profile(activities=kinds)
        return profiler.start, record_function, profiler.stop
    if name.startswith("gpufl"):
        import gpufl

        def start():
            gpufl.init(app_name="bench", log_path=f"{out}/log", profiling_engine=gpufl.ProfilingEngine.Trace)

        return start, gpufl.Scope, gpufl.shutdown
    return nothing, quiet, nothing


def measure(work: str, name: str, floor: pathlib.Path) -> dict:
    """Runs one configuration in this process, which has not started CUDA."""
    if name in FLOORS:
        os.environ |= {"FLOOR": FLOORS[name], "CUDA_INJECTION64_PATH": str(floor)}
    import torch

    torch.manual_seed(0)
    out = tempfile.mkdtemp(prefix="hodo-bench-")
    forward, loss, optimizer = {"mlp": mlp, "gpt": gpt}[work]()
    start, scope, stop = tool(name, out)

    def step():
        with scope("step"):
            with scope("forward"):
                result = forward()
            with scope("loss"):
                value = loss(result)
            with scope("backward"):
                value.backward()
            with scope("optimizer"):
                optimizer.step()
                optimizer.zero_grad(set_to_none=True)

    start()
    for _ in range(WARM_UP[work]):
        step()
    torch.cuda.synchronize()
    times = []
    for _ in range(SEGMENTS[work]):
        began = time.perf_counter()
        for _ in range(STEPS_A_SEGMENT[work]):
            step()
        torch.cuda.synchronize()
        times.append((time.perf_counter() - began) / STEPS_A_SEGMENT[work])
    began = time.perf_counter()
    stop()
    stopped = time.perf_counter() - began
    files = [path for path in pathlib.Path(out).rglob("*") if path.is_file()]
    told = {"step_us": statistics.median(times) * 1e6, "stop_s": stopped}
    return told | {"bytes": sum(path.stat().st_size for path in files)}


def forked(work: str, name: str, floor: pathlib.Path, peers: str | None) -> dict | None:
    """`measure` in a child; none if it failed."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        try:
            if name.startswith("gpufl") and peers:
                sys.path.insert(0, peers)
            told = measure(work, name, floor)
            os.write(writing, json.dumps(told).encode())
        except BaseException:
            traceback.print_exc()
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    return json.loads(text) if text else None


def table(work: str, rounds: list[dict[str, dict]]) -> list[str]:
    lines = [f"## {work}: a step, {len(rounds)} rounds", ""]
    lines += ["| configuration | step, µs (median) | x none (median) | quartiles | stop, s | bytes |", "|---|---:|---:|---:|---:|---:|"]
    for name in CONFIGURATIONS:
        rows = [one[name] for one in rounds if one.get(name) and one.get("none")]
        if not rows:
            lines.append(f"| {name} | not run | | | | |")
            continue
        ratios = [one[name]["step_us"] / one["none"]["step_us"] for one in rounds if one.get(name) and one.get("none")]
        low, _, high = statistics.quantiles(ratios, n=4) if len(ratios) > 1 else ratios * 3
        step = statistics.median(row["step_us"] for row in rows)
        stop = max(row["stop_s"] for row in rows)
        size = statistics.median(row["bytes"] for row in rows)
        lines.append(
            f"| {name} | {step:,.0f} | {statistics.median(ratios):.3f} | {low:.3f} - {high:.3f} | {stop:.3f} | {size:,.0f} |"
        )
    return [*lines, ""]


def pairs(work: str, rounds: list[dict[str, dict]]) -> list[str]:
    """One configuration against another in the same round."""
    compared = [("hodo trace", name) for name in CONFIGURATIONS if name.startswith(("floor: hodo's", "torch", "gpufl"))]
    compared.append(("hodo scopes, telemetry 50 ms", "hodo scopes"))
    lines = [f"## {work}: in the same round", "", "| | against | median | quartiles | rounds below 1 |", "|---|---|---:|---:|---:|"]
    for name, other in compared:
        ratios = [one[name]["step_us"] / one[other]["step_us"] for one in rounds if one.get(name) and one.get(other)]
        if len(ratios) > 1:
            low, middle, high = statistics.quantiles(ratios, n=4)
            below = sum(ratio < 1 for ratio in ratios)
            lines.append(f"| {name} | {other} | {middle:.3f} | {low:.3f} - {high:.3f} | {below} of {len(ratios)} |")
    return [*lines, ""]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--work", default="mlp,gpt")
    parser.add_argument("--peers")
    parser.add_argument("--skip", action="append", default=[], help="a configuration to leave out")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--seconds", type=float, default=1e9, help="begin no round after this long")
    options = parser.parse_args()
    floor = build_floor(pathlib.Path(tempfile.mkdtemp()))
    import torch  # noqa: F401
    from transformers import GPT2LMHeadModel  # noqa: F401

    began = time.monotonic()
    every: dict[str, list] = {work: [] for work in options.work.split(",")}
    skipped = set(options.skip) | (set() if options.peers else {"gpufl Trace"})
    names = [name for name in CONFIGURATIONS if name not in skipped]
    for number in range(options.rounds):
        for work, rounds in every.items():
            if time.monotonic() - began > options.seconds:
                break
            order = random.Random(number).sample(names, len(names))
            rounds.append({name: forked(work, name, floor, options.peers) for name in order})
            if options.json:
                options.json.write_text(json.dumps(every))
    for work, rounds in every.items():
        print("\n".join(table(work, rounds) + pairs(work, rounds)), flush=True)
    print(f"{time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
