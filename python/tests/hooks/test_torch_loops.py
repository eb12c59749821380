"""Training loops of torch: every epoch and step once, whatever is around and inside of them."""

from __future__ import annotations

from typing import Any

import pytest

def test_a_plain_script_has_its_tree(trained: Any, tree: Any) -> None:
    run = trained("""
        for epoch in range(3):
            model.train()
            for x, y in loader:
                step(x, y)
            model.eval()
            with torch.no_grad():
                for x, y in loader:
                    loss_of(x, y)
    """)
    assert run.tree == tree("""
        epoch 3
          step 12
            backward 12
            data_wait 12
            forward 12
            optimizer 12
        evaluate 3
          step 12
            data_wait 12
            forward 12
    """)
    assert [each["index"] for each in run.attributes("epoch")] == [0, 1, 2]
    assert [each["index"] for each in run.attributes("step")][:4] == [0, 1, 2, 3]
    assert {each.get("mode") for each in run.attributes("forward")} == {None, "eval"}


def test_a_hundred_epochs_of_the_programs_own(trained: Any, tree: Any) -> None:
    run = trained("""
        for epoch in hodo.epochs(range(100)):
            for x, y in hodo.batches(loader):
                step(x, y)
        print(hodo.health()["depth_dropped"])
    """)
    assert run.tree == tree("""
        epoch 100
          batch 400
            backward 400
            data_wait 400
            forward 400
            optimizer 400
    """)
    assert run.output == "0\n"


def test_epochs_of_the_program_and_steps_of_the_hooks(trained: Any, tree: Any) -> None:
    run = trained("""
        for epoch in hodo.epochs(range(2)):
            for x, y in loader:
                step(x, y)
    """)
    assert run.tree.splitlines()[:2] == ["epoch 2", "  step 8"]


def test_an_exception_in_forward_is_of_its_step_alone(trained: Any, tree: Any) -> None:
    run = trained("""
        calls = 0

        class Fails(nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = mlp()

            def forward(self, x):
                global calls
                calls += 1
                if calls == 51:
                    raise RuntimeError("at step 50")
                return self.inner(x)

        model = Fails()
        data = TensorDataset(torch.randn(100, 4), torch.randint(0, 2, (100,)))
        for x, y in DataLoader(data, batch_size=1):
            try:
                loss_of(x, y, model).backward()
            except RuntimeError:
                continue
            optimizer.step()
    """)
    assert run.tree == tree("""
        epoch 1
          step 100
            backward 99
            data_wait 100
            forward 100
            optimizer 99
    """)
    assert run.node("epoch", "step", "forward")["failed"] == 1
    assert run.node("epoch", "step")["failed"] == 0


def test_an_exception_that_ends_the_loop_closes_it(trained: Any, tree: Any) -> None:
    run = trained("""
        def train():
            for x, y in loader:
                step(x, y)
                raise KeyError("stop")

        for _ in range(2):
            with hodo.scope("fit"):
                try:
                    train()
                except KeyError:
                    pass
    """)
    assert run.tree.splitlines()[:3] == ["fit 2", "  epoch 2", "    step 2"]
    assert run.left_open == 0


def test_a_users_scope_around_the_loop(trained: Any, tree: Any) -> None:
    run = trained("""
        with hodo.scope("train"):
            for x, y in loader:
                with hodo.scope("mine"):
                    step(x, y)
                break
        with hodo.scope("after"):
            pass
    """)
    assert run.tree == tree("""
        after 1
        train 1
          epoch 1
            step 1
              data_wait 1
              mine 1
                backward 1
                forward 1
                optimizer 1
    """)


def test_two_models_and_two_optimizers(trained: Any, tree: Any) -> None:
    run = trained("""
        class Generator(nn.Sequential): pass
        class Critic(nn.Sequential): pass
        g, c = Generator(nn.Linear(4, 4)), Critic(nn.Linear(4, 1))
        of_g, of_c = torch.optim.Adam(g.parameters()), torch.optim.SGD(c.parameters(), lr=0.1)
        for x, y in loader:
            of_c.zero_grad()
            (c(g(x).detach()).mean() - c(x).mean()).backward()
            of_c.step()
            of_g.zero_grad()
            (-c(g(x)).mean()).backward()
            of_g.step()
    """)
    assert run.tree == tree("""
        epoch 1
          step 4
            backward 8
            data_wait 4
            forward 20
            optimizer 8
    """)
    forwards = [each["tag"] for each in run.attributes("forward")]
    assert (forwards.count("Generator"), forwards.count("Critic")) == (8, 12)
    assert [each["tag"] for each in run.attributes("optimizer")][:2] == ["SGD", "Adam"]


