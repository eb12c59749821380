"""Windows of PC sampling on a machine that has a GPU: what they show, and what they cost.

    python tests/gpu/stalls.py cuda|torch|ways [--mode serialized|continuous] [--dir FOLDER]

`cuda` compiles and runs stalls.cu: one kernel that waits for memory and one that waits for its own
arithmetic. `torch` does the same with an addition of large tensors and a product of matrices. Both
print the reasons by scope, the lines that were sampled most, and what hodo says of the window.
`ways` runs both with every setting that changes how CUPTI is asked, a line each. Needs hodo to be
importable; `cuda` needs nvcc, `torch` torch.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
from typing import Any

HERE = pathlib.Path(__file__).resolve().parent
PACKAGE = pathlib.Path(__import__("hodo").__file__).parent
WAYS: list[tuple[str, dict[str, str]]] = [
    ("serialized", {}),
    ("continuous", {}),
    ("serialized", {"HODO_PC_FETCH": "often"}),
    ("serialized", {"HODO_PC_ENABLE": "early"}),
    ("serialized", {"HODO_PC_KERNELS": "off"}),
    ("continuous", {"HODO_PC_KERNELS": "off"}),
    ("serialized", {"HODO_PC_PERIOD": "10"}),
    ("serialized", {"HODO_PC_PERIOD": "16"}),
    ("serialized", {"HODO_PC_BUFFER_MIB": "64"}),
]


def torch_program(mode: str | None, out: pathlib.Path) -> None:
    """Records in this process."""
    import hodo
    import torch

    hodo.init("stalls-torch", gpu="pc-sampling")
    a = torch.randn(1 << 28, device="cuda")
    b = torch.randn(1 << 28, device="cuda")
    m = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)

    def add() -> None:
        with hodo.scope("add"):
            for _ in range(10):
                torch.add(a, b)
            torch.cuda.synchronize()

    def product() -> None:
        with hodo.scope("product"):
            for _ in range(10):
                m @ m
            torch.cuda.synchronize()

    def timed(function: Any) -> float:
        began = time.perf_counter()
        function()
        return (time.perf_counter() - began) * 1e3

    add(), product()
    outside = {f.__name__: timed(f) for f in (add, product)}
    with hodo.window("pc-sampling", mode=mode) as window:
        inside = {f.__name__: timed(f) for f in (add, product)}
    after = {f.__name__: timed(f) for f in (add, product)}
    print("window:", window)
    for name in outside:
        print(f"{name} ms: outside {outside[name]:.2f} inside {inside[name]:.2f} after {after[name]:.2f}")
    hodo.flush()
    out.write_text(json.dumps(hodo.health()["gpu"], indent=1))


def compiled(dir: pathlib.Path) -> pathlib.Path:
    built = dir / "stalls"
    if not built.exists():
        dir.mkdir(parents=True, exist_ok=True)
        headers = HERE.parent.parent / "cpp" / "include"
        flags = ["-O2", "-std=c++17", "-lineinfo", "-arch=native", f"-I{headers}"]
        command = ["nvcc", *flags, "-o", str(built), str(HERE / "stalls.cu"), "-ldl"]
        subprocess.run(command, check=True)
    return built


def recorded(what: str, mode: str, dir: pathlib.Path, **env: str) -> tuple[pathlib.Path, str]:
    """Runs the program; its folder of runs, and what it printed."""
    runs = pathlib.Path(tempfile.mkdtemp(prefix=f"{what}-", dir=dir))
    if what == "cuda":
        command = [str(compiled(dir)), mode]
    else:
        command = [sys.executable, __file__, "torch-program", "--mode", mode, "--dir", str(runs)]
    own = {"HODO_DIR": str(runs), "HODO_GPU": "pc-sampling"}
    own["HODO_LIBRARY"] = str(PACKAGE / "lib" / "libhodo.so")
    try:
        done = subprocess.run(
            command, env=os.environ | own | env, capture_output=True, text=True, timeout=120
        )
    except subprocess.TimeoutExpired:
        return runs, "timed out after 120 s"
    told = done.stdout + (done.stderr if done.returncode else "")
    return runs, told + ("" if done.returncode == 0 else f"ended with {done.returncode}\n")


def report(runs: pathlib.Path) -> dict[str, Any]:
    command = [str(PACKAGE / "bin" / "hodo"), "report", "--json", "--samples", "--dir", str(runs)]
    done = subprocess.run(command, capture_output=True, text=True)
    return json.loads(done.stdout) if done.returncode == 0 else {"error": done.stderr}


def sampling(runs: pathlib.Path) -> dict[str, Any]:
    """What hodo says of the windows: the last state in the run's files."""
    files = sorted(runs.rglob("gpu-*.hodo"))
    found: dict[str, Any] = {}
    decoder = json.JSONDecoder()
    for file in files:
        text = file.read_bytes().decode("utf-8", "replace")
        for piece in text.split('"sampling": ')[1:]:
            try:
                found = decoder.raw_decode(piece)[0] or found
            except ValueError:
                continue
    return found


