"""The GPU waits for input: each batch takes 10 ms to come, and a step some 2 ms to compute."""

import time

import torch

import hodo

a = torch.randn(2048, 2048, device="cuda")
for _ in range(3):
    (a @ a).sum()
torch.cuda.synchronize()

hodo.init(app="input_wait")


def batches(count):
    for _ in range(count):
        time.sleep(0.010)
        yield torch.randn(2048, 256).pin_memory()


for x in hodo.batches(batches(60)):
    with hodo.scope("copy"):
        x = x.to("cuda", non_blocking=True)
    with hodo.scope("forward"):
        y = x
        for _ in range(30):
            y = a @ y
torch.cuda.synchronize()
hodo.shutdown()
