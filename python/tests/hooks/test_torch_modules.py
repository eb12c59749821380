"""Calls of torch's modules, of every kind and from everywhere: the program has what it has without hooks."""

from __future__ import annotations

from typing import Any


def test_a_model_in_training_mode_that_only_infers(trained: Any) -> None:
    run = trained("""
        import threading

        x = torch.randn(2, 4)

        def infer(of):
            with torch.no_grad():
                for _ in range(40):
                    of(x)

        infer(mlp())
        for _ in range(20):
            step(x, torch.zeros(2, dtype=torch.long))
        thread = threading.Thread(target=infer, args=(model,))
        thread.start()
        thread.join()
    """)
    assert run.tree.splitlines() == ["backward 20", "forward 100", "optimizer 20"]


def test_scripted_traced_frozen_and_loaded_modules(trained: Any) -> None:
    run = trained("""
        import io

        x = torch.randn(2, 4)
        scripted, traced = torch.jit.script(mlp()), torch.jit.trace(mlp(), x)
        frozen = torch.jit.freeze(torch.jit.script(mlp().eval()))
        file = io.BytesIO()
        torch.jit.save(scripted, file)
        file.seek(0)
        for of in (scripted, traced, frozen, torch.jit.load(file)):
            for _ in range(30):
                of(x)
    """)
    # Tracing calls it once more, and so does checking what was traced.
    assert len(run.attributes("forward")) >= 120
    assert {each["tag"] for each in run.attributes("forward")} == {"Sequential"}


def test_what_others_do_with_calls_of_modules_is_not_passed_by(trained: Any) -> None:
    run = trained("""
        import torch.fx

        def graph():
            return [(node.op, str(node.target)) for node in torch.fx.symbolic_trace(mlp()).graph.nodes]

        before = graph()
        for _ in range(40):
            step(torch.randn(2, 4), torch.zeros(2, dtype=torch.long))
        assert graph() == before, (graph(), before)

        called, call = [], nn.Module.__call__

        def counted(self, *args, **kwargs):
            called.append(type(self).__name__)
            return call(self, *args, **kwargs)

        nn.Module.__call__ = counted
        model(torch.randn(2, 4))
        print(called)
    """)
    assert run.output == "['Sequential', 'Linear', 'ReLU', 'Linear']\n"


def test_a_module_that_is_called_late_has_its_scope(trained: Any) -> None:
    run = trained("""
        for _ in range(40):
            step(torch.randn(2, 4), torch.zeros(2, dtype=torch.long))
        nn.Linear(4, 4)(torch.randn(2, 4))
        nn.ReLU()(torch.randn(2, 4))
    """)
    assert len(run.attributes("forward")) == 42
    assert [each["tag"] for each in run.attributes("forward")][-2:] == ["Linear", "ReLU"]


def test_compiled_modules_go_by_their_own_classes(trained: Any, torch2: Any) -> None:
    run = trained("""
        first = torch.compile(nn.Linear(4, 4), backend="eager")
        second = torch.compile(nn.ReLU(), backend="eager")
        for _ in range(20):
            first(torch.randn(2, 4))
            second(torch.randn(2, 4))
    """)
    assert [each["tag"] for each in run.attributes("forward")] == ["Linear", "ReLU"] * 20


def test_a_module_that_is_not_made_takes_no_scope_from_others(trained: Any) -> None:
    run = trained("""
        class Forgets(nn.Module):
            def __init__(self):
                self.size = 4

            def forward(self, x):
                return x

        try:
            Forgets()(torch.zeros(1))
            raise SystemExit("not raised")
        except AttributeError:
            pass
        for _ in range(3):
            model(torch.zeros(1, 4))
    """)
    assert sum(each.get("tag") == "Sequential" for each in run.attributes("forward")) == 3


def test_a_loss_of_the_programs_own_is_not_what_is_trained(trained: Any, tree: Any) -> None:
    run = trained("""
        class Focal(nn.Module):
            def forward(self, x, y):
                return nn.functional.cross_entropy(x, y) ** 2

        focal = Focal()
        for epoch in range(2):
            model.train()
            for x, y in loader:
                optimizer.zero_grad()
                focal(model(x), y).backward()
                optimizer.step()
            model.eval()
            for x, y in loader:
                focal(model(x), y).item()
    """)
    assert run.node("epoch")["count"] == 2 and run.node("evaluate")["count"] == 2
    assert run.node("epoch", "step", "forward")["count"] == 16


def test_classes_of_modules_and_optimizers_were_kept_alive(trained: Any) -> None:
    run = trained("""
        import gc, weakref

        def one():
            class Net(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.inner = nn.Linear(4, 2)

                def forward(self, x):
                    return self.inner(x)

            class Own(torch.optim.SGD):
                def step(self, closure=None):
                    return super().step(closure)

            class Rows(DataLoader):
                def __iter__(self):
                    return super().__iter__()

            net = Net()
            own = Own(net.parameters(), lr=0.1)
            for _ in range(3):
                for x, y in Rows(data, batch_size=10):
                    own.zero_grad()
                    loss_of(x, y, net).backward()
                    own.step()
            return [weakref.ref(kind) for kind in (Net, Own, Rows)]

        known = [one() for _ in range(3)]
        gc.collect()
        print([each() for refs in known for each in refs if each() is not None])
    """)
    assert run.output == "[]\n"
    assert run.node("epoch", "step", "optimizer")["count"] == 18


