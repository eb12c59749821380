"""What is hooked, when, and that it all goes again."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import runs


def test_it_is_put_back(trained: Any) -> None:
    run = trained("""
        from torch.utils.data import _utils

        changed = (
            (nn.Module, "__call__"), (torch.autograd, "backward"), (torch.autograd, "grad"),
            (torch.optim.Optimizer, "__init__"), (nn.Module, "zero_grad"), (torch.optim.SGD, "step"), (DataLoader, "__iter__"),
            (_utils.fetch._MapDatasetFetcher, "fetch"),
            (torch.cuda.graphs.CUDAGraph, "replay"), (torch.cuda.graphs.graph, "__enter__"),
        )
        here = [vars(owner)[name] for owner, name in changed]
        assert hodo.profile() == "on"
        torch.optim.SGD(model.parameters(), lr=0.1)
        now = [vars(owner)[name] for owner, name in changed]
        assert all(a is not b for a, b in zip(here, now))
        hodo.shutdown()
        assert [vars(owner)[name] for owner, name in changed] == here
        hodo.init()
        for x, y in loader:
            step(x, y)
        assert hodo.health()["hooks"] == {} and "HODO_HOOKS" not in __import__("os").environ
    """, profile="")
    assert run.tree == ""


def test_again_after_it_was_put_back_and_never_twice(trained: Any) -> None:
    run = trained("""
        for _ in range(3):
            hodo.profile()
            hodo.profile(frameworks=["torch"])
            schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1)
            for x, y in loader:
                step(x, y)
            hodo.shutdown()
        hodo.profile()
        for x, y in loader:
            step(x, y)
    """, profile="")
    assert run.tree.splitlines() == [
        "epoch 1", "  step 4", "    backward 4", "    data_wait 4", "    forward 4", "    optimizer 4",
    ]


def test_what_is_made_before_and_imported_after(ran: Any) -> None:
    run = ran("""
        import hodo
        import sys
        hodo.profile()
        assert "torch" not in sys.modules and hodo.health()["hooks"]["torch"] == "waiting"
        import importlib.util
        importlib.util.find_spec("torch")
        import torch
        assert hodo.health()["hooks"]["torch"] == "hooked"
        torch.nn.Linear(1, 1)(torch.zeros(1))
    """, "torch")
    assert run.tree == "forward 1"


def test_a_choice_of_frameworks(ran: Any) -> None:
    run = ran("""
        import hodo
        for wrong in ("tensorflow", ["torch", 3]):
            try:
                hodo.profile(frameworks=wrong)
            except ValueError as error:
                assert "torch, transformers" in str(error) and "app=" in str(error)
            else:
                raise AssertionError(wrong)
        assert not hodo.is_on()
        hodo.profile([])
        assert hodo.health()["hooks"] == {}
        hodo.profile(frameworks="lightning, pytorch")
        assert set(hodo.health()["hooks"]) == {"lightning", "torch"}
        for wrong in ({"layers": -1}, {"layers": True}, {"memory": 1}):
            try:
                hodo.profile(**wrong)
            except (TypeError, ValueError):
                continue
            raise AssertionError(wrong)
    """)
    assert run.tree == ""


def test_a_framework_that_is_not_as_known(ran: Any, tmp_path: Path) -> None:
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").write_text("nn = None\n")
    run = ran("""
        import sys
        sys.path.insert(0, sys.path[0])
        import hodo
        hodo.profile()
        import torch
        assert torch.nn is None
        assert hodo.health()["hooks"]["torch"].startswith("failed: "), hodo.health()["hooks"]
    """)
    assert "no hooks for torch" in run.errors


@pytest.mark.parametrize("made", ["unittest.mock.MagicMock()", "types.SimpleNamespace()"])
def test_what_a_test_puts_in_a_frameworks_place(ran: Any, made: str) -> None:
    run = ran(f"""
        import sys, types, unittest.mock
        for name in ("torch", "torch.autograd.profiler", "sklearn.base"):
            sys.modules[name] = {made}
        import hodo
        assert hodo.profile() == "on"
        assert hodo.health()["hooks"]["torch"].startswith("failed: "), hodo.health()["hooks"]
        hodo.shutdown()
        assert hodo.init() == "on"
    """)
    assert "no hooks for torch" in run.errors


def test_off_is_off(tmp_path: Path) -> None:
    code = "import hodo; hodo.profile(); assert hodo.health()['hooks'] == {}"
    runs.run(tmp_path, code, HODO="0")


PLAIN = """
import torch
from torch.utils.data import DataLoader, TensorDataset

model = torch.nn.Linear(2, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, in DataLoader(TensorDataset(torch.zeros(4, 2)), batch_size=2):
    model(x).sum().backward()
    optimizer.step()
"""


@pytest.mark.parametrize("flag", ["--hooks", "--hooks=torch,layers=1"])
def test_hodo_run_needs_no_line_at_all(tmp_path: Path, flag: str) -> None:
    pytest.importorskip("torch")
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text("print('mine too')\n")
    file = runs.written(tmp_path, PLAIN)
    env = runs.environment(tmp_path, OMP_NUM_THREADS="1")
    env["PYTHONPATH"] = f"{tmp_path / 'site'}:{env['PYTHONPATH']}"
    command = [str(runs.PROGRAM), "run", flag, "--", sys.executable, str(file)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=600, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "mine too" in done.stdout, "the one that is hidden runs"
    paths = runs.paths(tmp_path)
    assert paths[("epoch", "step", "optimizer")] == 2 and paths[("epoch", "step", "data_wait")] == 2


def test_a_python_without_frameworks_records_nothing(tmp_path: Path) -> None:
    command = [str(runs.PROGRAM), "run", "--hooks", "--", sys.executable, "-c", "print(1)"]
    env = runs.environment(tmp_path)
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=600, cwd=tmp_path)
    assert done.returncode == 0 and done.stdout == "1\n", done.stderr
    assert not list(tmp_path.rglob("*.hodo"))


def test_processes_that_are_started_anew_are_hooked(trained: Any) -> None:
    run = trained("""
        def work(n):
            nn.Linear(1, 1)(torch.zeros(1))

        if __name__ == "__main__":
            import multiprocessing
            with hodo.scope("parent"):
                child = multiprocessing.get_context("spawn").Process(target=work, args=(1,))
                child.start()
                child.join()
            assert child.exitcode == 0
    """, profile="if __name__ == '__main__': hodo.profile()")
    assert run.tree == "parent 1\n  forward 1"


def test_words_that_mean_nothing_do_not_mean_all_and_are_told_once(ran: Any) -> None:
    ran("""
        import logging, os
        told = []
        handler = logging.Handler()
        handler.emit = lambda record: told.append(record.getMessage())
        logging.getLogger("hodo").addHandler(handler)
        import hodo
        from hodo import hooks
        for words, wanted, layers in (("torhc", [], 0), ("torch,layer=2", ["torch"], 0), ("layers=2", list(hooks.FRAMEWORKS), 2)):
            os.environ["HODO_HOOKS"] = words
            for _ in range(3):
                asked = hooks.from_environment()
                assert asked is not None and asked[0] == wanted and asked[1].layers == layers, asked
        assert len(told) == 2 and "'torhc'" in told[0] and "'layer=2'" in told[1], told
        os.environ["HODO_HOOKS"] = "torhc"
        hodo.profile()
        assert not hodo.health()["hooks"], hodo.health()["hooks"]
    """)