def test_nested_modules_are_one_forward(trained: Any, tree: Any) -> None:
    code = "model(torch.randn(2, 4)); nn.CrossEntropyLoss()(torch.randn(2, 2), torch.tensor([0, 1]))"
    assert trained(code).tree == "forward 1\nloss 1"


def test_layers_on_request(trained: Any, tree: Any) -> None:
    code = """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.layers = nn.ModuleList([mlp() for _ in range(2)])
                self.head = nn.Linear(2, 2)

            def forward(self, x):
                return self.head(self.layers[1](x) + self.layers[0](x))

        Net()(torch.randn(2, 4))
    """
    assert trained(code, "hodo.profile(layers=1)").tree == tree("""
        forward 1
          head 1
          layers.0 1
          layers.1 1
    """)
    deep = trained(code, "hodo.profile(layers=9)").tree
    assert "    Linear.0 1\n" in deep and deep.count("Linear.2") == 2


def test_gradients_that_add_up(trained: Any) -> None:
    run = trained("""
        for i, (x, y) in enumerate(loader):
            loss_of(x, y).backward()
            if i % 2:
                optimizer.step()
    """)
    assert [each.get("accumulated") for each in run.attributes("optimizer")] == [2, 2]


def test_every_way_into_the_backward_pass(trained: Any, tree: Any) -> None:
    run = trained("""
        x = torch.ones(2, requires_grad=True)
        (x * x).sum().backward()
        torch.autograd.backward((x * x).sum())
        torch.autograd.grad((x * x).sum(), x)
    """)
    assert run.tree == "backward 3"
    assert [each.get("tag") for each in run.attributes("backward")] == [None, None, "grad"]


def test_what_is_computed_anew_is_inside_backward(trained: Any, tree: Any) -> None:
    run = trained("""
        from torch.utils.checkpoint import checkpoint

        class Saves(nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = mlp()

            def forward(self, x):
                return checkpoint(self.inner, x, use_reentrant=True)

        Saves()(torch.randn(2, 4, requires_grad=True)).sum().backward()
    """)
    assert run.tree == tree("""
        backward 1
          recompute 1
        forward 1
    """)


@pytest.mark.parametrize("layers", [0, 2])
def test_computing_anew_ends_when_torch_has_enough(trained: Any, layers: int) -> None:
    run = trained("""
        from torch.utils.checkpoint import checkpoint

        class Saves(nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = mlp()

            def forward(self, x):
                return checkpoint(self.inner, x, use_reentrant=False)

        for _ in range(2):
            Saves()(torch.randn(2, 4)).sum().backward()
    """, f"hodo.profile(layers={layers})")
    assert run.node("backward", "recompute")["count"] == 2
    assert all(node["failed"] == 0 for node in run.report["nodes"]), run.report["nodes"]


def test_passes_at_once_share_autograds_threads_and_keep_what_they_compute_anew(trained: Any, torch2: Any) -> None:
    # So many passes inside of each other that torch goes on with them on threads of its own, as it does on a GPU.
    run = trained("""
        import threading
        from torch.utils.checkpoint import checkpoint

        DEEP = 64
        inner = nn.Linear(4, 4)

        def saves(x, depth, meet):
            if depth == 2 and isinstance(threading.current_thread(), threading._DummyThread):
                meet()
            if depth == 0:
                return inner(x)
            return checkpoint(saves, x, depth - 1, meet, use_reentrant=True)

        def passes(name, meet=lambda: None, begin=torch.autograd.backward):
            with hodo.scope(name):
                x = torch.ones(2, 4, requires_grad=True)
                for _ in range(3):
                    begin(saves(x, DEEP, meet).sum())

        def of_values(loss):
            torch.autograd.backward({"loss": loss}.values())

        passes("alone")
        both = threading.Barrier(2)
        ways = {"one": torch.autograd.backward, "other": of_values}
        meet = lambda: both.wait(300)
        threads = [threading.Thread(target=passes, args=(name, meet, way)) for name, way in ways.items()]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not both.broken
        from hodo.hooks._passes import passes_of
        left = passes_of(torch)
        assert not left._running and not left._by_task, "none is kept"
    """)
    anew = {name: run.node(name, "backward", "recompute")["count"] for name in ("alone", "one", "other")}
    assert anew == dict.fromkeys(anew, 3 * 64), anew
    elsewhere = [node["path"] for node in run.report["nodes"] if "recompute" in node["path"][:-1]]
    assert not elsewhere, elsewhere


