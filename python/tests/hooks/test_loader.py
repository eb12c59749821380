"""Loaders: the wait for data, and what their workers do."""

from __future__ import annotations

import textwrap
from typing import Any

import pytest

def test_workers_are_in_the_run_under_their_loader(trained: Any, tree: Any) -> None:
    run = trained("""
        class Set(torch.utils.data.Dataset):
            def __len__(self):
                return 8

            def __getitem__(self, i):
                with hodo.scope("read"):
                    return torch.zeros(4)

        if __name__ == "__main__":
            for _ in DataLoader(Set(), batch_size=2, num_workers=2):
                pass
    """)
    assert run.tree == tree("""
        epoch 1
          step 4
            data_wait 4
        loader 1
          fetch 4
            read 8
    """)
    assert run.attributes("loader") == [{"workers": 2}]


def test_workers_that_are_started_anew_are_under_their_loader(trained: Any, tree: Any) -> None:
    # The line is where the docs have it: a worker starts hodo as it imports this.
    run = trained("""
        if __name__ == "__main__":
            for _ in DataLoader(data, batch_size=5, num_workers=2, multiprocessing_context="spawn"):
                pass
            import os
            assert "HODO_PARENT" not in os.environ
    """)
    assert run.tree == tree("""
        epoch 1
          step 4
            data_wait 4
        loader 1
          fetch 4
    """)


def test_workers_that_stay(trained: Any) -> None:
    run = trained("""
        if __name__ == "__main__":
            stays = DataLoader(data, batch_size=5, num_workers=1, persistent_workers=True)
            for _ in range(2):
                for _ in stays:
                    break
            for _ in stays:
                pass
            assert hodo.current().id is None
            del stays
    """)
    assert run.node("epoch")["count"] == 3 and run.node("epoch", "step")["count"] == 6


def test_items_that_are_asked_for_by_hand_are_waited_for(trained: Any, tree: Any) -> None:
    run = trained("""
        sample = iter(loader)
        next(sample)
        list(loader)
        for x, y in loader:
            step(x, y)
    """)
    top = [line for line in run.tree.splitlines() if not line.startswith(" ")]
    assert top == ["data_wait 5", "epoch 1"]
    assert run.node("epoch", "step", "data_wait")["count"] == 4


def test_loaders_side_by_side_and_inside_each_other(trained: Any, tree: Any) -> None:
    run = trained("""
        for (x, y), (a, b) in zip(loader, DataLoader(data, batch_size=5)):
            step(x, y)
        for i, (x, y) in enumerate(loader):
            step(x, y)
            if i == 1:
                model.eval()
                for a, b in loader:
                    loss_of(a, b)
                model.train()
    """)
    assert run.node("epoch")["count"] == 2 and run.node("epoch", "step")["count"] == 8
    assert run.node("epoch", "step", "data_wait")["count"] == 12
    assert run.node("epoch", "step", "evaluate", "step")["count"] == 4


def test_enumerate_and_generators_around_a_loader(trained: Any) -> None:
    run = trained("""
        def again(items):
            while True:
                for item in items:
                    yield item

        for i, (x, y) in enumerate(again(loader)):
            step(x, y)
            if i == 9:
                break
        import gc
        gc.collect()
    """)
    assert run.node("epoch")["count"] == 3 and run.node("epoch", "step")["count"] == 10


def test_a_loader_that_fails(trained: Any) -> None:
    run = trained("""
        class Bad(torch.utils.data.Dataset):
            def __len__(self):
                return 4

            def __getitem__(self, i):
                if i == 2:
                    raise ValueError("no")
                return torch.zeros(1)

        try:
            for _ in DataLoader(Bad(), batch_size=1):
                pass
        except ValueError:
            pass
    """)
    assert run.node("epoch", "step")["count"] == 3
    assert run.node("epoch", "step", "data_wait")["failed"] == 1
    assert run.node("epoch")["failed"] == 1


def test_what_is_known_of_a_loaders_iterator_stays(trained: Any) -> None:
    trained("""
        from torch.utils.data.dataloader import _BaseDataLoaderIter

        items = iter(loader)
        assert isinstance(items, _BaseDataLoaderIter)
        assert items._num_yielded == 0 and len(items) == 4
        assert len(loader) == 4 and len(list(items)) == 4

        class Around(DataLoader):
            def __iter__(self):
                return iter(loader)

        items = iter(Around(data))
        assert isinstance(items, _BaseDataLoaderIter) and len(list(items)) == 4
    """)


