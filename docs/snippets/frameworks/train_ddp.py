"""DistributedDataParallel, two ranks: `collectives=True` gives each bucket of gradients a scope."""

import os
import tempfile

import hodo
import torch
from torch import distributed, nn


def train(rank, store):
    hodo.profile(collectives=True)
    distributed.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2)
    model = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 2)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(5):
        with hodo.scope("step", index=step):
            optimizer.zero_grad()
            model(torch.randn(8, 16)).square().mean().backward()
            optimizer.step()
    with hodo.scope("validate"):
        seen = distributed.all_reduce(torch.ones(1), async_op=True)
        model.module(torch.randn(8, 16))
        seen.wait()
    distributed.destroy_process_group()


if __name__ == "__main__":
    hodo.init(app="train_ddp")
    store = os.path.join(tempfile.mkdtemp(), "store")
    torch.multiprocessing.spawn(train, args=(store,), nprocs=2)
