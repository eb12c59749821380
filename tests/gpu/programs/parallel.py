"""One rank of a model that is trained in parallel: parallel.py ddp|buckets|fsdp|fully_shard BACKEND DEVICE STORE.

Counts the collectives that reach torch itself, and prints them with what hodo says of itself, so that the tree can
be compared. Ends with 77 where this torch has no such way.
"""

import collections
import functools
import json
import os
import sys
import threading

import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

NAMES = ("all_gather", "all_gather_into_tensor", "all_reduce", "broadcast", "reduce_scatter_tensor", "barrier")
STEPS = 5
way, backend, device, store = sys.argv[1:5]
rank, ranks = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
counts: dict[str, collections.Counter[str]] = {"before": collections.Counter(), "training": collections.Counter()}
phase, inside = "before", threading.local()


def counted(run, name):
    @functools.wraps(run)
    def count(*args, **kwargs):
        if getattr(inside, "yes", False):
            return run(*args, **kwargs)
        inside.yes = True
        try:
            counts[phase][name] += 1
            return run(*args, **kwargs)
        finally:
            inside.yes = False

    return count


# Before hodo, which then calls these.
for name in NAMES:
    made = counted(getattr(dist, name), name)
    setattr(dist.distributed_c10d, name, made)
    setattr(dist, name, made)

import hodo

hodo.profile(app=way, collectives=way == "buckets")
try:
    if way == "fsdp":
        from torch.distributed.fsdp import FullyShardedDataParallel
    elif way == "fully_shard":
        from torch.distributed.fsdp import fully_shard
        if device == "cpu" and not hasattr(torch.cpu.Stream, "record_event"):
            raise ImportError("its fully_shard needs a GPU")
except ImportError as error:
    print(error)
    sys.exit(77)


def wrapped(model: nn.Sequential) -> nn.Module:
    if way == "fsdp":
        place = {"device_id": torch.cuda.current_device()} if device == "cuda" else {"device_id": torch.device("cpu")}
        blocks = [FullyShardedDataParallel(block, **place) for block in model]
        return FullyShardedDataParallel(nn.Sequential(*blocks), **place)
    if way == "fully_shard":
        from torch.distributed.device_mesh import init_device_mesh

        mesh = init_device_mesh(device, (ranks,))
        for block in model:
            fully_shard(block, mesh=mesh)
        fully_shard(model, mesh=mesh)
        return model
    return nn.parallel.DistributedDataParallel(model, bucket_cap_mb=0.3)


if device == "cuda":
    torch.cuda.set_device(0)
dist.init_process_group(backend, init_method=f"file://{store}", rank=rank, world_size=ranks)
torch.manual_seed(0)
blocks = [nn.Sequential(nn.Linear(256, 256), nn.ReLU()) for _ in range(3)]
model = wrapped(nn.Sequential(*blocks).to(device))
optimizer = torch.optim.Adam(model.parameters())
loader = DataLoader(TensorDataset(torch.randn(STEPS * 8, 256)), batch_size=8)
phase = "training"
for (x,) in loader:
    optimizer.zero_grad()
    model(x.to(device)).square().mean().backward()
    optimizer.step()
phase = "before"
if device == "cuda":
    torch.cuda.synchronize()
health = hodo.health()
wrong = {key: health[key] for key in ("out_of_order", "double_closed", "wrong_thread", "lost_records") if health[key]}
told = {"counts": counts, "wrong": wrong, "gpu": health["gpu"]["state"], "torch": torch.__version__}
print(json.dumps({**told, "open": hodo.current().id}))
dist.destroy_process_group()
