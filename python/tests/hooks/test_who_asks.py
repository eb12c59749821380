"""What a loop does with its iterator, as far as its code tells; without a framework."""

from __future__ import annotations

import collections
import functools
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hodo.hooks import _asked


class Items:
    """Notes how it is asked for each item, and how it is dropped."""

    def __init__(self, seen: list[Any]) -> None:
        self.seen = seen
        self.codes: tuple[_asked.Place, ...] = ()

    def __iter__(self) -> Items:
        return self

    def __next__(self) -> int:
        self.codes = _asked.loops(sys._getframe(1))
        self.seen.append(bool(self.codes))
        if len(self.seen) > 3:
            raise StopIteration
        return len(self.seen)

    def __del__(self) -> None:
        left = _asked.is_left_by_exception(sys._getframe().f_back, self.codes)
        self.seen.append("failed" if left else "left")


def generated(items: Any) -> Iterator[int]:
    for item in items:
        yield item


def delegated(items: Any) -> Iterator[int]:
    yield from items


def careful(items: Any) -> Iterator[int]:
    try:
        for item in items:
            yield item
    finally:
        len("done")


class Behind:
    """An iterator of a program's own around a generator."""

    def __init__(self, items: Any) -> None:
        self.items = generated(items)

    def __iter__(self) -> Behind:
        return self

    def __next__(self) -> int:
        return next(self.items)


AROUND = [iter, enumerate, generated, delegated, careful, Behind]


@pytest.mark.parametrize("around", AROUND)
def test_a_loop_asks_whatever_is_between(around: Callable[[Any], Any]) -> None:
    seen: list[Any] = []
    for _ in around(Items(seen)):
        pass
    assert seen[:4] == [True] * 4


@pytest.mark.parametrize("around", [iter, generated, delegated, careful, Behind])
def test_next_asks_by_hand(around: Callable[[Any], Any]) -> None:
    seen: list[Any] = []
    items = around(Items(seen))
    next(items)
    assert seen == [False]
    items.__next__()
    assert seen == [False, False]


def test_who_asks_until_the_end_is_as_a_loop() -> None:
    seen: list[Any] = []
    assert list(generated(Items(seen))) == [1, 2, 3] and seen[0] is True
    assert sum(item for item in Items([])) == 6


# In the loop's head: what a variable has too is dropped with that.
Made = Callable[[], Any]


def breaks(made: Made) -> None:
    for _ in made():
        break


def returns(made: Made) -> Any:
    for item in made():
        return str(item)


def ends(made: Made) -> None:
    for _ in zip(range(2), made()):
        pass


def raises(made: Made) -> None:
    for _ in made():
        raise KeyError


def calls(made: Made) -> None:
    for _ in made():
        int("none")


def cleans_up(made: Made) -> None:
    for _ in made():
        try:
            int("none")
        finally:
            len("done")


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("loop", [breaks, returns, ends])
def test_a_loop_that_is_left_has_not_failed(loop: Any, around: Callable[[Any], Any]) -> None:
    seen: list[Any] = []
    loop(lambda: around(Items(seen)))
    assert seen[-1] == "left"


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("loop", [raises, calls, cleans_up])
def test_a_loop_that_an_exception_leaves(loop: Any, around: Callable[[Any], Any]) -> None:
    seen: list[Any] = []
    with pytest.raises((KeyError, ValueError)):
        loop(lambda: around(Items(seen)))
    assert seen[-1] == "failed"


def test_one_that_was_kept_and_is_dropped_elsewhere_has_not_failed() -> None:
    seen: list[Any] = []

    def keeps() -> None:
        items = Items(seen)
        for _ in items:
            break

    keeps()
    assert seen[-1] == "left"


def test_a_partial_of_next_counted_as_a_loop() -> None:
    seen: list[Any] = []
    items = generated(Items(seen))
    asks = functools.partial(next, items)
    asks()
    again = items.__next__
    assert [again(), again()] == [2, 3]
    assert seen == [False, False, False]


def test_calls_that_ask_until_the_end_are_as_loops() -> None:
    seen: list[Any] = []
    for ask in (
        lambda items: collections.deque(items, maxlen=0),
        lambda items: sorted(
            items,
            reverse=True,
        ),
        lambda items: [*items],
        lambda items: max(0, *items),
        lambda items: ",".join(map(str, items)),
    ):
        seen.append([])
        ask(generated(Items(seen[-1])))
    assert [each[:4] for each in seen] == [[True] * 4] * 5


def raising() -> Iterator[int]:
    yield 1
    raise KeyError


def raises_in_a_loop(made: Made) -> None:
    for _ in made():
        for _ in raising():
            pass


def raises_in_a_loop_in_a_comprehension(made: Made) -> None:
    for _ in made():
        [item for item in raising()]


def stores_an_item(made: Made) -> None:
    for _ in made():
        (1,)[0] = 2  # type: ignore[index]


def stores_an_attribute(made: Made) -> None:
    for _ in made():
        (1).real = 2  # type: ignore[misc]


def deletes_an_item(made: Made) -> None:
    for _ in made():
        del {}["missing"]


RAISING = [
    raises_in_a_loop,
    raises_in_a_loop_in_a_comprehension,
    stores_an_item,
    stores_an_attribute,
    deletes_an_item,
]


@pytest.mark.parametrize("around", [iter, generated, delegated])
@pytest.mark.parametrize("leaves", RAISING)
def test_what_may_drop_an_iterator_and_raises(leaves: Callable[[Made], Any], around: Any) -> None:
    seen: list[Any] = []
    with pytest.raises((KeyError, TypeError, AttributeError)):
        leaves(lambda: around(Items(seen)))
    assert seen == [True, "failed"]


def test_what_is_dropped_with_an_attribute_or_by_another_loop() -> None:
    class Home:
        kept: Any

    def kept_in_an_attribute(home: Home, held: dict[str, Any], items: Any) -> None:
        home.kept = held["items"] = items
        del items
        for _ in home.kept:
            break
        home.kept = None
        del held["items"]

    def ends_inside(made: Made) -> None:
        for _ in range(2):
            for _ in zip(range(1), made()):
                pass

    seen: list[Any] = []
    items = [Items(seen)]
    kept_in_an_attribute(Home(), {}, items.pop())
    assert seen == [True, "left"]
    for_each: list[list[Any]] = [[], []]
    makes = iter(for_each)
    ends_inside(lambda: Items(next(makes)))
    assert [each[-1] for each in for_each] == ["left", "left"]


def test_a_generator_that_is_closed_has_not_failed() -> None:
    def closed_behind(made: Made) -> None:
        items = made()
        for _ in items:
            break
        items.close()

    def closed_inside(made: Made) -> None:
        items = made()
        for _ in items:
            items.close()

    for closes in (closed_behind, closed_inside):
        for around in (generated, delegated, careful):
            seen: list[Any] = []
            closes(lambda: around(Items(seen)))
            assert seen == [True, "left"], (closes.__name__, around.__name__)
