"""Programs written for GPUFlight, with the import changed and nothing else."""

from __future__ import annotations

import inspect
import json
from pathlib import Path

import hodo.compat.gpufl as gpufl
import pytest
import runs
from helpers import record

START = "import hodo.compat.gpufl as gpufl\n"


def test_a_session_with_scopes_and_tags(tmp_path: Path) -> None:
    run = record(
        tmp_path,
        START
        + """
assert gpufl.init("train", log_path="", continuous_system_sampling=True,
                  system_sample_rate_ms=50, profiling_engine=gpufl.ProfilingEngine.Monitor)
for batch in range(3):
    with gpufl.Scope("forward", f"batch_{batch}") as scope:
        assert isinstance(scope, gpufl.Scope)
        with gpufl.Scope("attention"):
            pass
gpufl.shutdown()
""",
    )
    assert run.tree == "forward 3\n  attention 3"
    assert [attrs["tag"] for attrs in run.attributes("forward")] == [
        "batch_0",
        "batch_1",
        "batch_2",
    ]
    assert run.report["run"]["app"] == "train"


def test_a_benchmark_loop_keeps_every_iteration(tmp_path: Path) -> None:
    run = record(
        tmp_path,
        START
        + """
gpufl.init("bench")
indices = [i for i in gpufl.Scope("matmul", "math", repeat=10, warmup=3)]
assert indices == list(range(-3, 10))
for i in gpufl.Scope("cut", repeat=5):
    if i == 2:
        break
try:
    for i in gpufl.Scope("broken", repeat=5):
        raise OSError
except OSError:
    pass
assert list(gpufl.Scope("none", repeat=0)) == []
with gpufl.Scope("plain", repeat=5, warmup=2):
    pass
gpufl.shutdown()
""",
    )
    bench = run.node("matmul")["bench"]
    assert (bench["iterations"], bench["warmup"]) == (10, 3)
    assert run.attributes("matmul")[0]["tag"] == "math"
    assert run.node("plain")["count"] == 1
    assert run.left_open == 0


def test_a_scope_entered_twice_closes_each_time(tmp_path: Path) -> None:
    run = record(
        tmp_path,
        START
        + """
gpufl.init("again")
same = gpufl.Scope("same")
with same:
    with same:
        pass
with same:
    pass
""",
    )
    assert run.tree == "same 2\n  same 1"
    assert run.left_open == 0


def test_scopes_nest_without_a_limit(tmp_path: Path) -> None:
    run = record(
        tmp_path,
        START
        + """
def nest(n):
    with gpufl.Scope("level"):
        if n:
            nest(n - 1)
gpufl.init("deep")
nest(199)
assert gpufl.health()["depth_dropped"] == 0
gpufl.shutdown()
""",
    )
    assert sum(node["count"] for node in run.report["nodes"]) == 200


def test_an_exit_without_shutdown_loses_nothing(tmp_path: Path) -> None:
    run = record(tmp_path, START + "gpufl.init('x')\nwith gpufl.Scope('s'): pass\n")
    assert run.tree == "s 1"


@pytest.mark.parametrize("said", ["1", "true", "YES", " on "])
def test_the_kill_switch_leaves_loops_as_they_are(tmp_path: Path, said: str) -> None:
    run = record(
        tmp_path,
        START
        + """
import hodo
assert gpufl.init("x") is False
assert list(gpufl.Scope("loop", repeat=2, warmup=1)) == [-1, 0, 1]
with gpufl.Scope("s"):
    gpufl.system_start()
    gpufl.tick("n")
    gpufl.system_stop()
with gpufl.targeting("hot", iters=1, warmup=0) as window:
    assert list(window.steps(range(4))) == [0, 1, 2, 3]
gpufl.shutdown()
assert gpufl.upload_logs().success and gpufl.health()["enabled"] is False
hodo.init()
""",
        GPUFL_DISABLED=said,
    )
    assert run.tree == ""


def test_disabled_by_argument_then_enabled_again(tmp_path: Path) -> None:
    run = record(
        tmp_path,
        START
        + """
assert gpufl.init("x", enabled=False) is False
with gpufl.Scope("no"):
    pass
assert gpufl.init(gpufl.InitOptions(app_name="y")) is True
with gpufl.Scope("yes"):
    pass
""",
    )
    assert run.tree == "yes 1"
    assert run.report["run"]["app"] == "y"


def test_a_second_init_ends_the_first_session(tmp_path: Path) -> None:
    run = record(
        tmp_path,
        START
        + """
for name in ("one", "two"):
    assert gpufl.init(name)
    with gpufl.Scope(name):
        pass
""",
    )
    assert run.tree == "two 1"
    assert len(list(tmp_path.glob("*/run.json"))) == 2


