"""Passes over loaders: what for, who has them, and how they are left."""

from __future__ import annotations

from typing import Any

import pytest


def test_a_pass_that_another_thread_ends_does_not_hang_the_one_around_it(trained: Any) -> None:
    run = trained("""
        import faulthandler, threading
        faulthandler.dump_traceback_later(300, exit=True)

        def validated():
            for item in loader:
                yield item

        for i, (x, y) in enumerate(loader):
            if i == 1:
                items = validated()
                with torch.no_grad():
                    for _ in items:
                        break
                helper = threading.Thread(target=lambda: list(items))
                helper.start()
                helper.join()
                del items
            step(x, y)
        faulthandler.cancel_dump_traceback_later()
        with hodo.scope("after"):
            pass
    """)
    assert run.node("epoch")["count"] == 1 and run.node("epoch", "step")["count"] == 4
    assert run.node("epoch", "step", "evaluate")["count"] == 1 and run.left_open == 0
    assert run.node("after")["count"] == 1


def test_a_pass_that_goes_on_in_later_steps(trained: Any, tree: Any) -> None:
    run = trained("""
        def validated():
            for item in loader:
                yield item

        items = validated()
        for x, y in loader:
            step(x, y)
            with torch.no_grad():
                for _ in items:
                    break
        for _ in items:
            pass
    """)
    assert run.node("epoch")["count"] == 1 and run.node("epoch", "step")["count"] == 4
    assert run.node("epoch", "step", "evaluate", "step", "data_wait")["count"] == 1
    assert run.node("epoch", "step", "data_wait")["count"] == 7 and run.left_open == 0


def test_a_pass_that_another_thread_drops_is_over_at_the_next(trained: Any) -> None:
    run = trained("""
        import threading

        def begun():
            for item in loader:
                yield item

        held = [begun()]
        for _ in held[0]:
            break
        helper = threading.Thread(target=held.clear)
        helper.start()
        helper.join()
        for x, y in loader:
            step(x, y)
    """)
    assert run.node("epoch")["count"] == 2 and run.node("epoch", "step")["count"] == 5
    assert run.left_open == 0


FROZEN = """
    net, judge = mlp(), nn.Linear(2, 2).eval()
    of_net = torch.optim.SGD(net.parameters(), lr=0.1)
    for epoch in range(3):
        net.train()
        for x, y in loader:
            of_net.zero_grad()
            judge(net(x)).sum().backward()
            of_net.step()
        net.eval()
        with torch.no_grad():
            for x, y in loader:
                judge(net(x))
"""


def test_a_loss_by_a_frozen_model_is_training(trained: Any) -> None:
    run = trained(FROZEN)
    assert run.node("epoch")["count"] == 3 and run.node("epoch", "step", "optimizer")["count"] == 12
    assert run.node("evaluate")["count"] == 3 and run.node("evaluate", "step")["count"] == 12
    assert "evaluate/step/backward" not in {"/".join(n["path"]) for n in run.report["nodes"]}


def test_the_name_of_a_programs_scope_does_not_make_it_an_evaluation(trained: Any) -> None:
    run = trained("""
        with hodo.scope("test"):
            for x, y in loader:
                step(x, y)
        with hodo.scope("validate"), torch.no_grad():
            for x, y in loader:
                loss_of(x, y)
    """)
    assert run.node("test", "epoch", "step", "optimizer")["count"] == 4
    assert run.node("validate", "step")["count"] == 4


def test_a_loader_that_cannot_be_hashed(trained: Any) -> None:
    run = trained("""
        class Same(DataLoader):
            def __eq__(self, other):
                return True

        same = Same(data, batch_size=5)
        for _ in range(2):
            for x, y in same:
                step(x, y)
        from hodo.hooks import loader as hooked
        assert len(hooked._passes) == 1
        del same
        assert not hooked._passes, "none is kept"
    """)
    assert [each["index"] for each in run.attributes("epoch")] == [0, 1]


@pytest.mark.parametrize("around", ["loader", "enumerate(loader)", "(item for item in loader)"])
def test_an_exception_in_a_step_fails_it_and_its_pass(trained: Any, around: str) -> None:
    run = trained(f"""
        def train(stop):
            for i, item in enumerate({around}):
                if i == 2:
                    raise ValueError("mine") if stop else StopAsyncIteration

        def breaks():
            for i, item in enumerate({around}):
                if i == 2:
                    break

        for stop in (True, False):
            try:
                train(stop)
            except (ValueError, StopAsyncIteration):
                pass
        breaks()
    """)
    assert run.node("epoch")["count"] == 3 and run.node("epoch")["failed"] == 2
    assert run.node("epoch", "step")["count"] == 9 and run.node("epoch", "step")["failed"] == 2


def test_generators_that_are_asked_by_hand_have_waits_and_leave_nothing_open(
    trained: Any, tree: Any
) -> None:
    run = trained("""
        def endless(items):
            while True:
                for item in items:
                    yield item

        first, second = endless(loader), endless(DataLoader(data, batch_size=10))
        for _ in range(6):
            x, y = next(first)
            next(second)
            step(x, y)
        assert hodo.current().id is None
        with hodo.scope("after"), torch.no_grad():
            for x, y in loader:
                loss_of(x, y)
    """)
    assert run.node("data_wait")["count"] == 12
    assert run.node("after", "evaluate", "step")["count"] == 4


