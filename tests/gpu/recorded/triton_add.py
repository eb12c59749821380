"""A Triton kernel, launched by the driver's API; hodo is there before CUDA."""

import known
import torch
import triton
import triton.language as tl


@triton.jit
def add(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, mask=at < n) + 1, mask=at < n)


def work(scope):
    x = torch.empty(4096, device="cuda")
    y = torch.empty_like(x)
    with scope("compile"):
        add[(16,)](x, y, 4096, BLOCK=256)
    with scope("launches"):
        for _ in range(50):
            add[(16,)](x, y, 4096, BLOCK=256)


known.main(work, expected=["1 compile: kernel", "50 launches: kernel"])
