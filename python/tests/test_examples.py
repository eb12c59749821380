"""Every example runs, and records what it says."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers import Run, record

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "python"


def example(tmp_path: Path, name: str, *args: str) -> Run:
    return record(tmp_path, (EXAMPLES / name).read_text(), *args)


def test_training_loop(tmp_path: Path) -> None:
    run = example(tmp_path, "training_loop.py")
    assert run.tree == (
        "epoch 3\n  batch 120\n    backward 120\n    data_wait 120\n    forward 120"
    )
    assert run.marks("epoch", "batch")["loss"]["count"] == 120
    assert run.marks("epoch")["loss at the end"]["summary"]
    assert set(run.attributes("forward")[0]) == {"rate", "loss"}


def test_asyncio_server(tmp_path: Path) -> None:
    run = example(tmp_path, "asyncio_server.py")
    assert run.tree == "request 20\n  query 40\n  render 20"
    assert run.node("request")["failed"] == 2
    assert run.output == "20 requests, 2 failed\n"


def test_serving(tmp_path: Path) -> None:
    run = example(tmp_path, "serving.py")
    assert run.tree == "server 1\n  request 20\n    decode 104\n    prefill 20"
    assert (run.node("server", "request")["failed"], run.left_open) == (0, 0)
    marks = run.marks("server", "request")
    assert (marks["output_tokens"]["min"], marks["output_tokens"]["max"]) == (2, 6)
    assert marks["closed_early"]["count"] == 4
    assert marks["input_tokens"]["count"] == marks["time_to_first_token_ms"]["count"] == 20
    assert run.output == "20 requests, 104 words\n"


def test_threads_and_executors(tmp_path: Path) -> None:
    run = example(tmp_path, "threads_and_executors.py")
    assert run.tree == "batch 1\n  resize 16\n  watch 1\nupload 1"
    assert run.left_open == 0


@pytest.mark.parametrize("method", ["spawn", "fork", "forkserver"])
def test_multiprocessing_workers(tmp_path: Path, method: str) -> None:
    run = example(tmp_path, "multiprocessing_workers.py", method)
    assert run.tree == "pool 1\n  shard 4\n    step 200"
    assert run.left_open == 0


def test_benchmark(tmp_path: Path) -> None:
    run = example(tmp_path, "benchmark.py")
    assert run.node("multiply")["bench"]["iterations"] == 10
    assert run.node("sort")["bench"]["iterations"] == 20
    assert run.node("sort")["bench"]["warmup"] == 3
    assert "multiply: 10 passes after 2 warm-up" in run.output


def test_cirron_program(tmp_path: Path) -> None:
    run = example(tmp_path, "cirron_program.py")
    assert run.tree == "epoch 2\n  batch 10\n    data_wait 10\n    forward 10\nrequest 1"
    assert run.attributes("forward")[0] == {"variant": "small", "tag": "fp32", "rows": 8}
    assert run.marks("request")["output_tokens"]["last"] == 3
    assert run.output == "THREE WORDS HERE 0\n"


def test_gpuflight_program(tmp_path: Path) -> None:
    run = example(tmp_path, "gpuflight_program.py")
    assert run.node("forward_pass", "attention")["count"] == 4
    assert run.node("forward_pass")["tag"] == {"many": 4}
    assert run.node("matmul")["bench"]["iterations"] == 10
    assert run.errors == "", "all that the program asks for is done, sampling of the system too"


def test_every_example_is_listed_and_run() -> None:
    programs = {path.name for path in EXAMPLES.glob("*.py")}
    listed = (EXAMPLES / "README.md").read_text()
    tested = Path(__file__).read_text()
    for program in programs:
        assert f"`{program}`" in listed and f'"{program}"' in tested, program
