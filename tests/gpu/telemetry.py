"""Checks readings of the machine on one that has a GPU, beside nvidia-smi in the same minute.

    python tests/gpu/telemetry.py [--seconds 60] [--out FOLDER]

While GPT-2 trains under hodo with telemetry every 50 ms, `hodo monitor` and nvidia-smi sample the same
GPU once a second. Prints their means side by side, what sampling cost, and whether the energy of all
scopes and of the rest is what the driver counted. Ends with 1 if something differs by more than it may.
Nothing else may run on the GPU.
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
import time

import check

# nvidia-smi's name, hodo's, what turns the one into the other's unit, and how far they may be apart:
# a share of the value, or in the unit.
COMPARED = [
    ("utilization.gpu", "gpu.utilization", 1e-2, 0.03, 0.03),
    ("utilization.memory", "gpu.memory.busy", 1e-2, 0.06, 0.03),
    ("memory.used", "gpu.memory.used", 2.0**20, 0.02, 0),
    ("power.draw.instant", "gpu.power", 1, 0.05, 5),
    ("temperature.gpu", "gpu.temperature", 1, 0.02, 1),
    ("temperature.memory", "gpu.memory.temperature", 1, 0.02, 1),
    ("clocks.sm", "gpu.sm.clock", 1e6, 0.02, 0),
    ("clocks.mem", "gpu.memory.clock", 1e6, 0.01, 0),
    ("enforced.power.limit", "gpu.power.limit", 1, 0.01, 0),
]
ACTIVITY = ["gpu.sm.active", "gpu.sm.occupancy", "gpu.tensor.active", "gpu.dram.active"]
ENERGY_MAY_DIFFER = 0.03


def hodo(*args: object) -> dict:
    command = [str(part) for part in (check.package() / "bin" / "hodo", *args)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, (command, done.stderr)
    return json.loads(done.stdout)


def means(document: dict) -> dict[str, float | None]:
    machine = document["machines"][0]
    return {one["metric"]: one["mean"] for one in machine["series"] if one["source"].startswith("gpu:GPU") and "/" not in one["source"]}


def smi_means(text: str) -> list[float]:
    rows = [[float(word) for word in line.split(",")] for line in text.splitlines() if line.strip()]
    return [statistics.fmean(column) for column in zip(*rows, strict=True)]


def cost(pid: int) -> tuple[float, int]:
    """CPU seconds and the most KiB of memory of a process."""
    stat = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    peak = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    return (int(stat[11]) + int(stat[12])) / os.sysconf("SC_CLK_TCK"), int(peak.split()[1])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--out", type=pathlib.Path)
    options = parser.parse_args()
    out = options.out or pathlib.Path(tempfile.mkdtemp(prefix="hodo-telemetry-"))
    out.mkdir(parents=True, exist_ok=True)
    told = out / "energy.json"
    # The program samples for some seconds more than the others, who begin when it is under way.
    long = str(options.seconds + 12)
    program = subprocess.Popen(
        [sys.executable, check.PROGRAMS / "energy.py", long, told], env=os.environ | {"HODO_DIR": str(out / "run")}
    )
    while not list((out / "run").glob("*/machine-*/samples.live")) and program.poll() is None:
        time.sleep(0.1)
    time.sleep(4)
    seconds = f"{options.seconds:.0f}s"
    monitor = subprocess.Popen(
        [check.package() / "bin" / "hodo", "--dir", out / "monitor", "monitor", "--interval", "1s", "--for", seconds],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    query = ",".join(name for name, *_ in COMPARED)
    smi = subprocess.Popen(
        ["nvidia-smi", f"--query-gpu={query}", "--format=csv,noheader,nounits", "-l", "1"], stdout=subprocess.PIPE, text=True
    )
    time.sleep(options.seconds - 1)
    used_cpu, peak_kib = cost(monitor.pid)
    smi.terminate()
    smi_text, _ = smi.communicate()
    assert monitor.wait() == 0 and program.wait() == 0, (monitor.returncode, program.returncode)

    beside = means(hodo("machine", "--json", check.only_run(out / "monitor")))
    begin = hodo("machine", "--json", check.only_run(out / "monitor"))["machines"][0]
    inside = means(hodo("machine", "--json", check.only_run(out / "run")))
    failed = 0
    print("| series | nvidia-smi | hodo monitor, 1 s | in the program, 50 ms | apart |\n|---|---:|---:|---:|---:|")
    for (name, metric, scale, share, unit), smi_mean in zip(COMPARED, smi_means(smi_text), strict=True):
        wanted, got = smi_mean * scale, beside.get(metric)
        well = got is not None and abs(got - wanted) <= max(share * abs(wanted), unit)
        failed += not well
        apart = "-" if not got or not wanted else f"{got / wanted - 1:+.2%}"
        print(f"| {metric} ({name}) | {wanted:,.4g} | {got:,.4g} | {inside.get(metric) or 0:,.4g} | {apart}{'' if well else ' TOO FAR'} |")
    for metric in ACTIVITY:
        failed += beside.get(metric) is None or inside.get(metric) is None
        print(f"| {metric} | | {beside.get(metric)} | {inside.get(metric)} | |")
    print(f"\nmonitor: {used_cpu / options.seconds:.2%} of a core, {peak_kib / 1024:.1f} MiB; cost {begin['cost']}")

    program_told = json.loads(told.read_text())
    document = check.report(out / "run")
    energy = document["energy"]
    parts = sum(node["energy"]["self_j"] for node in document["nodes"] if node["energy"])
    parts += energy["outside_j"] + energy["hidden_j"]
    apart, sums = energy["total_j"] / program_told["joules"] - 1, parts / energy["total_j"] - 1
    failed += abs(apart) > ENERGY_MAY_DIFFER or abs(parts / program_told["joules"] - 1) > ENERGY_MAY_DIFFER
    print(f"energy: the driver counted {program_told['joules']:,.1f} J in {program_told['seconds']:.1f} s, {program_told['steps']} steps")
    print(f"  hodo: {energy['total_j']:,.1f} J ({apart:+.2%}); scopes' own and the rest {parts:,.1f} J ({sums:+.3%} of it)")
    for path, node in check.paths(document).items():
        if node["energy"]:
            print(f"  {path}: own {node['energy']['self_j']:,.1f} J{', pro rata' if node['energy']['pro_rata'] else ''}")
    print(f"  outside scopes {energy['outside_j']:,.1f} J; {energy['gpus']}")
    print(f"stop {program_told['stop_s']:.3f} s; health {json.dumps(program_told['health'])}")
    print("FAILED" if failed else "ok")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
