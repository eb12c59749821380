"""Programs that hooks must not get in the way of: forks, killed workers, hooks that raise, other tools, copies."""

from __future__ import annotations

from typing import Any

import pytest

WORKERS = """
import os, signal

class Set(torch.utils.data.Dataset):
    def __init__(self, kills=False):
        self.kills = kills

    def __len__(self):
        return 8

    def __getitem__(self, i):
        if self.kills and i == 4:
            os.kill(os.getpid(), signal.SIGKILL)
        with hodo.scope("read"):
            return torch.zeros(4)

def told_of_ends():
    "One that is noticed by its end is told of by its signal too, which raises wherever the program is then."
    import multiprocessing, time
    try:
        while multiprocessing.active_children():
            time.sleep(0.01)
    except RuntimeError:
        pass
"""


@pytest.mark.parametrize("start", ["fork", "spawn", "forkserver"])
def test_workers_however_they_are_started(trained: Any, tree: Any, start: str) -> None:
    run = trained(WORKERS + f"""
if __name__ == "__main__":
    how = dict(batch_size=2, num_workers=2, multiprocessing_context={start!r})
    for _ in DataLoader(Set(), **how):
        pass
    stays = DataLoader(Set(), persistent_workers=True, **how)
    for epoch in range(2):
        for _ in stays:
            pass
    del stays
""", "if __name__ == '__main__': hodo.profile()")
    assert run.tree == tree("""
        epoch 3
          step 12
            data_wait 12
        loader 3
          fetch 12
            read 24
    """)
    assert run.left_open == 0


@pytest.mark.parametrize("stays", [False, True])
def test_a_worker_that_is_killed(trained: Any, stays: bool) -> None:
    run = trained(WORKERS + f"""
if __name__ == "__main__":
    kills = DataLoader(Set(kills=True), batch_size=2, num_workers=1, persistent_workers={stays})
    for _ in range(2):
        try:
            for _ in kills:
                pass
        except (RuntimeError, OSError, EOFError):
            # Noticed by its signal, by its end, or because it does not answer.
            told_of_ends()
            kills._iterator = None
        else:
            raise AssertionError("it was not killed")
    for _ in DataLoader(Set(), batch_size=2, num_workers=1):
        pass
""")
    epochs = run.node("epoch")
    assert (epochs["count"], epochs["failed"], epochs["open"]) == (3, 2, 0)
    assert run.left_open == run.node("loader", "fetch")["open"] == 2, "what they were killed in"
    # What a worker had read until it was killed is there.
    assert run.node("loader", "fetch", "read")["count"] >= 8 + 2


@pytest.mark.parametrize("profile", ["", "hodo.profile()"])
@pytest.mark.parametrize("workers", [0, 1])
def test_a_pass_that_failed_is_let_go_at_once(trained: Any, workers: int, profile: str) -> None:
    """As without hooks: kept until the collector of garbage comes, its workers would live on, and a death of
    one be told in another pass."""
    trained(WORKERS + f"""
import gc, weakref

class Fails(Set):
    def __getitem__(self, i):
        if i == 4 and not self.kills:
            raise ValueError("on purpose")
        return super().__getitem__(i)

class Noted(DataLoader):
    def _get_iterator(self):
        items = super()._get_iterator()
        self.noted = weakref.ref(items)
        return items

if __name__ == "__main__":
    gc.disable()
    for _ in range(3):
        fails = Noted(Fails(kills={workers > 0}), batch_size=2, num_workers={workers})
        try:
            for _ in fails:
                pass
        except (ValueError, RuntimeError, OSError, EOFError):
            told_of_ends()
        else:
            raise AssertionError("it did not fail")
        assert fails.noted() is None
""", profile)


def test_a_handler_of_signals_that_raises_anywhere(trained: Any) -> None:
    run = trained("""
        import random, signal, time

        class Now(Exception):
            pass

        def raises(*_):
            raise Now

        def rings_in(seconds):
            signal.setitimer(signal.ITIMER_REAL, seconds)

        def passes():
            global given
            given = 0
            for _ in loader:
                given += 1

        def took():
            began = time.perf_counter()
            passes()
            return time.perf_counter() - began

        # The shortest: one that something else came between would have most alarms ring after the pass.
        one = min(took() for _ in range(21))
        signal.signal(signal.SIGALRM, raises)
        random.seed(7)
        raised = inside = 0
        # Until so many, not for so many passes: a fast machine would be through with most of them before.
        while raised < 300 or inside < 150:
            try:
                try:
                    rings_in(random.uniform(1e-6, one))
                    passes()
                finally:
                    rings_in(0)
            except Now:
                raised += 1
                inside += 0 < given < len(loader)
            assert hodo.current().id is None
    """)
    assert run.node("epoch")["failed"] > 100
    assert run.left_open == 0


