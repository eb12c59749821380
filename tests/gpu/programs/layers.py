"""An MLP with a scope for each layer; backward is read by them."""

import torch
import torch.nn as nn

import hodo

hodo.init(app="layers", by_layer=True)
torch.manual_seed(0)
layers = nn.ModuleList(nn.Sequential(nn.Linear(256, 256), nn.ReLU()) for _ in range(6)).cuda()
head = nn.Linear(256, 10).cuda()
x = torch.randn(64, 256, device="cuda")
y = torch.randint(0, 10, (64,), device="cuda")
for _ in range(20):
    with hodo.scope("step"):
        with hodo.scope("forward"):
            out = x
            for i, layer in enumerate(layers):
                with hodo.scope(f"layer {i}"):
                    out = layer(out)
            with hodo.scope("layer head"):
                loss = nn.functional.cross_entropy(head(out), y)
        with hodo.scope("backward"):
            loss.backward()
torch.cuda.synchronize()
