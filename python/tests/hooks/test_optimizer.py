"""Steps of optimizers: each a scope, and of how many backward passes."""

from __future__ import annotations

from typing import Any


def accumulated(run: Any) -> list[int | None]:
    return [each.get("accumulated") for each in run.attributes("optimizer")]


def test_gradients_that_are_handed_out_add_to_none(trained: Any) -> None:
    run = trained("""
        for _ in range(2):
            x = torch.randn(2, 4, requires_grad=True)
            loss = model(x).sum()
            (slope,) = torch.autograd.grad(loss, x, create_graph=True)
            (loss + slope.norm()).backward()
            optimizer.step()
    """)
    assert accumulated(run) == [None, None]


def test_gradients_that_are_cleared_are_not_counted(trained: Any) -> None:
    run = trained("""
        x, y = torch.randn(2, 4), torch.tensor([0, 1])
        loss_of(x, y).backward()
        optimizer.zero_grad()
        loss_of(x, y).backward()
        optimizer.step()
        loss_of(x, y).backward()
        loss_of(x, y).backward()
        optimizer.step()
    """)
    assert accumulated(run) == [None, 2]


def test_nothing_is_said_where_it_is_not_known_whose_gradients(trained: Any) -> None:
    run = trained("""
        other = mlp()
        of_other = torch.optim.Adam(other.parameters())
        x, y = torch.randn(2, 4), torch.tensor([0, 1])
        loss_of(x, y).backward()
        loss_of(x, y, other).backward()
        optimizer.step()
        of_other.step()
        del of_other
        import gc
        gc.collect()
        loss_of(x, y).backward()
        loss_of(x, y).backward()
        optimizer.step()
    """)
    assert accumulated(run) == [None, None, 2]


LBFGS = """
    del optimizer
    import gc
    gc.collect()
    searches = torch.optim.LBFGS(model.parameters(), max_iter=3)
    x, y = torch.randn(2, 4), torch.tensor([0, 1])

    def closure():
        searches.zero_grad()
        loss = loss_of(x, y)
        loss.backward()
        return loss

    for _ in range(2):
        searches.step(closure)
"""


def test_a_closure_that_clears_gradients_is_of_one_pass_each_time(trained: Any) -> None:
    assert accumulated(trained(LBFGS)) == [None, None]


def test_a_closure_that_is_not_called(trained: Any, tree: Any) -> None:
    run = trained("""
        class Lazy(torch.optim.SGD):
            def step(self, closure=None):
                return super().step()

        lazy = Lazy(model.parameters(), lr=0.1)
        x, y = torch.randn(2, 4), torch.tensor([0, 1])
        for _ in range(3):
            loss = loss_of(x, y)
            loss.backward()
            lazy.step(lambda: loss)
    """)
    assert run.tree == tree("""
        backward 3
        forward 3
        optimizer 3
    """)


def test_a_closure_that_fails(trained: Any, tree: Any) -> None:
    run = trained("""
        def fails():
            raise ValueError("mine")

        for _ in range(2):
            try:
                optimizer.step(fails)
            except ValueError:
                pass
        loss_of(torch.randn(2, 4), torch.tensor([0, 1])).backward()
        optimizer.step()
    """)
    assert run.node("optimizer")["count"] == 1 and run.node("optimizer")["failed"] == 0


def test_a_model_that_a_step_takes_was_replaced_by_a_function(trained: Any) -> None:
    run = trained("""
        class Evolves(torch.optim.Optimizer):
            def __init__(self, params):
                super().__init__(params, {})

            @torch.no_grad()
            def step(self, model, score=None):
                assert isinstance(model, nn.Module), type(model)
                assert score is None or score is sum
                for p in model.parameters():
                    p.add_(0.01)

        class HandsOn(Evolves):
            def step(self, *args, **kwargs):
                return super().step(*args, **kwargs)

        class Second(torch.optim.SGD):
            def step(self, factor, closure=None):
                return super().step(closure)

        for kind in (Evolves, HandsOn):
            kind(model.parameters()).step(model)
            kind(model.parameters()).step(model=model)
            kind(model.parameters()).step(model, sum)
        x, y = torch.randn(2, 4), torch.tensor([0, 1])
        with hodo.scope("second"):
            Second(model.parameters(), lr=0.1).step(len, lambda: loss_of(x, y))
    """)
    assert run.node("optimizer")["count"] == 6
    # The closure comes before the step.
    assert run.node("second", "forward")["count"] == run.node("second", "optimizer")["count"] == 1