def test_hooks_of_the_programs_that_raise(trained: Any, tree: Any) -> None:
    run = trained("""
        def raises(*args, **kwargs):
            raise RuntimeError("on purpose")

        ways = [
            lambda: model.register_forward_pre_hook(raises),
            lambda: model.register_forward_hook(raises),
            lambda: model[0].register_forward_hook(raises),
            lambda: model.register_full_backward_hook(raises),
            lambda: model[0].weight.register_hook(raises),
        ]
        if hasattr(optimizer, "register_step_pre_hook"):
            ways.append(lambda: optimizer.register_step_pre_hook(raises))
        x, y = torch.randn(2, 4), torch.tensor([0, 1])
        for way in ways:
            handle = way()
            try:
                step(x, y)
            except RuntimeError as error:
                assert "on purpose" in str(error), error
            else:
                raise AssertionError(way)
            handle.remove()
            with hodo.scope("after"):
                step(x, y)
        try:
            optimizer.step(raises)
        except RuntimeError:
            pass
        with hodo.scope("after"):
            step(x, y)
        print(len(ways) + 1)
    """)
    times = int(run.output)
    assert run.tree.split("\nbackward")[0] == tree(f"""
        after {times}
          backward {times}
          forward {times}
          optimizer {times}
    """)


def test_a_fork_in_the_middle_of_a_step_and_of_a_module(trained: Any) -> None:
    run = trained("""
        import os

        def child():
            with hodo.scope("child"):
                step(x, y)
            hodo.flush()

        def forked():
            pid = os.fork()
            if pid == 0:
                try:
                    child()
                    os._exit(0)
                except BaseException:
                    os._exit(1)
            assert os.waitpid(pid, 0)[1] == 0

        class Forks(nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = mlp()

            def forward(self, x):
                forked()
                return self.inner(x)

        for i, (x, y) in enumerate(loader):
            if i == 1:
                forked()
            step(x, y)
        loss_of(x, y, Forks()).backward()
    """)
    assert run.node("epoch", "step", "forward")["count"] == 4
    assert run.node("epoch", "step", "child", "optimizer")["count"] == 1
    assert run.node("forward", "child", "optimizer")["count"] == 1
    assert run.node("forward")["count"] == 1


def test_copies_and_pickles_are_as_ever(trained: Any, tree: Any) -> None:
    run = trained("""
        import copy, io, pickle

        schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1)
        x, y = torch.randn(2, 4), torch.tensor([0, 1])
        step(x, y)
        schedule.step()
        for again in (copy.deepcopy, lambda what: pickle.loads(pickle.dumps(what))):
            other, its, of_data = again((model, optimizer, loader))
            again(schedule)
            with hodo.scope("again"):
                for a, b in of_data:
                    its.zero_grad()
                    loss_of(a, b, other).backward()
                    its.step()
        torch.save(model, io.BytesIO())
        # A loader's iterator says what it says without hooks.
        for what in (copy.copy, pickle.dumps):
            try:
                what(iter(loader))
            except NotImplementedError as error:
                assert "cannot be pickled" in str(error)
            else:
                raise AssertionError("copied")
    """)
    assert run.tree.split("\nbackward")[0] == tree("""
        again 2
          epoch 2
            step 8
              backward 8
              data_wait 8
              forward 8
              optimizer 8
    """)


OTHER = """
import functools

counts = dict.fromkeys(("module", "backward", "optimizer"), 0)
PLACES = ((nn.Module, "__call__", "module"), (torch.autograd, "backward", "backward"), (torch.optim.SGD, "step", "optimizer"))

def counted(run, kind):
    @functools.wraps(run)
    def count(*args, **kwargs):
        counts[kind] += 1
        return run(*args, **kwargs)
    return count

def tool():
    before = [getattr(owner, name) for owner, name, _ in PLACES]
    for (owner, name, kind), run in zip(PLACES, before):
        setattr(owner, name, counted(run, kind))
    def off():
        for (owner, name, _), run in zip(PLACES, before):
            setattr(owner, name, run)
    return off

def told():
    said = list(counts.values())
    counts.update(dict.fromkeys(counts, 0))
    return said

x, y = torch.randn(2, 4), torch.tensor([0, 1])
"""


