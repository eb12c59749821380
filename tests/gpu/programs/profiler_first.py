"""torch.profiler runs before hodo starts, and keeps CUPTI's callbacks; then each runs again."""

import json

import torch
from torch.profiler import ProfilerActivity, profile

import hodo

x = torch.ones(1024, device="cuda")


def launch():
    for _ in range(50):
        x.add_(1)
    torch.cuda.synchronize()


def profiled():
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
        launch()
    events = [e for e in profiler.events() if e.device_type == torch.autograd.DeviceType.CUDA]
    return sum("elementwise" in e.name for e in events)


told = {"first": profiled()}
hodo.init(app="profiler-first")
told["state"] = hodo.health()["gpu"]["state"]
with hodo.scope("one"):
    launch()
told["second"] = profiled()
with hodo.scope("two"):
    launch()
hodo.shutdown()
print(json.dumps(told))