def test_a_step_that_is_no_plain_function_could_not_be_called_from_below(trained: Any) -> None:
    run = trained("""
        import functools

        def given(self, name, closure=None):
            return name

        class Static(torch.optim.SGD):
            step = staticmethod(lambda: "Static")

        class Class(torch.optim.SGD):
            step = classmethod(lambda cls: "Class")

        class Partial(torch.optim.SGD):
            step = functools.partialmethod(given, "Partial")

        class Property(torch.optim.SGD):
            step = property(lambda self: lambda: "Property")

        for above in (Static, Class, Partial, Property):
            class Own(above):
                def step(self, closure=None):
                    return super().step()

            assert Own(model.parameters(), lr=0.1).step() == above.__name__
    """)
    assert run.tree == "optimizer 4"


def test_a_closure_that_is_an_object_was_replaced_by_a_function(trained: Any, tree: Any) -> None:
    run = trained("""
        import functools

        class Loss:
            def __call__(self):
                return loss_of(*data[:2])

            def value(self):
                return 1.0

        class Part(functools.partial):
            value = Loss.value

        class Searches(torch.optim.SGD):
            def step(self, closure=None):
                closure.value()
                loss = closure()
                super().step()
                return loss

        for closure in (Loss(), Part(Loss())):
            Searches(model.parameters(), lr=0.1).step(closure)
            Searches(model.parameters(), lr=0.1).step(closure=closure)
        with hodo.scope("before"):
            optimizer.step(functools.partial(loss_of, *data[:2]))
            optimizer.step(Loss().__call__)
    """)
    assert run.tree == tree("""
        before 1
          forward 2
          optimizer 2
        optimizer 4
          forward 4
    """)


def test_gradients_that_a_module_cleared_were_counted(trained: Any) -> None:
    run = trained("""
        x, y = torch.randn(2, 4), torch.tensor([0, 1])
        other = mlp()

        def passes(*clears):
            for clear in clears:
                clear.zero_grad() if clear is not None else None
                loss_of(x, y).backward()
            optimizer.step()

        passes(None, model)
        passes(None, other)
        passes(None, None, model, None)
        # A part of what the optimizer has is not all of it.
        passes(None, model[0])
        loss_of(x, y).backward()
        model[0].zero_grad()
        model[2].zero_grad()
        passes(None)
        # By a closure, which clears them too.
        loss_of(x, y).backward()

        def closure():
            model.zero_grad()
            loss = loss_of(x, y)
            loss.backward()
            return loss

        optimizer.step(closure)
        loss_of(x, y).backward()
        model.zero_grad()
        optimizer.step(lambda: loss_of(x, y).backward())
        passes(model, None, None)
    """)
    assert accumulated(run) == [None, 2, 2, 2, None, None, None, 3]


def test_a_module_that_clears_gradients_when_the_optimizer_is_older_than_the_hooks(trained: Any) -> None:
    run = trained("""
        hodo.profile()
        x, y = torch.randn(2, 4), torch.tensor([0, 1])
        for _ in range(2):
            loss_of(x, y).backward()
            model.zero_grad()
        loss_of(x, y).backward()
        optimizer.step()
    """, profile="")
    assert accumulated(run) == [None]


def test_a_step_that_is_mixed_in_is_an_optimizers_only_there(trained: Any, tree: Any) -> None:
    run = trained("""
        class Steps:
            def step(self, *args):
                return super().step(*args) if isinstance(self, torch.optim.Optimizer) else "mine"

        class Opt(Steps, torch.optim.SGD):
            pass

        class Schedule(Steps):
            pass

        mixed = Opt(model.parameters(), lr=0.1)
        del optimizer
        x, y = torch.randn(2, 4), torch.tensor([0, 1])
        for _ in range(2):
            loss_of(x, y).backward()
            assert Schedule().step() == "mine"
        mixed.step()
        hodo.shutdown()
        assert "__wrapped__" not in vars(Steps.step)
    """, tail="")
    assert run.node("optimizer")["count"] == 1 and accumulated(run) == [2]
