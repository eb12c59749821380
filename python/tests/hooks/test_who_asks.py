"""What a loop does with its iterator, as far as its code tells; without a framework."""

from __future__ import annotations

import collections
import functools
import sys
from collections.abc import Callable, Iterator
from types import CodeType
from typing import Any

import pytest
from hodo.hooks import _asked


class Items:
    """Notes how it is asked for each item, and how it is dropped."""

    def __init__(self, seen: list[Any]) -> None:
        self.seen = seen
        self.codes: tuple[CodeType, ...] = ()

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
