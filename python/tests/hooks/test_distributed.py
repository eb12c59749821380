"""Collectives of torch.distributed, by one process for all."""

from __future__ import annotations

from typing import Any

import pytest


def test_collectives_are_scopes_with_their_bytes(ran: Any, tree: Any, tmp_path: Any) -> None:
    torch = pytest.importorskip("torch")
    if not torch.distributed.is_available() or not getattr(torch.distributed, "is_gloo_available", lambda: True)():
        pytest.skip("this torch has no gloo")
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