def test_what_an_iterator_of_the_programs_own_does_stays(trained: Any) -> None:
    run = trained("""
        class Mine(DataLoader):
            closed = 0

            def __iter__(self):
                try:
                    for item in super().__iter__():
                        yield item
                finally:
                    self.closed += 1

        mine = Mine(data, batch_size=5)
        items = iter(mine)
        assert items, "as a generator, which has no length"
        for x, y in items:
            items.close()
            break
        assert mine.closed == 1 and list(items) == []
        assert not hasattr(iter(loader), "close")
    """)
    assert run.node("epoch")["count"] == 1 and run.node("epoch")["failed"] == 0


def test_a_pass_that_turns_out_to_train_is_an_epoch(trained: Any) -> None:
    run = trained("""
        def evaluates(model):
            model.eval()
            for x, y in loader:
                loss_of(x, y, model)

        # The mode is that of the evaluation before until the first batch is there.
        for _ in range(3):
            for x, y in loader:
                model.train()
                step(x, y)
            evaluates(model)

        # What is trained takes what another makes, which is not.
        backbone, head = mlp().eval(), nn.Linear(2, 2)
        of_head = torch.optim.SGD(head.parameters(), lr=0.1)
        backbone(torch.zeros(1, 4))
        for x, y in loader:
            of_head.zero_grad()
            nn.functional.cross_entropy(head(backbone(x)), y).backward()
            of_head.step()
    """)
    assert [each["index"] for each in run.attributes("epoch")] == [0, 1, 2, 3]
    assert [each["index"] for each in run.attributes("evaluate")] == [0, 1, 2]
    assert run.node("epoch", "step", "optimizer")["count"] == 16
    assert run.node("evaluate", "step")["count"] == 12


def test_modules_in_a_dataset_are_no_forward(trained: Any) -> None:
    run = trained("""
        class Flips(torch.utils.data.Dataset):
            flip = nn.Identity()

            def __len__(self):
                return 4

            def __getitem__(self, i):
                return self.flip(torch.zeros(1))

        for _ in DataLoader(Flips()):
            pass
    """)
    assert "forward" not in run.tree


def test_a_loader_of_the_programs_own_class(trained: Any) -> None:
    run = trained("""
        class Mine(DataLoader):
            def __iter__(self):
                for item in super().__iter__():
                    yield item

        for x, y in Mine(data, batch_size=5):
            step(x, y)
    """)
    assert run.node("epoch")["count"] == 1 and run.node("epoch", "step")["count"] == 4
    assert run.node("epoch", "step", "data_wait")["count"] == 4


def test_a_loader_whose_class_does_all_itself(trained: Any, tree: Any) -> None:
    run = trained("""
        for x, y in Before():
            step(x, y)

        class After(DataLoader):
            def __init__(self):
                self.items = list(loader.dataset)

            def __iter__(self):
                return iter([default_collate(self.items[:5]), default_collate(self.items[5:])])

        for x, y in After():
            step(x, y)

        class Rows:
            def __iter__(self):
                yield default_collate(self.items)

        class Mixed(Rows, After):
            pass

        for x, y in Mixed():
            step(x, y)
        plain = Rows.__iter__
        hodo.shutdown()
        assert "__init_subclass__" not in vars(DataLoader) and "__iter__" not in vars(Mixed)
        assert Rows.__iter__ is plain and not hasattr(After.__iter__, "_hodo")
    """, """
from torch.utils.data import default_collate

class Before(DataLoader):
    def __init__(self):
        pass

    def __iter__(self):
        for start in range(0, 20, 5):
            yield default_collate([data[i] for i in range(start, start + 5)])

hodo.profile()
""")
    assert run.tree == tree("""
        epoch 3
          step 7
            backward 7
            data_wait 7
            forward 7
            optimizer 7
    """)


def test_torchdatas_loader(trained: Any) -> None:
    pytest.importorskip("torchdata.stateful_dataloader")
    run = trained("""
        from torchdata.stateful_dataloader import StatefulDataLoader

        stateful = StatefulDataLoader(data, batch_size=5)
        for _ in range(2):
            for x, y in stateful:
                step(x, y)
                assert stateful.state_dict()["_num_yielded"]
    """)
    assert run.node("epoch")["count"] == 2 and run.node("epoch", "step", "data_wait")["count"] == 8


