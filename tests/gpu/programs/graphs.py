"""Replays a graph of 100 kernels: graphs.py LAUNCHES"""

import json
import sys

import torch

import hodo

hodo.init(app="graphs")
x = torch.ones(64, device="cuda")
graph = torch.cuda.CUDAGraph()
with hodo.scope("capture"), torch.cuda.graph(graph):
    for _ in range(100):
        x.add_(1)
graph.replay()
torch.cuda.synchronize()
before = torch.cuda.mem_get_info()[0]
with hodo.scope("replay"):
    for i in range(int(sys.argv[1]) - 1):
        graph.replay()
        if i % 1000 == 999:
            torch.cuda.synchronize()
torch.cuda.synchronize()
grown = (before - torch.cuda.mem_get_info()[0]) >> 20
hodo.flush()
print(json.dumps({"grown_mib": grown, "gpu": hodo.health()["gpu"]}))
