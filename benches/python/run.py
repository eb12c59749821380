"""Measures what recording from Python costs: one table of ratios, a verdict for every bar.

    run.py [--quick] [--rounds N] [--groups on,off,cirron] [--gpufl-python FILE] [--out FILE]

Every figure is of one run on one machine; `make bench-python` builds what this needs.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

HERE = Path(__file__).resolve().parent
RUNS = 11
FEW, MANY = 2_000, 12_000
COUNTED = [
    "empty context manager",
    "empty call",
    "hodo scope",
    "hodo scope, index + 2 attributes",
    "hodo decorator",
    "hodo begin/end",
    "hodo mark",
    "hodo batches, an item",
]
# Bar: row, what it is held against, limit. Those of DESIGN.md; they are never weakened.
RATIOS = [
    ("hodo scope", "an empty native context manager", 1.0),
    ("hodo scope, index + 2 attributes", "an empty native context manager", 1.4),
    ("hodo scope, off", "an empty native context manager", 0.8),
    ("hodo mark", "an empty native call", 2.5),
    ("hodo batches, an item", "an empty native call", 3.0),
    ("hodo epochs, an item", "an empty native call", 3.0),
]
FASTER = [("cirron-sdk scope", 45.0), ("gpufl Scope", 15.0)]
IMPORT_MS, IMPORT_MIB = 20.0, 8.0


class Report:
    """What is printed, and kept for RESULTS.md."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.verdicts: list[str] = []

    def say(self, line: str = "") -> None:
        print(line, flush=True)
        self.lines.append(line)

    def heading(self, text: str) -> None:
        self.say()
        self.say(f"## {text}")
        self.say()

    def bar(self, text: str, met: bool | None) -> None:
        """A verdict; None when it could not be measured."""
        word = {True: "PASS", False: "FAIL", None: "NOT MEASURED"}[met]
        self.verdicts.append(f"- {word}: {text}")


def build_floor(python: str, folder: Path) -> Path:
    """Compiles floor.c against that interpreter's headers; the folder it lies in."""
    ask = "import sysconfig as s; print(s.get_path('include')); print(s.get_config_var('EXT_SUFFIX'))"
    include, suffix = subprocess.check_output([python, "-c", ask], text=True).split()
    where = folder / Path(suffix).name.strip(".")
    where.mkdir(exist_ok=True)
    compiler = (sysconfig.get_config_var("CC") or "cc").split()[0]
    compiler = compiler if shutil.which(compiler) else "cc"
    command = [compiler, "-O3", "-DNDEBUG", "-fPIC", "-shared", "-Wall", "-Wextra", f"-I{include}"]
    command += [str(HERE / "floor.c"), "-o", str(where / f"floor{suffix}")]
    subprocess.run(command, check=True)
    return where


