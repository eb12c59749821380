"""A CUDA graph that is captured in one scope and replayed in another."""

import known
import torch

x = torch.ones(64, device="cuda")


def warm_up(scope):
    for _ in range(3):
        x.add_(1)


def work(scope):
    graph = torch.cuda.CUDAGraph()
    with scope("capture"), torch.cuda.graph(graph):
        with scope("layer"):
            for _ in range(6):
                x.add_(1)
    with scope("replay"):
        for _ in range(20):
            graph.replay()
    with scope("after"):
        x.add_(1)
    torch.cuda.synchronize()


known.main(work, warm_up=warm_up, captured="capture/layer")
