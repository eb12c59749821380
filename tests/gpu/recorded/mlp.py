"""Eager torch: forward, backward on autograd's thread, an optimizer."""

import known
import torch
import torch.nn as nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10)).cuda()
x = torch.randn(32, 64, device="cuda")
y = torch.randint(0, 10, (32,), device="cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def work(scope):
    for _ in range(5):
        with scope("step"):
            with scope("forward"):
                out = model(x)
                with scope("loss"):
                    loss = nn.functional.cross_entropy(out, y)
            with scope("backward"):
                loss.backward()
            with scope("optimizer"):
                optimizer.step()
                optimizer.zero_grad(set_to_none=True)


known.main(work, warm_up=work)