def test_backward_on_a_thread_of_another_kind_had_no_scope(trained: Any) -> None:
    run = trained("""
        import _thread, threading, time
        done = threading.Event()

        def train():
            with hodo.scope("there"):
                for x, y in loader:
                    step(x, y)
            done.set()

        threads = _thread._count()
        _thread.start_new_thread(train, ())
        assert done.wait(300)
        # Torch ends a program that ends while such a thread drops its tensors.
        while _thread._count() > threads:
            time.sleep(0.01)
    """)
    at = ("there", "epoch", "step")
    assert [run.node(*at, name)["count"] for name in ("forward", "backward", "optimizer")] == [4, 4, 4]


def test_the_arguments_of_backward_can_be_asked_for(trained: Any) -> None:
    trained("""
        import inspect
        for name in ("backward", "grad"):
            hooked = getattr(torch.autograd, name)
            assert inspect.getfullargspec(hooked) == inspect.getfullargspec(hooked.__wrapped__)
    """)


def test_models_with_parameters_of_their_own_could_not_be_called(trained: Any, tree: Any) -> None:
    run = trained("""
        class Own(nn.Module):
            def __init__(self):
                super().__init__()
                self.inside = nn.Linear(4, 2)

            def forward(self, x):
                return self.inside(x)

        class Listed(Own):
            def parameters(self):
                return list(self.inside.parameters())

        class Asking(Own):
            def parameters(self, which):
                return getattr(self, which).parameters()

        for own, given in ((Listed(), ()), (Asking(), ("inside",))):
            optimizer = torch.optim.SGD(own.parameters(*given), lr=0.1)
            for x, y in loader:
                loss_of(x, y, own).backward()
                optimizer.step()
            own.eval()
            for x, y in loader:
                own(x)
    """)
    assert run.tree == tree("""
        epoch 2
          step 8
            backward 8
            data_wait 8
            forward 8
            optimizer 8
        evaluate 2
          step 8
            data_wait 8
            forward 8
    """)


def test_what_a_module_raises_when_it_is_asked_failed_its_call(trained: Any, tree: Any) -> None:
    run = trained("""
        class Mode:
            def __bool__(self):
                raise ValueError("mine")

        class Own(nn.Module):
            def __init__(self):
                super().__init__()
                self.inside = nn.Linear(4, 2)

            def forward(self, x):
                return self.inside(x)

            def __getattr__(self, name):
                try:
                    return super().__getattr__(name)
                except AttributeError:
                    raise KeyError(name)

            def named_modules(self):
                raise ValueError("mine")

        own = Own()
        for _ in range(2):
            own(torch.randn(2, 4))
        own.training = Mode()
        for _ in range(2):
            own(torch.randn(2, 4)).sum().backward()
    """, "hodo.profile(layers=1)")
    assert run.tree == tree("""
        backward 2
        forward 4
          Linear 4
    """)


def test_layers_that_are_no_part_of_their_model_are_looked_for_once(trained: Any) -> None:
    run = trained("""
        class Loose(nn.Module):
            def __init__(self):
                super().__init__()
                self.inner, self.loose = nn.Linear(4, 4), [nn.ReLU(), nn.Tanh()]

            def forward(self, x):
                x = self.inner(x)
                for each in self.loose:
                    x = each(x)
                return x

            def named_modules(self, *args, **kwargs):
                asked.append(1)
                return super().named_modules(*args, **kwargs)

        asked, loose = [], Loose()
        loose(torch.randn(2, 4))
        first = len(asked)
        for _ in range(9):
            loose(torch.randn(2, 4))
        assert len(asked) == first, (asked, first)
    """, "hodo.profile(layers=1)")
    for name in ("inner", "ReLU", "Tanh"):
        assert run.node("forward", name)["count"] == 10, run.tree


def test_layers_that_were_asked_for_inside_of_a_model_failed_its_call(trained: Any) -> None:
    run = trained("""
        calls = []

        def asks(*_):
            calls.append(1)
            if len(calls) == 3:
                hodo.profile(layers=1)

        model.register_forward_pre_hook(asks)
        for _ in range(4):
            model(torch.randn(2, 4))
    """)
    assert run.node("forward")["count"] == 4
    assert run.node("forward", "Linear.0")["count"] >= 1, run.tree


def test_a_thread_of_another_kind_is_its_own_while_others_pass_back(trained: Any, torch2: Any) -> None:
    run = trained("""
        import _thread, threading, time
        inside, done = threading.Event(), threading.Event()

        class Waits(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x.clone()

            @staticmethod
            def backward(ctx, grad):
                inside.set()
                assert done.wait(300)
                return grad

        def train():
            assert inside.wait(300)
            with hodo.scope("there"):
                for x, y in loader:
                    step(x, y)
            done.set()

        threads = _thread._count()
        _thread.start_new_thread(train, ())
        with hodo.scope("here"):
            Waits.apply(mlp()(torch.ones(1, 4))).sum().backward()
        while _thread._count() > threads:
            time.sleep(0.01)
    """)
    at = ("there", "epoch", "step")
    assert [run.node(*at, name)["count"] for name in ("forward", "backward", "optimizer")] == [4, 4, 4]
    assert run.node("here", "backward")["count"] == 1
