import sys

import hodo

try:
    import torch
    import triton
    import triton.language as tl
except ImportError:
    sys.exit(77)
hodo.init(app="triton")


@triton.jit
def add(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, mask=at < n) + 1, mask=at < n)


x = torch.ones(4096, device="cuda")
y = torch.empty_like(x)
with hodo.scope("compile"):
    add[(16,)](x, y, 4096, BLOCK=256)
with hodo.scope("launches"):
    for _ in range(25):
        add[(16,)](x, y, 4096, BLOCK=256)
torch.cuda.synchronize()
