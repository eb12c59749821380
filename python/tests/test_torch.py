"""What hodo and torch agree on, with a stand-in for torch: the real one is checked on a GPU."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from hodo import _imports, _torch

PROFILER = """
class profile:
    use_device = "cuda"
    enabled = True

    def __init__(self, fail=False):
        self.fail = fail

    def _prepare_trace(self):
        calls.append("prepare")
        if self.fail:
            raise RuntimeError("no")

    def __enter__(self):
        self._prepare_trace()
        return self

    def __exit__(self, *_):
        calls.append("stop")


calls = []
"""


class Recorder(SimpleNamespace):
    """Stands for the native module, and keeps what was asked of it."""

    def __init__(self) -> None:
        super().__init__(calls=[], forward=0)

    def is_on(self) -> bool:
        return True

    def gpu_give_way(self, why: str) -> None:
        self.calls.append("give way")

    def gpu_resume(self) -> None:
        self.calls.append("resume")

    def gpu_watch_forward(self, on: bool) -> bool:
        return True

    def gpu_forward_of(self, number: int) -> int:
        return {1: 10, 2: 20}.get(number, 0)

    def gpu_forward(self, scope: int, *_: object) -> None:
        self.calls.append(scope)

    def gpu_swap_forward(self, scope: int) -> int:
        before, self.forward = self.forward, scope
        return before


@pytest.fixture
def recorder(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> Iterator[Recorder]:
    """A folder on the path with a package `torch`, not imported yet."""
    for name in [name for name in sys.modules if name.split(".")[0] == "torch"]:
        monkeypatch.delitem(sys.modules, name)
    others = [finder for finder in sys.meta_path if not isinstance(finder, _imports.Watch)]
    monkeypatch.setattr(sys, "meta_path", others)
    package = tmp_path / "torch"
    (package / "autograd").mkdir(parents=True)
    (package / "__init__.py").write_text("from torch import autograd, optim\n")
    (package / "autograd" / "__init__.py").write_text(
        "from torch.autograd import profiler\n"
        "def grad(outputs):\n"
        "    return backward(outputs)\n"
        "def backward(tensors):\n"
        "    for node in tensors.order:\n"
        "        for hook in node.hooks:\n"
        "            hook(())\n"
    )
    (package / "autograd" / "profiler.py").write_text(PROFILER)
    (package / "optim.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))
    recorder = Recorder()
    monkeypatch.setattr(_torch, "_hodo", recorder)
    yield recorder
    for name in [name for name in sys.modules if name.split(".")[0] == "torch"]:
        del sys.modules[name]


def torch() -> Any:
    return importlib.import_module("torch")


@pytest.mark.parametrize("first", [True, False])
def test_the_profiler_has_cupti_while_it_runs(recorder: Recorder, first: bool) -> None:
    before = len(sys.meta_path)
    if first:
        _torch.share_cupti()
    profiler = torch().autograd.profiler
    if not first:
        _torch.share_cupti()
    assert len(sys.meta_path) == before, "whoever watched has stepped aside"
    assert isinstance(profiler, ModuleType) and profiler.__spec__ is not None
    assert profiler.__loader__ is profiler.__spec__.loader
    with profiler.profile():
        assert recorder.calls == ["give way"]
    assert recorder.calls == ["give way", "resume"]
    assert profiler.calls == ["prepare", "stop"]
    _torch.share_cupti()
    with profiler.profile():
        pass
    assert recorder.calls == ["give way", "resume"] * 2, "patched once"


def test_a_profile_of_the_cpu_alone_takes_nothing(recorder: Recorder) -> None:
    _torch.share_cupti()
    profile = torch().autograd.profiler.profile
    profile.use_device = "xpu"
    with profile():
        pass
    assert "give way" not in recorder.calls


def test_a_profiler_that_fails_to_start_gives_cupti_back(recorder: Recorder) -> None:
    _torch.share_cupti()
    profiler = torch().autograd.profiler
    with pytest.raises(RuntimeError):
        profiler.profile(fail=True).__enter__()
    assert recorder.calls == ["give way", "resume"]


class Node:
    def __init__(self, number: int, *after: Node) -> None:
        self.number = number
        self.next_functions = [(node, 0) for node in after] + [(None, 0)]
        self.hooks: list[Any] = []

    def _sequence_nr(self) -> int:
        return self.number

    def register_prehook(self, hook: Any) -> Any:
        self.hooks.append(hook)
        return SimpleNamespace(remove=lambda: self.hooks.remove(hook))


def test_backward_says_whose_gradient_it_computes(recorder: Recorder) -> None:
    _torch.by_layer()
    autograd = torch().autograd
    leaf = Node(2**64 - 1)
    first = Node(1, leaf)
    last = Node(2, first, first)
    loss = SimpleNamespace(grad_fn=last, order=[last, first, leaf])
    autograd.backward(loss)
    assert recorder.calls == [20, 10], "and the parameter's gradient belongs to what came before"
    recorder.calls.clear()
    autograd.backward(loss)
    assert recorder.calls == [20, 10], "a graph that is kept is labelled once"
    assert not last.hooks and recorder.forward == 0
