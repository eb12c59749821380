"""hodo starts before or after torch, before or after CUDA: order.py ORDER"""

import sys

import hodo

ORDER = sys.argv[1]
if ORDER == "before-import":
    hodo.init(app=ORDER)
import model as models
import torch

if ORDER == "after-import":
    hodo.init(app=ORDER)
if ORDER == "after-cuda":
    torch.ones(1, device="cuda").item()
    hodo.init(app=ORDER)
weight, x = models.tiny()
for i in range(20):
    with hodo.scope("step", index=i):
        with hodo.scope("forward"):
            out = (weight * x).sum()
        with hodo.scope("backward"):
            out.backward()
torch.cuda.synchronize()