def test_a_loop_over_what_was_asked_by_hand_before(trained: Any) -> None:
    run = trained("""
        items = iter(loader)
        next(items)
        for x, y in items:
            step(x, y)

        def delegated():
            yield from loader

        for x, y in delegated():
            step(x, y)
    """)
    assert run.node("data_wait")["count"] == 1
    assert run.node("epoch")["count"] == 2 and run.node("epoch", "step")["count"] == 7


def test_a_child_that_is_forked_in_a_forward_has_forwards(trained: Any) -> None:
    run = trained("""
        import os

        class Forks(nn.Module):
            def forward(self, x):
                child = os.fork()
                if not child:
                    model(x).sum().backward()
                    hodo.flush()
                    os._exit(0)
                os.waitpid(child, 0)
                return x

        Forks()(torch.randn(2, 4))
    """)
    assert run.node("forward", "forward")["count"] == 1
    assert run.node("forward", "backward")["count"] == 1


def test_a_second_profile_had_no_epochs_where_an_iterator_of_the_first_was_kept(
    trained: Any, tree: Any
) -> None:
    run = trained("""
        import threading

        kept = iter(loader)
        for _ in kept:
            break
        begun, ended = threading.Event(), threading.Event()

        def other():
            kept = iter(loader)
            for _ in kept:
                break
            begun.set()
            ended.wait()
            for _ in loader:
                pass
            list(kept)

        thread = threading.Thread(target=other)
        thread.start()
        begun.wait()
        hodo.shutdown()
        hodo.profile()
        for _ in range(2):
            for x, y in loader:
                step(x, y)
        ended.set()
        thread.join()
        assert len(list(kept)) == 3, "those that are left, which nobody records"
    """)
    assert run.tree == tree("""
        epoch 3
          step 12
            backward 8
            data_wait 12
            forward 8
            optimizer 8
    """)


def test_tasks_that_take_turns_ended_each_others_scopes(trained: Any, tree: Any) -> None:
    run = trained("""
        import asyncio

        async def train():
            with hodo.scope("trains"):
                for x, y in loader:
                    step(x, y)
                    await asyncio.sleep(0.002)

        async def evaluate():
            with hodo.scope("evaluates"):
                for x, y in DataLoader(data, batch_size=2):
                    with torch.no_grad():
                        model(x)
                    with hodo.scope("work"):
                        await asyncio.sleep(0.001)

        async def both():
            await asyncio.gather(train(), train(), evaluate())

        asyncio.run(both())
    """)
    assert run.tree == tree("""
        evaluates 1
          epoch 1
            step 10
              data_wait 10
              forward 10
              work 10
        trains 2
          epoch 2
            step 8
              backward 8
              data_wait 8
              forward 8
              optimizer 8
    """)


def test_inference_was_called_training(trained: Any, tree: Any) -> None:
    run = trained("""
        asked = mlp().eval()
        for _ in range(2):
            for x, _ in loader:
                with torch.no_grad():
                    asked(x)
        with hodo.scope("one"):
            for x, _ in loader:
                asked(x)
                break
    """)
    assert run.tree == tree("""
        evaluate 2
          step 8
            data_wait 8
            forward 8
        one 1
          evaluate 1
            step 1
              data_wait 1
              forward 1
    """)
    assert [each["index"] for each in run.attributes("evaluate")] == [0, 1, 2]


def test_a_teacher_in_the_mode_of_evaluation_makes_no_evaluation(trained: Any, tree: Any) -> None:
    run = trained("""
        teacher = mlp().eval()
        for i, (x, y) in enumerate(loader):
            with torch.no_grad():
                teacher(x)
            if i == 1:
                step(x, y)
        for i, (x, y) in enumerate(loader):
            loss_of(x, y).backward()
            with torch.no_grad():
                teacher(x)
            if i == 3:
                optimizer.step()
    """)
    assert run.tree == tree("""
        epoch 2
          step 8
            backward 5
            data_wait 8
            forward 13
            optimizer 2
    """)
    assert [each["index"] for each in run.attributes("epoch")] == [0, 1]


def test_a_loop_inside_that_raises_fails_the_step_and_the_epoch(trained: Any) -> None:
    run = trained("""
        class Broken(torch.utils.data.Dataset):
            def __len__(self):
                return 4

            def __getitem__(self, i):
                raise OSError("mine")

        def inside():
            for x, y in loader:
                with torch.no_grad():
                    for _ in DataLoader(Broken()):
                        pass

        def stores():
            for x, y in loader:
                step(x, y)
                (1,)[0] = 2

        for train in (inside, stores):
            with hodo.scope(train.__name__):
                try:
                    train()
                except (OSError, TypeError):
                    pass
    """)
    for name in ("inside", "stores"):
        epoch, step = run.node(name, "epoch"), run.node(name, "epoch", "step")
        assert (epoch["failed"], step["failed"], step["count"]) == (1, 1, 1), name