def stalls(rows: list[dict[str, Any]], most: int) -> str:
    return ", ".join(f"{row['reason']} {row['share']:.0%}" for row in rows[:most])


def show(runs: pathlib.Path, told: str) -> None:
    print(told.rstrip())
    document = report(runs)
    samples = document.get("samples")
    if not samples:
        print("no samples:", document.get("error", "")[:500])
    else:
        print(f"{samples['samples']} samples at {samples['instruction_count']} instructions")
        for scope in samples["scopes"]:
            print(f"  {'/'.join(scope['path']):30} {scope['samples']:9}  {stalls(scope['stalls'], 4)}")
        for kernel in samples["kernels"][:5]:
            print(f"  {kernel['name'][:60]:60} {kernel['samples']:9}  {stalls(kernel['stalls'], 3)}")
        for one in samples["instructions"][:8]:
            place = f"{one['file']}:{one['line']}" if one["file"] else "no line"
            print(f"  {one['kernel'][:40]:40} +{one['pc']:#06x} {one['samples']:8} {place}  {stalls(one['stalls'], 2)}")
    cubins = sorted(runs.rglob("cubins/*.cubin"))
    print("machine code saved:", [(file.name, file.stat().st_size) for file in cubins][:8])
    print("what hodo says:", json.dumps(sampling(runs), indent=1))


def ways(dir: pathlib.Path) -> None:
    keys = ("samples", "in_scope", "taken", "dropped", "foreign", "instructions", "fetches", "period")
    more = ("launches", "kernels", "kernels_missing", "device_buffer_full", "contexts")
    for what in ("cuda", "torch"):
        for mode, env in WAYS:
            runs, told = recorded(what, mode, dir, **env)
            found = sampling(runs)
            window = (found.get("windows") or [{}])[-1]
            numbers = " ".join(f"{key}={window.get(key)}" for key in (*keys, *more))
            times = " ".join(line for line in told.splitlines() if " ms: " in line)
            begin, end = (f"{window.get(key, 0) / 1e6:.1f} ms" for key in ("begin_ns", "end_ns"))
            print(f"== {what} {mode} {env or ''}\n   {numbers}\n   begin {begin}, end {end}; {times}")
            for note in [*window.get("notes", []), found.get("refused")]:
                print(f"   note: {note}" if note else "", end="\n" if note else "")
            if not window:
                print("  ", told[-600:])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["cuda", "torch", "ways", "torch-program"])
    parser.add_argument("--mode", default="serialized", choices=["serialized", "continuous"])
    parser.add_argument("--dir", type=pathlib.Path)
    args = parser.parse_args()
    dir = args.dir or pathlib.Path(tempfile.mkdtemp(prefix="hodo-stalls-"))
    dir.mkdir(parents=True, exist_ok=True)
    if args.what == "torch-program":
        torch_program(args.mode, dir / "gpu.json")
    elif args.what == "ways":
        ways(dir)
    else:
        show(*recorded(args.what, args.mode, dir))


if __name__ == "__main__":
    main()
