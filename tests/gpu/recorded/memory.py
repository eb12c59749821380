"""Copies both ways, sets, allocations and waits."""

import known
import torch

host = torch.ones(1 << 16, pin_memory=True)
device = torch.empty(1 << 16, device="cuda")


def work(scope):
    with scope("up"):
        for _ in range(8):
            device.copy_(host, non_blocking=True)
    with scope("down"):
        for _ in range(6):
            host.copy_(device, non_blocking=True)
    with scope("across"):
        for _ in range(4):
            device[: 1 << 15].copy_(device[1 << 15 :])
    with scope("zero"):
        for _ in range(5):
            device.zero_()
    with scope("allocate"):
        held = [torch.empty(64 << 20, dtype=torch.uint8, device="cuda") for _ in range(3)]
    with scope("free"):
        del held
        torch.cuda.empty_cache()
    with scope("wait"):
        torch.cuda.synchronize()
        torch.cuda.current_stream().synchronize()


known.main(work, warm_up=work, everything=True)