def test_session_and_targeting(tmp_path: Path) -> None:
    run = record(
        tmp_path,
        START
        + """
with gpufl.targeting("hot", iters=3, warmup=2, tag="t", app_name="window",
                     engine=gpufl.ProfilingEngine.Trace) as window:
    assert list(window.steps(range(100))) == [0, 1, 2, 3, 4]
    assert window.done and window.measured == 3
    with window.step():
        pass
""",
    )
    assert run.tree == "hot 3\nhot_warmup 2"


def test_regions_and_counters_are_recorded(tmp_path: Path) -> None:
    run = record(
        tmp_path,
        START
        + """
with gpufl.session(app_name="x") as started:
    assert started
    tokens = gpufl.counter("tokens")
    assert tokens.valid() and not gpufl.counter("no spaces").valid()
    with gpufl.Scope("step"):
        tokens.add(5)
        gpufl.tick("tokens", 3)
        tokens.add(0)
        tokens.add(2**50)
        gpufl.tick("no spaces")
    gpufl.system_start("load")
    gpufl.system_stop("load")
    gpufl.system_stop("never started")
""",
    )
    assert run.tree == "load 1\nstep 1"
    tokens = run.marks("step")["tokens"]
    assert (tokens["count"], tokens["first"], tokens["last"]) == (2, 5, 8)


def test_system_sampling_reads_the_machine(tmp_path: Path) -> None:
    run = record(
        tmp_path,
        START
        + """
import time
def until(ready):
    while not ready(gpufl.health()["telemetry"]):
        time.sleep(0.005)
    return gpufl.health()["telemetry"]

gpufl.init("x", continuous_system_sampling=True, system_sample_rate_ms=20)
assert until(lambda state: state["rounds"] >= 3)["interval_ms"] == 20
gpufl.shutdown()

gpufl.init("x", system_sample_rate_ms=1)
until(lambda state: state["state"] == "idle")
with gpufl.Scope("step"):
    assert until(lambda state: state["rounds"] >= 3)["interval_ms"] == 10
gpufl.shutdown()

gpufl.init("x", profiling_engine=gpufl.ProfilingEngine.Trace)
assert gpufl.health()["telemetry"]["state"] == "off"
gpufl.system_start("load")
gpufl.system_start("load")
until(lambda state: state["state"] == "sampling" and state["rounds"] >= 1)
gpufl.system_stop("load")
assert gpufl.health()["telemetry"]["state"] == "sampling"
gpufl.system_stop("load")
until(lambda state: state["state"] == "idle")
gpufl.shutdown()
print("well")
""",
    )
    assert run.output.strip() == "well"
    folders = [file.parent.name for file in tmp_path.glob("*/run.json")]
    machines = [runs.report(tmp_path, folder)["machines"] for folder in folders]
    assert [len(each) for each in machines] == [1, 1, 1] and all(each[0]["series"] for each in machines)


def test_what_is_not_done_is_counted_and_said_once(tmp_path: Path) -> None:
    run = record(
        tmp_path,
        START
        + """
import json
with gpufl.session("x", profiling_engine=gpufl.ProfilingEngine.PmSampling,
                   system_sample_rate_ms=50, backend_url="https://example.org", api_key="k"):
    gpufl.deep_window(1.0)
    gpufl.deep_window(1.0)
    assert gpufl.deep_window_active() is False
    gpufl.deep_window_close()
assert gpufl.clean_logs() == []
print(json.dumps(gpufl.health()["not_done"]))
""",
    )
    assert json.loads(run.output) == {
        "engine PmSampling": 1,
        "deep_window": 2,
        "upload_logs": 1,
        "clean_logs": 1,
    }
    assert run.errors.count("deep_window") == 1


def test_arguments_that_make_no_sense() -> None:
    with pytest.raises(TypeError, match="repeat"):
        iter(gpufl.Scope("x"))
    with pytest.raises(ValueError, match="repeat"):
        gpufl.Scope("x", repeat=-1)
    with pytest.raises(ValueError, match="warmup"):
        gpufl.Scope("x", warmup=-1)
    with pytest.raises(TypeError, match="session"):
        gpufl.init("x", api_key="k")
    with pytest.raises(TypeError):
        gpufl.init("x", no_such_option=1)
    with pytest.raises(AttributeError, match="hodo report"):
        gpufl.viz  # noqa: B018


def test_names_and_fields_are_the_peers() -> None:
    peer = pytest.importorskip("gpufl")
    assert set(peer.__all__) <= set(dir(gpufl))
    for name in ("Scope", "shutdown", "system_start", "system_stop", "targeting", "clean_logs"):
        theirs, ours = getattr(peer, name), getattr(gpufl, name)
        assert list(inspect.signature(theirs).parameters) == list(
            inspect.signature(ours).parameters
        )
    for kind in ("ProfilingEngine", "BackendKind"):
        theirs = {entry for entry in dir(getattr(peer, kind)) if entry[0] != "_"}
        assert theirs - {"name", "value"} <= set(getattr(gpufl, kind).__members__)
    assert set(vars(peer.InitOptions())) <= set(vars(gpufl.InitOptions()))
