"""What `hodo monitor` tells beside what /proc says, and what it costs.

    python benches/monitor/beside_proc.py HODO [--seconds 60]

Runs the program HODO once a second and every 50 ms, reads /proc by itself meanwhile, and compares: time
the processors worked, memory, disks and networks, over the time between the first and the last
reading. Ends with 1 if something is more than 2 % apart or costs more than it may.
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
import threading
import time

TICK = os.sysconf("SC_CLK_TCK")
# Interval, and the most it may cost: share of a core, MiB.
BARS = [("1s", 0.005, 15), ("50ms", 0.03, 15)]
MAY_DIFFER = 0.02


def worked() -> float:
    """Seconds that all processors worked."""
    fields = [int(word) for word in pathlib.Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
    return (sum(fields) - fields[3] - fields[4] - fields[7]) / TICK


def memory() -> int:
    lines = dict(line.split(":") for line in pathlib.Path("/proc/meminfo").read_text().splitlines())
    return (int(lines["MemTotal"].split()[0]) - int(lines["MemAvailable"].split()[0])) * 1024


def disks() -> tuple[int, int]:
    whole = {path.name for path in pathlib.Path("/sys/block").iterdir() if not path.name.startswith(("loop", "ram", "zram"))}
    rows = [line.split() for line in pathlib.Path("/proc/diskstats").read_text().splitlines()]
    rows = [row for row in rows if row[2] in whole]
    return sum(int(row[5]) for row in rows) * 512, sum(int(row[9]) for row in rows) * 512


def networks() -> tuple[int, int]:
    rows = [line.replace(":", " ").split() for line in pathlib.Path("/proc/net/dev").read_text().splitlines()[2:]]
    rows = [row for row in rows if row[0] != "lo" and not row[0].startswith("veth")]
    return sum(int(row[1]) for row in rows), sum(int(row[9]) for row in rows)


def cost(pid: int) -> tuple[float, float]:
    stat = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    peak = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    return (int(stat[11]) + int(stat[12])) / TICK, int(peak.split()[1]) / 1024


def points(hodo: str, run: pathlib.Path, metric: str) -> list[dict]:
    done = subprocess.run([hodo, "machine", run, "--series", metric, "--json"], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["series"]


def grown(series: list[dict]) -> float:
    """What counters grew by: rates a second times the time they hold for."""
    total = 0.0
    for one in series:
        times, values = one["times_ns"], one["values"]
        total += sum((b - a) / 1e9 * v for a, b, v in zip(times, times[1:], values[1:], strict=False) if v is not None)
    return total


def measure(hodo: str, interval: str, seconds: float, folder: pathlib.Path) -> tuple[list[str], bool]:
    before = (worked(), *disks(), *networks())
    began = time.monotonic()
    monitor = subprocess.Popen(
        [hodo, "--dir", folder, "monitor", "--interval", interval, "--for", f"{seconds:.0f}s"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    used = []
    stop = threading.Event()

    def watch() -> None:
        while not stop.wait(0.25):
            used.append(memory())

    watcher = threading.Thread(target=watch)
    watcher.start()
    time.sleep(seconds - 0.7)
    cpu, peak = cost(monitor.pid)
    assert monitor.wait() == 0
    took = time.monotonic() - began
    stop.set()
    watcher.join()
    after = (worked(), *disks(), *networks())
    run = next(path for path in folder.iterdir() if (path / "run.json").is_file())
    cores = os.cpu_count() or 1
    host = [one for one in points(hodo, run, "cpu.time") if one["source"] == "host"]
    told = [("cpu.time, s", grown(host) * (cores if host[0]["unit"] == "1" else 1), after[0] - before[0])]
    for at, metric in enumerate(["disk.read", "disk.written", "network.received", "network.sent"], start=1):
        told.append((f"{metric}, bytes", grown(points(hodo, run, metric)), after[at] - before[at]))
    values = [value for value in points(hodo, run, "memory.used")[0]["values"] if value is not None]
    told.append(("memory.used, bytes", statistics.fmean(values), statistics.fmean(used)))
    lines, failed = [], False
    for name, hodo_says, proc_says in told:
        # Less than a MiB in a minute is the noise of what happens before the first and after the last reading.
        small = name.startswith(("disk", "network")) and proc_says < 1 << 20
        apart = hodo_says / proc_says - 1 if proc_says else 0.0
        well = small or abs(apart) <= MAY_DIFFER
        failed |= not well
        lines.append(f"| {interval} | {name} | {hodo_says:,.1f} | {proc_says:,.1f} | {apart:+.2%}{'' if well else ' TOO FAR'} |")
    _, most_cpu, most_mib = next(bar for bar in BARS if bar[0] == interval)
    well = cpu / took <= most_cpu and peak <= most_mib
    lines.append(f"| {interval} | cost | {cpu / took:.2%} of a core, {peak:.1f} MiB | bar {most_cpu:.1%}, {most_mib} MiB | {'met' if well else 'NOT MET'} |")
    return lines, failed or not well


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("hodo")
    parser.add_argument("--seconds", type=float, default=60)
    options = parser.parse_args()
    print("| every | series | hodo | /proc | apart |\n|---|---|---:|---:|---:|")
    failed = False
    for interval, *_ in BARS:
        lines, bad = measure(options.hodo, interval, options.seconds, pathlib.Path(tempfile.mkdtemp(prefix="hodo-monitor-")))
        print(*lines, sep="\n", flush=True)
        failed |= bad
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
