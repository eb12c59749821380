"""Collectives of torch.distributed: by one process for all, and by two."""

from __future__ import annotations

import inspect
import itertools
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
import runs
from helpers import WELL, Run

HEAD = """
import os, sys
import hodo
hodo.profile(app="rank", COLLECTIVES)
import torch
from torch import distributed as dist, nn
from torch.nn.parallel import DistributedDataParallel

rank = int(os.environ["RANK"])
dist.init_process_group("gloo", init_method="file://" + sys.argv[1], rank=rank, world_size=2)
torch.manual_seed(0)


def ddp(**how):
    return DistributedDataParallel(nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 64)), **how)


def step(model):
    with hodo.scope("step"):
        model(torch.randn(8, 64)).sum().backward()
"""
TAIL = WELL + """
assert hodo.current().id is None, "a scope is still open"
dist.destroy_process_group()
if torch.__version__.startswith("1."):
    # With a hook of Python's on gloo's threads it aborts at times when it ends, without hodo too.
    hodo.shutdown()
    sys.stdout.flush()
    os._exit(0)
"""


@pytest.fixture(autouse=True)
def gloo() -> None:
    """Only where torch has a way between processes on a CPU."""
    torch = pytest.importorskip("torch")
    if not torch.distributed.is_available() or not getattr(torch.distributed, "is_gloo_available", lambda: True)():
        pytest.skip("this torch has no gloo")