def test_another_tool_that_comes_later_and_goes_later(trained: Any, tree: Any) -> None:
    run = trained(OTHER + """
hodo.profile()
for _ in range(30):
    step(x, y)
off = tool()
step(x, y)
assert told() == [4, 1, 1], "it sees every call, as without hooks"
hodo.shutdown()
step(x, y)
assert told() == [4, 1, 1]
off()
hodo.profile()
with hodo.scope("again"):
    step(x, y)
assert told() == [0, 0, 0]
""", profile="")
    assert run.tree == tree("""
        again 1
          backward 1
          forward 1
          optimizer 1
    """)


def test_another_tool_that_was_there_before_and_goes_before(trained: Any, tree: Any) -> None:
    run = trained(OTHER + """
before = [getattr(owner, name) for owner, name, _ in PLACES]
off = tool()
hodo.profile()
step(x, y)
assert told() == [4, 1, 1]
off()
step(x, y)
hodo.shutdown()
assert [getattr(owner, name) for owner, name, _ in PLACES] == before, "what it put back stays"
hodo.shutdown()
hodo.profile()
with hodo.scope("again"):
    step(x, y)
""", profile="")
    assert run.tree == tree("""
        again 1
          backward 1
          forward 1
          optimizer 1
    """)


def test_scripted_traced_and_frozen_modules(trained: Any) -> None:
    run = trained("""
        import warnings
        warnings.simplefilter("ignore")
        example = torch.randn(2, 4)
        for _ in range(20):
            model(example)
        plain = model(example)
        for made in (torch.jit.script(model), torch.jit.trace(model, example)):
            assert torch.equal(made(example), plain)
            made(example).sum().backward()
        frozen = torch.jit.freeze(torch.jit.script(mlp().eval()))
        with hodo.scope("frozen"):
            frozen(example), frozen(example)
            # It has no mode: so a pass after it is no training.
            for _ in loader:
                pass
    """)
    assert run.node("frozen", "forward")["count"] == 2
    assert run.node("frozen", "evaluate")["count"] == 1


def test_scripted_functions_call_what_is_wrapped(trained: Any) -> None:
    code = """
        from torch.autograd import grad

        def slope(x: torch.Tensor):
            return torch.autograd.grad([(x * x).sum()], [x])

        def early(x: torch.Tensor):
            return grad([(x * x).sum()], [x])

        def told():
            for function in (slope, early):
                got = torch.jit.script(function)(torch.ones(2, requires_grad=True))
                assert got[0].tolist() == [2.0, 2.0]
                torch.jit._state._clear_class_state()
                torch.jit._recursive.concrete_type_store.type_store.clear()

        told()
        hodo.shutdown()
        told()
        hodo.profile()
        told()
    """
    trained(code)


def test_a_traced_graph_is_the_same_after_many_steps(trained: Any) -> None:
    trained("""
        import torch.fx

        def graph():
            return [node.op for node in torch.fx.symbolic_trace(model).graph.nodes]

        first = graph()
        assert first.count("call_module") == 3
        for x, y in DataLoader(data, batch_size=1):
            step(x, y)
        assert graph() == first
    """)


def test_futures_of_torch_end_their_requests(trained: Any) -> None:
    run = trained("""
        @hodo.inference
        def asks(future):
            return future

        good, bad = torch.futures.Future(), torch.futures.Future()
        asks(good), asks(bad)
        good.set_result({"usage": {"prompt_tokens": 3, "completion_tokens": 4}})
        bad.set_exception(ValueError("on purpose"))
        good.wait()
    """)
    assert (run.node("request")["count"], run.node("request")["failed"]) == (2, 1)
    assert run.marks("request")["output_tokens"]["count"] == 1
    assert "closed_early" not in run.marks("request")


def test_an_exception_as_a_module_was_noted_took_later_modules_away(trained: Any, tree: Any) -> None:
    run = trained("""
        import sys

        class Now(Exception):
            pass

        def raises(frame, event, called):
            # As a handler of signals does, right after a call.
            at = getattr(called, "__name__", ""), frame.f_code.co_name
            if event == "c_return" and at == ("append", "_forward"):
                sys.setprofile(None)
                raise Now

        x, y = torch.randn(2, 4), torch.tensor([0, 1])
        sys.setprofile(raises)
        try:
            model(x)
        except Now:
            pass
        else:
            raise AssertionError("not raised")
        with hodo.scope("after"):
            step(x, y)
    """)
    assert run.node("after", "forward")["count"] == 1
