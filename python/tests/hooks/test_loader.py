"""Loaders: the wait for data, and what their workers do."""

from __future__ import annotations

from typing import Any


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
    """)


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
