"""Trains under hodo or under torch.profiler: train.py mlp|gpt hodo|torch RESULT.json"""

import contextlib
import json
import sys
import threading
import time

import model as models
import torch

WORK, TOOL, RESULT = sys.argv[1:4]
STEPS = {"mlp": 100, "gpt": 10}[WORK]
REGIONS = ("forward", "loss", "backward", "optimizer")
model, forward, loss, optimizer = getattr(models, WORK)()


def step(scope):
    with scope("step"):
        with scope("forward"):
            out = forward()
        with scope("loss"):
            value = loss(out)
        with scope("backward"):
            value.backward()
        with scope("optimizer"):
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)


for _ in range(3):
    step(lambda name: contextlib.nullcontext())
torch.cuda.synchronize()

if TOOL == "hodo":
    import hodo

    hodo.init(app=WORK)
    stop = threading.Event()

    def load():
        while not stop.is_set():
            with hodo.scope("load"):
                time.sleep(0.0005)

    loaders = [threading.Thread(target=load) for _ in range(4)]
    [loader.start() for loader in loaders]
    for _ in range(STEPS):
        step(hodo.scope)
    torch.cuda.synchronize()
    stop.set()
    [loader.join() for loader in loaders]
    began = time.perf_counter()
    hodo.shutdown()
    json.dump({"stop_s": time.perf_counter() - began}, open(RESULT, "w"))
    sys.exit()

from torch.profiler import ProfilerActivity, profile, record_function

with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
    for _ in range(STEPS):
        step(record_function)
    torch.cuda.synchronize()
profiler.export_chrome_trace(RESULT + ".trace")
events = json.load(open(RESULT + ".trace"))["traceEvents"]
# Regions by the time of the launch: those on the launching thread and, as backward blocks its
# caller, those that autograd's thread made meanwhile.
windows = [e for e in events if e.get("cat") == "user_annotation" and e["name"] in REGIONS]
calls = {
    e["args"]["correlation"]: e["ts"]
    for e in events
    if e.get("cat") in ("cuda_runtime", "cuda_driver") and "correlation" in e.get("args", {})
}
spans = sorted((w["ts"], w["ts"] + w["dur"], w["name"]) for w in windows)
regions = {name: [0, 0.0] for name in REGIONS}
total, total_us = 0, 0.0
import bisect

starts = [start for start, _, _ in spans]
for event in events:
    if event.get("cat") != "kernel":
        continue
    total += 1
    total_us += event["dur"]
    at = calls[event["args"]["correlation"]]
    place = bisect.bisect_right(starts, at) - 1
    if place >= 0 and at <= spans[place][1]:
        regions[spans[place][2]][0] += 1
        regions[spans[place][2]][1] += event["dur"]
told = {name: (count, us * 1000) for name, (count, us) in regions.items()}
json.dump({"regions": told, "total": total, "total_ns": total_us * 1000}, open(RESULT, "w"))
