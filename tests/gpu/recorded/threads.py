"""Threads with scopes of their own, and one without that works for the thread that waits for it."""

import threading

import known
import torch

THREADS = 4


def worker(scope, number):
    x = torch.empty(64, device="cuda")
    with scope(f"worker {number}"):
        for _ in range(10 + number):
            with scope("add"):
                x.add_(1)


def helper():
    x = torch.empty(64, device="cuda")
    for _ in range(7):
        x.add_(1)


def work(scope):
    threads = [threading.Thread(target=worker, args=(scope, i)) for i in range(THREADS)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    x = torch.empty(64, device="cuda")
    with scope("waits"):
        x.add_(1)
        thread = threading.Thread(target=helper)
        thread.start()
        thread.join()


expected = [f"{10 + i} worker {i}/add: kernel" for i in range(THREADS)]
known.main(work, expected=[*expected, "8 waits: kernel"])