def environment(floor: Path, **more: str) -> dict[str, str]:
    """A child's environment: the floor importable, no hodo settings of the caller's."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("HODO")}
    return {**kept, "PYTHONPATH": f"{floor}:{HERE}", "PYTHONDONTWRITEBYTECODE": "1", **more}


def group(python: str, floor: Path, name: str, rounds: int) -> dict[str, Any]:
    """Figures of one group, measured in a process of its own."""
    env = environment(floor, **({"HODO": "0"} if name == "off" else {}))
    command = [python, str(HERE / "child.py"), "group", name, str(rounds)]
    done = subprocess.run(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    last = done.stdout.strip().splitlines()[-1:]
    if done.returncode or not last:
        tail = done.stderr.strip().splitlines()[-1:] or [f"exit status {done.returncode}"]
        return {"why": tail[0]}
    return json.loads(last[0])


def table(report: Report, name: str, result: dict[str, Any]) -> None:
    """The rows of one group; a peer's also against hodo's scope of the same process."""
    if "why" in result:
        report.say(f"| {name} | not measured: {result['why']} | | | | | | |")
        return
    ours = next((row for row in result["rows"] if row["name"].startswith("hodo scope")), None)
    for row in result["rows"]:
        beside = ""
        if name not in ("on", "off") and row is not ours and ours and row["floor"] == "cm":
            beside = f"{row['ns'] / ours['ns']:.1f}"
        label = row["name"] + (f" (beside {name})" if row is ours and name not in ("on", "off") else "")
        report.say(
            f"| {label} | {row['keeps']} | {row['min']:.1f} | {row['ns']:.1f} "
            f"| {row['ratio']:.2f} {row['floor']} | {row['low']:.2f} - {row['high']:.2f} "
            f"| {beside} | {row['lost']} |"
        )


def judge(report: Report, results: dict[str, dict[str, Any]]) -> None:
    """Holds the table against the bars."""
    found = {r["name"]: r for name in ("off", "on") for r in results.get(name, {}).get("rows", [])}
    for name, against, limit in RATIOS:
        row = found.get(name)
        if row is None:
            report.bar(f"{name}: at most {limit} x {against}", None)
            continue
        note = f"; {row['lost']} records lost, so it does not count" if row["lost"] else ""
        report.bar(
            f"{name}: {row['ratio']:.2f} x {against}, limit {limit} x{note}",
            row["ratio"] <= limit and not row["lost"],
        )
    for name, limit in FASTER:
        measured = results.get(name.split()[0].split("-")[0], {})
        rows = {r["name"]: r for r in measured.get("rows", [])}
        if name not in rows:
            why = measured.get("why", "not asked for")
            report.bar(f"at least {limit:.0f} x faster than {name} ({why})", None)
            continue
        times = rows[name]["ns"] / rows["hodo scope"]["ns"]
        lost = rows["hodo scope"]["lost"]
        report.bar(
            f"{times:.1f} x faster than {name}, at least {limit:.0f} x", times >= limit and not lost
        )


def instructions(report: Report, python: str, floor: Path) -> None:
    """Instructions of a cycle on the measured thread, by callgrind, the empty loop's taken off."""
    if not shutil.which("valgrind"):
        report.say("not counted: valgrind is not installed")
        return
    counts = {}
    for row in ["empty loop", *COUNTED]:
        try:
            counts[row] = (counted(python, floor, row, MANY) - counted(python, floor, row, FEW)) / (
                MANY - FEW
            )
        except (RuntimeError, OSError) as error:
            counts[row] = str(error)
    report.say("| row | instructions | x its floor |")
    report.say("|---|---:|---:|")
    empty = counts["empty loop"]
    for row in COUNTED:
        under = "empty call" if "mark" in row or "item" in row else "empty context manager"
        if isinstance(counts[row], str) or isinstance(empty, str):
            report.say(f"| {row} | {counts[row]} | |")
            continue
        net = counts[row] - empty
        report.say(f"| {row} | {net:.0f} | {net / (counts[under] - empty):.2f} |")


def counted(python: str, floor: Path, row: str, cycles: int) -> int:
    """Instructions of the main thread in a whole run of `child.py count`."""
    with tempfile.TemporaryDirectory(prefix="hodo-callgrind-") as folder:
        # Valgrind hides restartable sequences; the perf page takes the same path with the same test.
        env = environment(floor, HODO_CPU="perf", PYTHONHASHSEED="0")
        command = ["valgrind", "--tool=callgrind", "--separate-threads=yes"]
        command += ["--toggle-collect=floor_counted"]
        command += [f"--callgrind-out-file={folder}/out", python, str(HERE / "child.py")]
        command += ["count", row, str(cycles)]
        done = subprocess.run(command, env=env, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"not counted: exit status {done.returncode}")
        for line in Path(folder, "out-01").read_text().splitlines():
            if line.startswith("totals:"):
                return int(line.split()[1])
    raise RuntimeError("not counted: callgrind wrote no totals")