@pytest.fixture
def two(tmp_path: Path) -> Any:
    """Runs a program as two ranks of one run; what rank 0 printed."""
    numbers = itertools.count()

    def run(code: str, collectives: str = "") -> Run:
        whole = HEAD.replace("COLLECTIVES", collectives) + textwrap.dedent(code) + TAIL
        dir = tmp_path / str(next(numbers))
        file, store = runs.written(dir, whole), dir / "store"
        more = {"OMP_NUM_THREADS": "1", "HODO_RUN": str(dir / "runs" / "run"), "WORLD_SIZE": "2"}
        ranks = [
            subprocess.Popen(
                [sys.executable, str(file), str(store)],
                env=runs.environment(dir, RANK=str(rank), **more),
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            for rank in range(2)
        ]
        try:
            told = [each.communicate(timeout=600) for each in ranks]
        finally:
            for each in ranks:
                each.kill()
        assert [each.returncode for each in ranks] == [0, 0], told
        return Run(dir / "runs", *told[0])

    return run


def test_collectives_are_scopes_with_their_bytes(ran: Any, tree: Any, tmp_path: Any) -> None:
    run = ran(f"""
        import hodo
        hodo.profile()
        import torch
        from torch import distributed as dist, nn
        from torch.nn.parallel import DistributedDataParallel

        dist.init_process_group("gloo", init_method="file://{tmp_path}/store", rank=0, world_size=1)
        with hodo.scope("mine"):
            dist.all_reduce(torch.zeros(10))
            dist.broadcast(torch.zeros(4, dtype=torch.float64), src=0)
            try:
                dist.all_reduce("no tensor")
            except Exception:
                pass
        with hodo.scope("ddp"):
            DistributedDataParallel(nn.Linear(2, 2))(torch.zeros(1, 2)).sum().backward()
        dist.destroy_process_group()
        assert hodo.current().id is None
    """)
    lines = run.tree.splitlines()
    assert "  all_reduce 2" in lines and "  broadcast 1" in lines
    assert "  forward 1" in lines and "  backward 1" in lines
    assert [each.get("bytes") for each in run.attributes("all_reduce")] == [40, None]
    assert run.node("mine", "all_reduce")["failed"] == 1
    assert run.attributes("broadcast") == [{"bytes": 32}]


def test_what_comes_back_at_once_is_waited_for_in_a_scope(two: Any, tree: Any) -> None:
    run = two("""
        with hodo.scope("mine"):
            values = torch.full((4,), float(rank))
            work = dist.all_reduce(values, async_op=True)
            with hodo.scope("meanwhile"):
                pass
            work.wait()
            assert values.tolist() == [1.0] * 4
            if rank:
                dist.isend(values, 0).wait()
            else:
                dist.irecv(values, 1).wait()
            dist.all_gather([torch.zeros(4), torch.zeros(4)], values)
    """)
    assert run.tree == tree("""
        mine 2
          all_gather 2
          all_reduce 2
          irecv 1
          isend 1
          meanwhile 2
          wait 4
    """)
    waits = sorted(each["tag"] for each in run.attributes("wait"))
    assert waits == ["all_reduce", "all_reduce", "irecv", "isend"]
    assert [each["async"] for each in run.attributes("all_reduce")] == [True, True]


def test_ddp_says_what_it_reduces_without_scopes(two: Any, tree: Any) -> None:
    run = two("""
        model = ddp()
        for i in range(4):
            if i == 2:
                with model.no_sync():
                    step(model)
            else:
                step(model)
        with torch.no_grad():
            model(torch.randn(8, 64))
    """)
    # As many bytes as parameters: 64 * 128 + 128 + 128 * 64 + 64 floats.
    assert "all_reduce" not in run.tree and run.node("step", "backward")["count"] == 8
    marks = run.marks("step", "backward")
    assert (marks["reduced_bytes"]["count"], marks["reduced_bytes"]["mean"]) == (6, 66304)
    # Of each that reduces but the last, after which no forward pass tells.
    assert marks["reduce_ms"]["count"] == 4 and marks["reduce_ms"]["min"] > 0
    assert marks["reduce_overlapped_ms"]["count"] == 4


RESULT = """
for _ in range(4):
    step(model)
    with torch.no_grad():
        for each in model.parameters():
            each -= 0.1 * each.grad
print([each.double().sum().item().hex() for each in model.parameters()])
"""


def test_buckets_on_request_with_the_same_gradients_to_the_last_bit(two: Any) -> None:
    plain = two("model = ddp(bucket_cap_mb=0.02)" + RESULT)
    seen = two("model = ddp(bucket_cap_mb=0.02)" + RESULT, "collectives=True")
    assert seen.output == plain.output and "0x" in plain.output
    buckets = [node for node in seen.report["nodes"] if node["name"] == "all_reduce"]
    assert [node["path"] for node in buckets] == [["step", "backward", "all_reduce"]]
    assert buckets[0]["count"] >= 8 and buckets[0]["open"] == 0
    of_all = [each for each in seen.attributes("all_reduce")]
    assert {each["tag"] for each in of_all} == {"ddp"}
    assert sum(each["bytes"] for each in of_all) == 2 * 4 * 66304
    assert "reduced_bytes" not in seen.marks("step", "backward")


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_hook_of_the_programs_own_is_kept_and_seen(two: Any, when: str) -> None:
    code = f"""
        from torch.distributed.algorithms.ddp_comm_hooks import default_hooks

        calls = []

        def own(state, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
            calls.append(state)
            return default_hooks.allreduce_hook(None, bucket)

        model = ddp()
        if {when!r} == "after":
            step(model)
        model.register_comm_hook("state", own)
        step(model)
        assert calls == ["state"], calls
    """
    run = two(code, "collectives=True")
    assert run.node("step", "backward", "all_reduce")["count"] == (4 if when == "after" else 2)


def test_a_hook_that_raises_is_a_failed_scope(two: Any) -> None:
    run = two("""
        def own(state, bucket):
            raise ValueError("no")

        model = ddp()
        model.register_comm_hook(None, own)
        try:
            step(model)
        except Exception as error:
            print("raised", "no" in str(error))
    """, "collectives=True")
    assert run.output == "raised True\n"
    assert run.node("step", "backward", "all_reduce")["failed"] == 2
    assert run.left_open == 0


def test_ddp_goes_on_when_hooks_are_undone(two: Any) -> None:
    run = two("""
        engine = torch.autograd.Variable._execution_engine
        model = ddp()
        step(model)
        hodo.shutdown()
        step(model)
        assert torch.autograd.Variable._execution_engine is not engine
        hodo.profile(app="rank", collectives=True)
        step(model)
    """, "collectives=True")
    assert run.node("step")["count"] in (2, 4)


def test_every_collective_that_torch_has_is_known() -> None:
    from hodo.hooks.distributed import COLLECTIVES
    from torch.distributed import distributed_c10d as home

    functions = {name: made for name, made in list(vars(home).items()) if inspect.isfunction(made)}
    theirs = {name for name, made in functions.items() if "async_op" in inspect.signature(made).parameters}
    # Of several GPUs by one process: torch has given them up.
    unknown = {name for name in theirs - set(COLLECTIVES) if not name.endswith("_multigpu")}
    assert theirs and not unknown


def test_what_fully_shard_gathers_and_scatters_is_inside_of_what_needs_it(two: Any) -> None:
    pytest.importorskip("torch", minversion="2.6", reason="older torch has no fully_shard")
    run = two("""
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.fsdp import fully_shard

        mesh = init_device_mesh("cpu", (2,))
        model = nn.Sequential(nn.Linear(64, 128), nn.Linear(128, 64))
        for each in (*model, model):
            fully_shard(each, mesh=mesh)
        for _ in range(3):
            step(model)
    """)
    nodes = [node for node in run.report["nodes"] if node["path"][0] == "step"]
    found = {(node["path"][1], node["name"].split("_single")[0]) for node in nodes if node["depth"] > 1}
    named = {(where, name.split("_into")[0].split("_tensor")[0]) for where, name in found}
    assert {("forward", "all_gather"), ("backward", "reduce_scatter")} <= named, run.tree
