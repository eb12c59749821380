"""Windows of sampling: inert without a GPU, and the whole path with a driver and a CUPTI made up.

The made-up ones say nothing about NVIDIA's; tests/gpu has what runs on a GPU.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
import runs
from helpers import Run, record

FAKES = Path(__file__).with_name("fake_gpu")


def test_without_a_gpu_a_window_is_inert_and_says_why(tmp_path: Path) -> None:
    run = record(
        tmp_path,
        """
import hodo, json
early = hodo.window("pc-sampling")
assert "hodo.init" in early.reason and not early.is_open
hodo.init("inert", gpu="pc-sampling")
with hodo.window("pc-sampling", scope="forward") as window:
    with hodo.scope("forward"):
        assert not window.is_open and window.reason, window
with hodo.window(seconds=0.01) as timed:
    timed.end()
assert "not opened" in repr(timed)
assert "scope" in hodo.window(mode="continuous", scope="forward").reason
told = hodo.health()["gpu"]["sampling"]
assert told["refusals"] == 3 and told["windows"] == [], told
for wrong in ({"kind": "x"}, {"mode": "x"}, {"seconds": 0}, {"seconds": True}):
    try:
        hodo.window(**wrong)
    except ValueError as error:
        print(error)
    else:
        raise AssertionError(wrong)
""",
    )
    assert run.output.count("\n") == 4
    assert run.node("forward")["count"] == 1


PROGRAM = """
import ctypes, gc, json, os, time
driver = ctypes.CDLL(os.environ["FAKE_CUDA"], mode=ctypes.RTLD_GLOBAL)
cupti = ctypes.CDLL(os.environ["HODO_CUPTI_PATH"])
import hodo
assert hodo.init("sampled", gpu="pc-sampling") == "on"
cubin = b"code with .debug_line"
cupti.fake_load(cubin, ctypes.c_size_t(len(cubin)))
memory, compute = ctypes.c_char_p(b"memory_kernel"), ctypes.c_char_p(b"compute_kernel")
def step():
    with hodo.scope("forward"):
        with hodo.scope("attention"):
            cupti.fake_launch(memory)
            cupti.fake_launch(memory)
    with hodo.scope("optimizer"):
        cupti.fake_launch(compute)
step()
"""


@pytest.fixture(scope="module")
def fakes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    compiler = shutil.which("cc")
    assert compiler is not None, "the README asks for a C compiler"
    folder = tmp_path_factory.mktemp("fakes")
    driver, cupti = folder / "libcuda.so.1", folder / "libcupti.so.13"
    flags = ["-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror"]
    soname = "-Wl,-soname,libcuda.so.1"
    for command in (
        [*flags, soname, str(FAKES / "cuda.c"), "-o", str(driver)],
        [*flags, str(FAKES / "cupti.c"), "-o", str(cupti)],
    ):
        subprocess.run([compiler, *command], check=True)
    return {"FAKE_CUDA": str(driver), "HODO_CUPTI_PATH": str(cupti)}


def sampled(tmp_path: Path, fakes: dict[str, str], code: str, **variables: str) -> Run:
    return record(tmp_path, PROGRAM + code, **fakes, **variables)


def test_samples_reach_the_run_by_scope(tmp_path: Path, fakes: dict[str, str]) -> None:
    code = """
with hodo.window("pc-sampling") as window:
    assert window.is_open, window.reason
    assert "open" in hodo.window().reason
    step()
step()
hodo.flush()
told = hodo.health()["gpu"]["sampling"]
print(json.dumps(told))
"""
    run = sampled(tmp_path, fakes, code)
    gpu = run.report["processes"][0]["gpu"]
    assert gpu["samples"] == 6, gpu
    command = [str(runs.PROGRAM), "report", "--samples", "--json", "--dir", str(tmp_path)]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    samples = json.loads(told)["samples"]
    assert samples["samples"] == 75
    by_path = {"/".join(scope["path"]): scope for scope in samples["scopes"]}
    assert {path: scope["samples"] for path, scope in by_path.items()} == {
        "forward/attention": 50,
        "optimizer": 25,
    }
    reasons = [(stall["reason"], stall["samples"]) for stall in by_path["optimizer"]["stalls"]]
    assert reasons == [("long_scoreboard", 20), ("selected", 5)]
    first = samples["instructions"][0]
    assert (first["kernel"], first["pc"]) == ("memory_kernel", 16)
    assert (first["file"], first["line"]) == ("/src/kernel.cu", 42)
    assert '"samples": 75' in run.output and '"in_scope": 75' in run.output, run.output
    assert '"period": 2048' in run.output
    saved = list(tmp_path.rglob("cubins/*.cubin"))
    assert [file.name for file in saved] == ["000000000000c0de.cubin"]


def test_only_what_is_inside_a_scope(tmp_path: Path, fakes: dict[str, str]) -> None:
    code = """
with hodo.window(scope="forward"):
    step()
told = hodo.health()["gpu"]["sampling"]["windows"][0]
assert (told["samples"], told["outside_scope"], told["scope"]) == (50, 25, "forward"), told
"""
    sampled(tmp_path, fakes, code)


def test_a_window_ends_after_its_time(tmp_path: Path, fakes: dict[str, str]) -> None:
    code = """
import threading
stepped = threading.Event()
class Timer(threading.Timer):
    "Whose time begins after the step, however slow the machine is."
    def run(self):
        stepped.wait()
        super().run()
threading.Timer = Timer
window = hodo.window(seconds=0.05)
step()
stepped.set()
while window.is_open:
    time.sleep(0.01)
again = hodo.window(seconds=60)
assert again.is_open, again.reason
"""
    run = sampled(tmp_path, fakes, code)
    assert run.report["processes"][0]["gpu"]["samples"] == 6


def test_a_window_said_it_was_over_before_another_could_be_opened(
    tmp_path: Path, fakes: dict[str, str]
) -> None:
    code = """
from hodo import _hodo
ends, seen = _hodo.gpu_window_end, []
def end():
    seen.append(window.is_open)
    ends()
_hodo.gpu_window_end = end
window = hodo.window()
window.end()
window.end()
assert seen == [True] and not window.is_open, seen
"""
    sampled(tmp_path, fakes, code)


@pytest.mark.parametrize(
    ("function", "words"),
    [("Enable=35", "RestrictProfilingToAdminUsers"), ("Start=26", "another tool")],
)
def test_a_refusal_is_a_reason(
    tmp_path: Path, fakes: dict[str, str], function: str, words: str
) -> None:
    code = f"""
window = hodo.window()
assert {words!r} in window.reason, window.reason
assert hodo.health()["gpu"]["sampling"]["refused"] == window.reason
step()
"""
    sampled(tmp_path, fakes, code, FAKE_REFUSE=f"cuptiPCSampling{function}")


def test_a_setting_that_is_refused_is_left_out(tmp_path: Path, fakes: dict[str, str]) -> None:
    code = """
with hodo.window():
    step()
told = hodo.health()["gpu"]["sampling"]["windows"][0]
assert told["samples"] == 75 and any("3: 7" in note for note in told["notes"]), told
"""
    sampled(tmp_path, fakes, code, FAKE_NO_SCRATCH="1")
