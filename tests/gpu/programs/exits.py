"""Ends with kernels in the queue: exits.py exit|term|kill"""

import os
import signal
import sys
import time

import torch

import hodo

hodo.init(app="exits")
x = torch.ones(1 << 22, device="cuda")
torch.cuda.synchronize()
with hodo.scope("launches"):
    for i in range(2999):
        x.mul_(1.0001)
    if sys.argv[1] != "exit":
        time.sleep(0.03)
        os.kill(os.getpid(), {"term": signal.SIGTERM, "kill": signal.SIGKILL}[sys.argv[1]])
        time.sleep(10)
sys.exit(3)