# A scope of theirs is open while a batch is trained on.
HOLDS = """
class Holds(torch.utils.data.IterableDataset):
    def __iter__(self):
        for i in range(12):
            with hodo.scope("read"):
                yield data[i]
"""
# Each is closed after what it was opened in, and counted.
HELD = """
health = hodo.health()
assert not any(health[k] for k in ("double_closed", "wrong_thread", "internal_errors")), health
assert hodo.current().id is None, "a scope is still open"
"""


def held(trained: Any, code: str) -> Any:
    return trained(HOLDS + textwrap.dedent(code), tail=HELD)


def test_a_scope_that_a_dataset_holds_while_it_waits(trained: Any, tree: Any) -> None:
    run = held(trained, """
        for _ in range(2):
            for x, y in DataLoader(Holds(), batch_size=3):
                step(x, y)
        for (x, y), (a, b) in zip(DataLoader(Holds(), batch_size=3), DataLoader(Holds(), batch_size=3)):
            step(x, y)
        for i, (x, y) in enumerate(DataLoader(Holds(), batch_size=3)):
            step(x, y)
            if i == 1:
                break
    """)
    assert run.left_open == 0
    assert run.tree == tree("""
        epoch 4
          step 14
            backward 14
            data_wait 18
              read 54
            forward 14
            optimizer 14
    """)


def test_a_scope_that_a_dataset_holds_while_it_is_asked_by_hand(trained: Any) -> None:
    run = held(trained, """
        items = iter(DataLoader(Holds(), batch_size=3))
        for _ in range(4):
            next(items)
        del items
    """)
    assert max(node["depth"] for node in run.report["nodes"]) == 1, run.tree


def test_a_scope_that_a_workers_dataset_holds_while_it_waits(trained: Any, tree: Any) -> None:
    run = held(trained, """
        if __name__ == "__main__":
            for _ in DataLoader(Holds(), batch_size=3, num_workers=1):
                pass
        """)
    assert run.tree == tree("""
        epoch 1
          step 4
            data_wait 4
        loader 1
          fetch 5
            read 12
    """)


def test_attributes_set_on_a_loaders_iterator_were_dropped(trained: Any) -> None:
    trained("""
        class Items:
            def __init__(self):
                self.n, self.limit = 0, 10

            def __iter__(self):
                return self

            def __next__(self):
                if self.n >= self.limit:
                    raise StopIteration
                self.n += 1
                return self.n

        class Rows(DataLoader):
            def __iter__(self):
                return Items()

        items = iter(Rows(data))
        items.limit = 2
        items._end = items._next = 5
        assert (items._end, items._next) == (5, 5)
        del items._end
        assert not hasattr(items, "_end")
        assert list(items) == [1, 2]
        resumed = iter(DataLoader(range(10)))
        resumed._sampler_iter = iter([[7], [8]])
        assert [int(each) for each in resumed] == [7, 8]
    """)


def test_special_methods_of_a_loaders_own_iterator_were_dropped(trained: Any, tree: Any) -> None:
    run = trained("""
        import operator
        from collections.abc import Container, Generator, Sized

        class Items:
            left = False

            def __init__(self, items):
                self.items = items

            def __iter__(self):
                return self

            def __next__(self):
                return next(self.items)

            def __enter__(self):
                return self

            def __exit__(self, *raised):
                self.left = True

            def __getitem__(self, key):
                return key

            def __length_hint__(self):
                return 3

            def __contains__(self, item):
                return item == 5

            def __eq__(self, other):
                return other == 3

            def __call__(self, more):
                return more

            def __repr__(self):
                return "items"

        class Rows(DataLoader):
            def __iter__(self):
                return Items(super().__iter__())

        items = iter(Rows(data, batch_size=5))
        with items as entered:
            assert entered is items
            for x, y in entered:
                step(x, y)
        assert items.left and items[1] == 1 and items(more=2) == 2 and callable(items)
        assert operator.length_hint(items) == 3 and 5 in items and 6 not in items
        assert items == 3 and items != 4 and not isinstance(items, Sized) and isinstance(items, Container)
        assert set(vars(items)) == {"items", "left"} and "left" in dir(items) and repr(items) == "items"
        try:
            hash(items)
            raise SystemExit("hashed, where what it stands for is not")
        except TypeError:
            pass
        try:
            len(items)
            raise SystemExit("counted, where what it stands for is not")
        except TypeError:
            pass

        class Generated(DataLoader):
            def __iter__(self):
                yield from super().__iter__()

        generator = iter(Generated(data))
        assert isinstance(generator, Generator) and not isinstance(generator, Sized) and not callable(generator)
        usual = iter(loader)
        assert isinstance(usual, Sized) and len(usual) == 4 and not callable(usual) and not hasattr(usual, "__enter__")
        assert usual == usual and usual in {usual} and repr(usual).startswith("<torch.")
    """)
    assert run.tree == tree("""
        epoch 1
          step 4
            backward 4
            data_wait 4
            forward 4
            optimizer 4
    """)