def import_cost(report: Report, python: str, floor: Path) -> None:
    """Time and memory of `import hodo` in a fresh interpreter, the middle of eleven."""
    env = {name: value for name, value in environment(floor).items() if name != "PYTHONPATH"}
    env.pop("PYTHONDONTWRITEBYTECODE")
    measure = (
        "import os\n"
        "def kib():\n"
        " return int(open('/proc/self/statm').read().split()[1]) * os.sysconf('SC_PAGE_SIZE') / 1024\n"
        "kib(); before = kib()\nimport hodo\nprint(kib() - before)"
    )
    times, kib = [], []
    for turn in range(RUNS + 1):
        shown = subprocess.run(
            [python, "-X", "importtime", "-c", "import hodo"], env=env, capture_output=True, text=True
        )
        lines = [line.split("|") for line in shown.stderr.splitlines() if line.startswith("import time")]
        own = [line for line in lines if line[2].strip() == "hodo"]
        grown = subprocess.run([python, "-c", measure], env=env, capture_output=True, text=True)
        if not own or grown.returncode:
            report.say("not measured: import hodo fails")
            report.bar("import of the package", None)
            return
        if turn:  # the first one compiles
            times.append(int(own[0][1]) / 1000)
            kib.append(float(grown.stdout))
    ms, mib = median(times), median(kib) / 1024
    report.say(f"import: {ms:.1f} ms ({min(times):.1f} - {max(times):.1f}), {mib:.1f} MiB")
    report.bar(f"import: {ms:.1f} ms, limit {IMPORT_MS:.0f} ms", ms <= IMPORT_MS)
    report.bar(f"import: {mib:.1f} MiB, limit {IMPORT_MIB:.0f} MiB", mib <= IMPORT_MIB)


def about(report: Report, python: str, shown: str) -> None:
    """Where and how this was measured."""
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=HERE, capture_output=True, text=True
    ).stdout.strip()
    ask = "import machine; print(machine.describe()); print(machine.interpreter())"
    said = subprocess.check_output([python, "-c", ask], cwd=HERE, text=True).splitlines()
    report.say(f"- command: `{shown}`")
    report.say(f"- date: {datetime.datetime.now(datetime.UTC):%Y-%m-%d}, commit {commit or 'unknown'}")
    report.say(f"- machine: {said[0]}")
    report.say(f"- interpreter: {said[1]}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer rounds, no instruction counts")
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--groups", default="on,off,cirron,nvtx,opentelemetry,viztracer,gpufl")
    parser.add_argument("--gpufl-python", help="an interpreter (3.12) with hodo and gpufl")
    parser.add_argument("--command", default="make bench-python", help="as RESULTS.md names it")
    parser.add_argument("--out", type=Path, help="write the results there, as Markdown")
    options = parser.parse_args()
    rounds = options.rounds or (15 if options.quick else 101)
    report = Report()
    with tempfile.TemporaryDirectory(prefix="hodo-bench-") as folder:
        measure(report, options, rounds, Path(folder))
    if options.out:
        options.out.write_text("\n".join(report.lines) + "\n")
    return any(line.startswith("- FAIL") for line in report.verdicts)


def measure(report: Report, options: argparse.Namespace, rounds: int, folder: Path) -> None:
    """All of it, in the order of the page."""
    python = sys.executable
    floor = build_floor(python, folder)
    report.say("# Results of `make bench-python`")
    report.say()
    report.say("Ratios are to an empty native context manager (`cm`) or an empty native call (`call`),")
    report.say("both in `floor.c`, measured just before and after each burst in the same process; thread")
    report.say("CPU time, less the empty loop's. A row whose `lost` is not 0 does not count.")
    report.say()
    about(report, python, options.command)
    report.say(f"- {rounds} rounds; bursts of every row in turn; the measured thread on a core of its own")
    report.heading("Cost of a cycle")
    report.say("| row | keeps | ns min | ns median | x floor | quartiles | x hodo scope | lost |")
    report.say("|---|---|---:|---:|---:|---:|---:|---:|")
    results = {}
    for name in options.groups.split(","):
        with_gpufl = name == "gpufl" and options.gpufl_python
        runner = options.gpufl_python if with_gpufl else python
        under = build_floor(runner, folder) if with_gpufl else floor
        results[name] = group(runner, under, name, rounds)
        table(report, name, results[name])
    judge(report, results)
    if not options.quick:
        report.heading("Instructions (callgrind)")
        instructions(report, python, floor)
    report.heading("Import")
    import_cost(report, python, floor)
    report.heading("Verdicts")
    for line in report.verdicts:
        report.say(line)


if __name__ == "__main__":
    sys.exit(main())
