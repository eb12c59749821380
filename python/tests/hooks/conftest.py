"""Programs of frameworks, run as they are, and the tree that the hooks made of them."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from helpers import WELL, Run, record


# One thread: the models are tiny, and other tests run meanwhile.
ENVIRONMENT = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}

HEAD = """
import hodo
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

{profile}
torch.manual_seed(0)
data = TensorDataset(torch.randn(20, 4), torch.randint(0, 2, (20,)))
loader = DataLoader(data, batch_size=5)


def mlp():
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))


model = mlp()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def loss_of(x, y, of=model):
    return nn.functional.cross_entropy(of(x), y)


def step(x, y):
    optimizer.zero_grad()
    loss_of(x, y).backward()
    optimizer.step()
"""
TAIL = WELL + """
assert hodo.current().id is None, "a scope is still open"
"""


@pytest.fixture
def trained(tmp_path: Path) -> Callable[..., Run]:
    """Runs a program of torch's, after what most of them begin with."""
    pytest.importorskip("torch")

    def run(code: str, profile: str = "hodo.profile()", tail: str = TAIL, **env: str) -> Run:
        whole = HEAD.format(profile=profile) + textwrap.dedent(code) + tail
        return record(tmp_path, whole, **{**ENVIRONMENT, **env})

    return run


@pytest.fixture
def ran(tmp_path: Path) -> Callable[..., Run]:
    """Runs a program as it is."""

    def run(code: str, *needs: str, **env: str) -> Run:
        for each in needs:
            if find_spec(each) is None:
                pytest.skip(f"{each} is not installed")
        return record(tmp_path, code, **{**ENVIRONMENT, **env})

    return run


@pytest.fixture
def tree() -> Callable[[str], str]:
    """A tree as a test writes it."""
    return lambda text: textwrap.dedent(text).strip()


def torch_version() -> tuple[int, ...]:
    """The version that is installed."""
    import torch

    return tuple(int(part) for part in torch.__version__.split(".")[:2])


@pytest.fixture
def torch2() -> Any:
    """Only where torch compiles."""
    pytest.importorskip("torch")
    if torch_version() < (2, 5):
        pytest.skip("this torch does not compile, or knows no substitutes")