def test_an_iterator_of_a_class_that_cannot_be_hashed(trained: Any) -> None:
    run = trained("""
        class Kind(type):
            __hash__ = None

            def __eq__(self, other):
                return self is other

        class Items(metaclass=Kind):
            def __init__(self, items):
                self.items = items

            def __iter__(self):
                return self

            def __next__(self):
                return next(self.items)

        class Rows(DataLoader):
            def __iter__(self):
                return Items(super().__iter__())

        assert len([None for x, y in Rows(data, batch_size=5)]) == 4
    """)
    assert run.node("epoch", "step")["count"] == 4


def test_the_end_of_an_iterable_dataset_was_a_failed_fetch(trained: Any) -> None:
    run = trained("""
        class Rows(torch.utils.data.IterableDataset):
            held = False

            def __iter__(self):
                for i in range(6):
                    if self.held:
                        with hodo.scope("held"):
                            yield torch.zeros(4)
                    else:
                        yield torch.zeros(4)

        class Held(Rows):
            held = True

        class Empty(Rows):
            def __iter__(self):
                return iter(())

        class Broken(Rows):
            def __iter__(self):
                yield torch.zeros(4)
                raise OSError("mine")

        if __name__ == "__main__":
            for kind in (Rows, Held, Empty, Broken):
                with hodo.scope(kind.__name__):
                    try:
                        for _ in DataLoader(kind(), batch_size=2 if kind is not Broken else 1, num_workers=2):
                            pass
                    except OSError:
                        assert kind is Broken
    """, tail="")
    fetches = [run.node(kind, "loader", "fetch") for kind in ("Rows", "Held", "Empty")]
    # Three batches of each worker, and its look for more.
    assert fetches[0]["count"] == 8 and [each["failed"] for each in fetches] == [0, 0, 0]
    assert run.node("Broken", "loader", "fetch")["failed"] >= 1


def test_a_loader_that_is_made_anew_for_each_epoch_counts_on(trained: Any) -> None:
    run = trained("""
        other = TensorDataset(torch.randn(4, 4), torch.randint(0, 2, (4,)))
        for _ in range(3):
            model.train()
            for x, y in DataLoader(data, batch_size=4):
                step(x, y)
            model.eval()
            held = DataLoader(other, batch_size=4)
            with torch.no_grad():
                for x, y in held:
                    model(x)
        # Another one while the first is there is another loop.
        with torch.no_grad():
            for x, y in DataLoader(other, batch_size=4):
                model(x)
        import gc
        from hodo.hooks import loader as hooked
        del held, other
        gc.collect()
        assert list(hooked._left) == [id(data)] and not hooked._passes, (hooked._left, hooked._passes)
    """)
    assert [each["index"] for each in run.attributes("epoch")] == [0, 1, 2]
    assert [each["index"] for each in run.attributes("evaluate")] == [0, 1, 2, 0]


def test_a_second_recording_counts_its_passes_anew(trained: Any) -> None:
    run = trained("""
        from hodo.hooks import loader as hooked

        other = TensorDataset(torch.randn(8, 4), torch.randint(0, 2, (8,)))

        def train():
            for x, y in DataLoader(other, batch_size=4):
                step(x, y)
            for x, y in loader:
                step(x, y)

        train()
        hodo.shutdown()
        assert not hooked._left and not hooked._passes, (hooked._left, hooked._passes)
        hodo.profile()
        train()
        train()
    """)
    assert [each["index"] for each in run.attributes("epoch")] == [0, 0, 1, 1]
