"""torch.compile: it sees the program as if hodo were not there."""

from __future__ import annotations

from typing import Any

import pytest

CODE = """
import sys
import torch
import hodo
from torch import nn
import torch._dynamo as dynamo

how = sys.argv[1] if len(sys.argv) > 1 else HOW
if how == "hooks":
    hodo.profile(layers=2)
elif how == "recorder":
    hodo.init()

@hodo.scope
def doubled(x):
    return x * 2

class Net(nn.Module):
    def __init__(self, breaks):
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
        self.breaks = breaks

    def forward(self, x):
        if SCOPES:
            with hodo.scope("inside", 1, k=2) as s:
                x = self.inner(x)
                s.set(a=1)
            hodo.mark("value", 1.0)
            x = doubled(x)
        else:
            x = self.inner(x) * 2
        if self.breaks:
            dynamo.graph_break()
        return self.inner(x)

for breaks in (False, True):
    dynamo.reset()
    dynamo.utils.counters.clear()
    nets = [torch.compile(Net(breaks), backend="eager") for _ in range(3)]
    optimizer = torch.optim.SGD(nets[0].parameters(), lr=0.1)
    for net in nets:
        net(torch.randn(2, 4)).sum().backward()
        optimizer.step()
    counters = dynamo.utils.counters
    told = dynamo.explain(Net(breaks))(torch.randn(2, 4))
    print(breaks, sum(counters["graph_break"].values()), dict(counters["stats"]),
          dict(counters["frames"]), told.graph_break_count, told.graph_count)
"""


def told(ran: Any, how: str, scopes: bool) -> Any:
    return ran(f"HOW, SCOPES = {how!r}, {scopes}\n" + CODE, "torch")


def test_as_many_graphs_and_breaks_as_without(ran: Any, torch2: Any) -> None:
    import runs

    plain = told(ran, "nothing", False).output
    assert plain.startswith("False 0 ") and "True 0" not in plain
    hooked = told(ran, "hooks", False)
    assert hooked.output == plain
    assert runs.paths(hooked.dir)[("forward", "compile")] >= 2


@pytest.mark.parametrize("how", ["recorder", "hooks"])
def test_scopes_in_a_compiled_function_are_nothing(ran: Any, torch2: Any, how: str) -> None:
    plain = told(ran, "nothing", False).output
    run = told(ran, how, True)
    assert run.output == plain
    assert "inside" not in run.tree and "doubled" not in run.tree


@pytest.mark.parametrize("imports", ["import hodo, torch", "import torch, hodo", "import torch._dynamo, hodo"])
def test_what_is_compiled_whole_stays_whole_without_a_recorder(ran: Any, torch2: Any, imports: str) -> None:
    code = f"""
{imports}
import torch

link = hodo.current()

def f(x, rows):
    with hodo.scope("a"), hodo.attach(link):
        if hodo.is_on():
            hodo.mark("never", 1.0)
        held = hodo.begin("b")
        for row in hodo.batches(rows):
            x = x + row
        held.end()
        return x * 2

print(torch.compile(f, fullgraph=True, backend="eager")(torch.ones(1), [1, 2]).item())
"""
    assert ran(code, "torch").output == "8.0\n"


def test_passes_that_compiling_makes_are_no_passes_of_the_program(trained: Any, torch2: Any) -> None:
    run = trained("""
        compiled = torch.compile(mlp(), backend="aot_eager")
        for x, y in loader:
            loss_of(x, y, compiled).backward()
    """)
    inside = [node["path"] for node in run.report["nodes"] if "compile" in node["path"][:-1]]
    assert not [path for path in inside if "backward" in path], inside
    assert run.node("epoch", "step", "backward")["count"] == 4
