"""Every result is read at once, so that the host never gets ahead of the GPU: sync_in_loop.py [item|synchronize]

A product takes about as long as the host needs to launch the next: idle would vanish if nobody waited."""

import sys

import torch

import hodo

HOW = sys.argv[1] if len(sys.argv) > 1 else "item"
a = torch.randn(1024, 1024, device="cuda")
for _ in range(10):
    (a @ a)[0, 0].item()
torch.cuda.synchronize()

hodo.init(app="sync_in_loop")
total = 0.0
for index in range(50):
    with hodo.scope("step", index=index):
        for _ in range(20):
            with hodo.scope("forward"):
                b = a @ a
            with hodo.scope("log"):
                if HOW == "item":
                    total += b[0, 0].item()
                else:
                    torch.cuda.synchronize()
torch.cuda.synchronize()
hodo.shutdown()
