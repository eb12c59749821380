"""Readings of the machine beside the scopes."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import hodo
import pytest
import runs
from helpers import record

WAIT = """
import hodo, json, os, time
def until(ready):
    while not ready(hodo.health()["telemetry"]):
        time.sleep(0.005)
    return hodo.health()["telemetry"]
"""


def _machines(dir: Path) -> list[Path]:
    return sorted(dir.glob("**/machine-*"))


def test_nothing_is_read_unless_asked_for(tmp_path: Path) -> None:
    run = record(tmp_path, "import hodo\nhodo.init()\nprint(hodo.health()['telemetry']['state'])")
    assert run.output.strip() == "off"
    assert _machines(tmp_path) == []


@pytest.mark.parametrize("telemetry", ["'20ms'", "0.02"])
def test_readings_are_written_into_the_run(tmp_path: Path, telemetry: str) -> None:
    run = record(
        tmp_path,
        WAIT
        + f"hodo.init(telemetry={telemetry})\n"
        + """
with hodo.scope("work"):
    told = until(lambda state: state["state"] == "sampling" and state["rounds"] >= 5)
print(json.dumps(told))
""",
    )
    told = json.loads(run.output)
    assert told["interval_ms"] == 20
    assert told["cost"]["cpu_ns"] > 0
    parts = {absent["part"] for absent in told["absent"]}
    assert parts <= {"GPU", "pressure", "disks", "networks"}, told["absent"]
    assert all(absent["why"] for absent in told["absent"])
    (machine,) = _machines(tmp_path)
    assert Path(told["folder"]) == machine
    assert run.report["machines"][0]["series"]
    assert run.tree == "work 1", "a folder of readings is no process"


def test_the_environment_asks_for_readings(tmp_path: Path) -> None:
    run = record(
        tmp_path,
        WAIT + "hodo.init()\nprint(until(lambda state: state['rounds'] >= 2)['interval_ms'])",
        HODO_TELEMETRY="30ms",
    )
    assert run.output.strip() == "30"


def test_an_environment_that_makes_no_sense_is_told(tmp_path: Path) -> None:
    code = "import hodo\nhodo.init()\nprint(hodo.health()['telemetry']['state'])"
    run = record(tmp_path, code, HODO_TELEMETRY="often")
    assert run.output.strip() == "off"
    assert "telemetry=often is ignored: it is a time between readings" in run.errors


def test_a_forked_child_keeps_no_file_that_its_parent_reads(tmp_path: Path) -> None:
    run = record(
        tmp_path,
        WAIT
        + """
def read_by_hodo():
    links = []
    for number in os.listdir("/proc/self/fd"):
        try:
            links.append(os.readlink(f"/proc/self/fd/{number}"))
        except OSError:
            pass
    return [link for link in links if link.startswith("/proc/") and not link.endswith("/fd")]
hodo.init(telemetry="20ms")
with hodo.scope("work"):
    until(lambda state: state["rounds"] >= 3)
print(len(read_by_hodo()) > 0, flush=True)
if not (child := os.fork()):
    print(read_by_hodo(), flush=True)
    os._exit(0)
os.waitpid(child, 0)
""",
    )
    assert run.output.split("\n")[:2] == ["True", "[]"]


def test_only_inside_scopes(tmp_path: Path) -> None:
    run = record(
        tmp_path,
        WAIT
        + """
hodo.init(telemetry="10ms,scopes")
idle = until(lambda state: state["state"] == "idle")
assert idle["rounds"] == 0 and idle["only_in_scopes"] is True
with hodo.scope("work"):
    until(lambda state: state["state"] == "sampling" and state["rounds"] >= 3)
until(lambda state: state["state"] == "idle")
print("well")
""",
    )
    assert run.output.strip() == "well"


@pytest.mark.parametrize("telemetry", ["50", "often", "1us", "", -1, 1e9, float("nan")])
def test_what_makes_no_sense_is_refused(telemetry: Any) -> None:
    nonsense = r"makes no sense: it is a time between readings.* or on \(1s\)"
    with pytest.raises(ValueError, match=nonsense):
        hodo.init(telemetry=telemetry)


def test_what_is_no_time_is_refused() -> None:
    with pytest.raises(TypeError, match="telemetry is a text or a number of seconds"):
        hodo.init(telemetry=["50ms"])  # type: ignore[arg-type]


def test_a_worker_is_linked_and_takes_over_when_its_parent_is_killed(tmp_path: Path) -> None:
    ended = runs.run(
        tmp_path,
        WAIT
        + """
import signal
hodo.init(telemetry="10ms")
until(lambda state: state["rounds"] >= 3)
reader, writer = os.pipe()
parent = os.getpid()
if os.fork():
    with hodo.scope("parent"):
        until(lambda state: state["state"] == "sampling")
    os.write(writer, b"sampling")
    time.sleep(600)
os.read(reader, 8)
with hodo.scope("child"):
    linked = until(lambda state: state["state"] == "linked")
    assert linked["by"] == {"pid": parent, "kind": "in-process"}, linked
    assert linked["rounds"] == 0, "it reads nothing meanwhile"
    os.kill(parent, signal.SIGKILL)
    until(lambda state: state["state"] == "sampling" and state["rounds"] >= 3)
print("took over")
""",
        expect=-9,
    )
    assert ended.out.strip() == "took over", ended.err
    (machine,) = _machines(tmp_path)
    # Of the parent, which the child wrote; and its own, where it left them if it was too busy to write them at its end.
    assert len([*machine.glob("samples-*.hodo"), *machine.glob("samples.live")]) >= 2


@pytest.mark.skipif(sys.version_info < (3, 12), reason="Python counts threads at a fork since 3.12")
def test_a_fork_of_a_program_without_threads_of_its_own_is_not_warned_about(tmp_path: Path) -> None:
    run = record(
        tmp_path,
        WAIT
        + """
import warnings
warnings.simplefilter("error")
hodo.init(telemetry="10ms")
until(lambda state: state["rounds"] >= 3)
for _ in range(20):
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
before = hodo.health()["telemetry"]["rounds"]
with hodo.scope("again"):
    until(lambda state: state["rounds"] > before)
print("well")
""",
    )
    assert run.output.strip() == "well", run.errors
