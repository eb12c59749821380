"""Trains GPT-2 under hodo for some seconds and asks the driver itself what was used: energy.py SECONDS RESULT.json"""

import ctypes
import json
import sys
import time

import model as models
import torch

import hodo

SECONDS, RESULT = float(sys.argv[1]), sys.argv[2]
nvml = ctypes.CDLL("libnvidia-ml.so.1")
device = ctypes.c_void_p()
assert nvml.nvmlInit_v2() == 0
assert nvml.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(device)) == 0


def joules() -> float:
    millijoules = ctypes.c_ulonglong()
    assert nvml.nvmlDeviceGetTotalEnergyConsumption(device, ctypes.byref(millijoules)) == 0
    return millijoules.value / 1000


model, forward, loss, optimizer = models.gpt()
hodo.init(app="energy", telemetry="50ms", gpu="trace")
began, before, steps = time.monotonic(), joules(), 0
while time.monotonic() - began < SECONDS:
    with hodo.scope("step", index=steps):
        with hodo.scope("forward"):
            value = loss(forward())
        with hodo.scope("backward"):
            value.backward()
        with hodo.scope("optimizer"):
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
    steps += 1
    if steps % 50 == 0:
        torch.cuda.synchronize()
        time.sleep(0.2)  # outside any scope, and the GPU rests
torch.cuda.synchronize()
used, took = joules() - before, time.monotonic() - began
state = hodo.health()["telemetry"]
stopping = time.perf_counter()
hodo.shutdown()
stopped = time.perf_counter() - stopping
json.dump({"joules": used, "seconds": took, "steps": steps, "stop_s": stopped, "health": state}, open(RESULT, "w"))
