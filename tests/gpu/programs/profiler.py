"""torch.profiler before hodo, during it and after it, each over 50 launches."""

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
    return {"kernels": sum("elementwise" in e.name for e in events)}


states = []


def note():
    states.append(hodo.health()["gpu"]["state"])


# In a process where the profiler ran first it keeps the callbacks, so it comes second here.
hodo.init(app="profiler")
with hodo.scope("before"):
    launch()
note()
told = {"before": profiled()}
with hodo.scope("during"):
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
        launch()
        note()
events = [e for e in profiler.events() if e.device_type == torch.autograd.DeviceType.CUDA]
told["during"] = {"kernels": sum("elementwise" in e.name for e in events)}
with hodo.scope("after"):
    launch()
note()
gaps = len(hodo.health()["gpu"]["gaps"])
hodo.shutdown()
told["after"] = profiled()
print(json.dumps(told | {"gaps": gaps, "states": states}))
