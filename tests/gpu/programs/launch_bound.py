"""The host launches small kernels one by one, and the GPU is through with each before the next comes."""

import torch

import hodo

x = torch.ones(256, device="cuda")
for _ in range(100):
    x.add_(1.0)
torch.cuda.synchronize()

hodo.init(app="launch_bound")
for index in range(50):
    with hodo.scope("step", index=index):
        with hodo.scope("forward"):
            for _ in range(300):
                x.add_(1.0)
        with hodo.scope("update"):
            for _ in range(100):
                x.mul_(0.5)
torch.cuda.synchronize()
hodo.shutdown()