def test_a_closure_that_an_optimizer_calls_after_its_step(trained: Any) -> None:
    run = trained("""
        class Keeps(torch.optim.SGD):
            def step(self, closure=None):
                self.kept = closure
                super().step()

        keeps = Keeps(model.parameters(), lr=0.1)
        x, y = next(iter(loader))

        def closure():
            loss = loss_of(x, y)
            loss.backward()
            return loss

        for _ in range(3):
            keeps.step(closure)
            keeps.kept()
            step(x, y)
    """)
    assert run.node("optimizer")["count"] == 6


def test_closures_come_before_the_step(trained: Any, tree: Any) -> None:
    run = trained("""
        x, y = next(iter(loader))

        def closure():
            optimizer.zero_grad()
            loss = loss_of(x, y)
            loss.backward()
            return loss

        optimizer.step(closure)
        optimizer.step(closure=closure)
        torch.optim.LBFGS(model.parameters(), max_iter=2).step(closure)
    """)
    top = [line for line in run.tree.splitlines() if not line.startswith(" ")]
    assert top == ["backward 3", "data_wait 1", "forward 3", "optimizer 3"]


def test_a_schedule_and_a_class_of_the_programs_own(trained: Any) -> None:
    run = trained("""
        class Mine(torch.optim.SGD):
            def step(self, closure=None):
                return super().step(closure)

        mine = Mine(model.parameters(), lr=0.1)
        schedule = torch.optim.lr_scheduler.StepLR(mine, 1)
        for x, y in loader:
            loss_of(x, y).backward()
            mine.step()
            schedule.step()
    """)
    assert run.node("epoch", "step", "optimizer")["count"] == 4


def test_autocast_is_noted(trained: Any) -> None:
    run = trained("""
        model(torch.randn(2, 4))
        with torch.autocast("cpu", dtype=torch.bfloat16):
            model(torch.randn(2, 4))
    """)
    assert [each.get("autocast") for each in run.attributes("forward")] == [None, "bfloat16"]


def test_autocast_on_a_gpu_is_noted_without_a_warning(trained: Any, torch2: Any) -> None:
    run = trained("""
        import warnings
        # Where there is no GPU torch switches it off, with a warning of its own; what is asked then is the same.
        cast = torch.autocast("cuda", dtype=torch.float16, enabled=True)
        warnings.simplefilter("error")
        with cast:
            torch.set_autocast_enabled("cuda", True)
            torch.set_autocast_dtype("cuda", torch.float16)
            model(torch.randn(2, 4))
    """)
    assert [each.get("autocast") for each in run.attributes("forward")] == ["float16"]


def test_a_scaler_says_left_out_only_where_it_knows(trained: Any, torch2: Any) -> None:
    run = trained("""
        # The schedule keeps the step from before the hooks, which nobody sees.
        schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1)
        hodo.profile()
        scaler = torch.amp.GradScaler("cpu", init_scale=4.0)
        for x, y in loader:
            scaler.scale(loss_of(x, y)).backward()
            scaler.step(optimizer)
            scaler.update()
    """, profile="")
    assert [each.get("skipped") for each in run.attributes("optimizer")] == [None] * 4


def test_a_scaler_that_leaves_a_step_out(trained: Any, torch2: Any) -> None:
    run = trained("""
        scaler = torch.amp.GradScaler("cpu", init_scale=4.0)
        for i, (x, y) in enumerate(loader):
            loss = loss_of(x, y) * (float("inf") if i == 1 else 1.0)
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
    """)
    optimizers = run.attributes("optimizer")
    assert [each.get("skipped") for each in optimizers] == [None, True, None, None]
    assert all(each["scaled"] for each in optimizers)
    assert run.node("epoch", "step", "unscale")["count"] == 4


def test_a_scaler_that_is_off(trained: Any) -> None:
    run = trained("""
        scaler = torch.cuda.amp.GradScaler(enabled=False)
        for x, y in loader:
            scaler.scale(loss_of(x, y)).backward()
            scaler.step(optimizer)
            scaler.update()
    """)
    assert run.node("epoch", "step", "optimizer")["count"] == 4
    assert "scaled" not in run.attributes("optimizer")[0]
