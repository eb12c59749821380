"""With `HODO_SERVER` set, init starts what ships the run: once, as nobody's child, never in a fork."""

from __future__ import annotations

import json
import time
from pathlib import Path

import runs

RECORDS = """
    import hodo, json, os, pathlib, sys, time

    hodo.init(app="ships")
    pid = os.fork()
    if pid == 0:
        with hodo.scope("child"):
            pass
        os._exit(0)
    os.waitpid(pid, 0)
    with hodo.scope("parent"):
        pass
    told = pathlib.Path(sys.argv[1])
    while not told.exists() and "not shipped" not in hodo.health()["degraded"]:
        time.sleep(0.01)
    try:
        os.waitpid(-1, os.WNOHANG)
        children = True
    except ChildProcessError:
        children = False
    print(json.dumps({"children": children, "degraded": hodo.health()["degraded"], "pid": os.getpid()}))
"""


def test_init_starts_a_shipper_that_is_no_child_of_the_program(tmp_path: Path) -> None:
    told, program = tmp_path / "told", tmp_path / "hodo"
    lines = '{ echo "$PPID $@"; ls /proc/$$/fd | wc -l; } >> ' + str(told)
    program.write_text(f"#!/bin/sh\n{lines}\n")
    program.chmod(0o755)
    env = {"HODO_SERVER": "http://127.0.0.1:9", "HODO_BIN": str(program)}
    done = runs.run(tmp_path / "runs", RECORDS, str(told), **env)
    said = json.loads(done.out)
    assert said == {"children": False, "degraded": "", "pid": said["pid"]}, done.err
    # It runs on when the program is over; what was started a second time would come after it.
    while told.read_text().count("\n") < 2:
        time.sleep(0.01)
    time.sleep(0.2)
    lines = told.read_text().splitlines()
    assert len(lines) == 2, f"started more than once: {lines}"
    parent, verb, flag, run = lines[0].split(" ", 3)
    assert (verb, flag) == ("ship", "--detached")
    assert Path(run).parent == tmp_path / "runs" and int(parent) != said["pid"]


def test_a_program_that_is_missing_is_told_by_health(tmp_path: Path) -> None:
    env = {"HODO_SERVER": "http://127.0.0.1:9", "HODO_BIN": str(tmp_path / "none")}
    done = runs.run(tmp_path / "runs", RECORDS, str(tmp_path / "told"), **env)
    degraded = json.loads(done.out)["degraded"]
    assert degraded.startswith("not shipped: HODO_BIN names "), degraded
    assert "hodo push" in degraded
    assert "not shipped" in done.err
