"""NVTX ranges as scopes, inside a scope and around one."""

import known
import torch


def work(scope):
    x = torch.empty(64, device="cuda")
    for _ in range(10):
        with torch.cuda.nvtx.range("step"):
            with scope("forward"):
                x.add_(1)
                with torch.cuda.nvtx.range("layer"):
                    x.add_(1)
                    x.add_(1)
            x.add_(1)


expected = ["10 step/forward: kernel", "20 step/forward/layer: kernel", "10 step: kernel"]
known.main(work, expected=expected)
