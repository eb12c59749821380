"""GPU time by events and bytes by scope, with a stand-in for CUDA: the real one is checked on a GPU."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from hodo.hooks import Undo, _events
from hodo.hooks._spans import Memory


class Event:
    """An event that is over when the test says so."""

    clock = 0.0
    made = 0

    def __init__(self, enable_timing: bool) -> None:
        assert enable_timing
        Event.made += 1
        self.is_over = False

    def record(self) -> None:
        # Torch's own rule.
        device = getattr(self, "device", Cuda.device)
        if device != Cuda.device:
            raise RuntimeError(f"Event device {device} does not match recording stream's device")
        self.device = device
        Event.clock += 1.0
        self.at, self.is_over = Event.clock, False

    def query(self) -> bool:
        return self.is_over

    def elapsed_time(self, other: Event) -> float:
        return other.at - self.at


class Recorder(SimpleNamespace):
    """Stands for the native module, and keeps what is marked on what."""

    def __init__(self, state: str) -> None:
        super().__init__(state=state, marks=[], on=None)

    def gpu_state(self) -> str:
        return '{"level": "auto", "state": "%s"}' % self.state

    def attach(self, link: Any) -> Any:
        self.on = link
        return self

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        pass

    def mark(self, name: str, value: Any, kind: str) -> None:
        self.marks.append((self.on, name, value, kind))


class Cuda(SimpleNamespace):
    Event = Event
    is_on, capturing, device = True, False, 0

    def current_device(self) -> int:
        return Cuda.device

    def is_initialized(self) -> bool:
        return self.is_on

    def is_current_stream_capturing(self) -> bool:
        return self.capturing


@pytest.fixture
def events(monkeypatch: pytest.MonkeyPatch) -> Any:
    def make(state: str = "unavailable") -> Any:
        recorder, undo = Recorder(state), Undo()
        monkeypatch.setattr(_events, "_hodo", recorder)
        made = _events.Events(SimpleNamespace(cuda=Cuda()), undo)
        return made, recorder, undo

    Event.clock = Event.made = Cuda.device = 0
    return make


@pytest.mark.parametrize("state", ["capturing", "waiting", "off"])
def test_none_where_kernels_are_recorded_or_not_wanted(events: Any, state: str) -> None:
    assert not events(state)[0].are_wanted()


def test_none_before_cuda_runs_and_then_at_once(events: Any) -> None:
    made, _, _ = events()
    made._cuda.is_on = False
    assert not made.are_wanted() and not made.are_wanted()
    made._cuda.is_on = True
    assert made.are_wanted()


def test_a_pair_is_read_when_it_is_over_and_used_again(events: Any) -> None:
    made, recorder, _ = events()
    assert made.are_wanted()
    first = made.begin()
    made.end(first, "scope 1")
    assert recorder.marks == [], "nobody waits for it"
    for each in made._pending[0][:2]:
        each.event.is_over = True
    made.end(made.begin(), "scope 2")
    assert recorder.marks == [("scope 1", "gpu_events_ns", 1_000_000, "summary")]
    for each in made._pending[0][:2]:
        each.event.is_over = True
    made.end(made.begin(), "scope 3")
    assert Event.made == 4, "as many as were under way at once"


def test_none_while_a_graph_is_captured(events: Any) -> None:
    made, recorder, _ = events()
    assert made.are_wanted()
    made._cuda.capturing = True
    assert made.begin() is None
    made._cuda.capturing = False
    began = made.begin()
    made.captures = 1
    made.end(began, "scope")
    made.read()
    assert recorder.marks == [] and not made._pending


def test_a_gpu_that_is_far_behind_loses_the_oldest(events: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(_events, "MOST_PENDING", 3)
    made, _, _ = events()
    assert made.are_wanted()
    for number in range(5):
        made.end(made.begin(), number)
    assert made.lost == 2 and [link for *_, link in made._pending] == [2, 3, 4]


def test_events_of_one_device_are_not_used_on_another(events: Any) -> None:
    made, recorder, _ = events()
    assert made.are_wanted()
    for device in (0, 1, 0, 1):
        Cuda.device = device
        made.end(made.begin(), device)
        for each in made._pending[0][:2]:
            each.event.is_over = True
        made.read()
    assert [mark[0] for mark in recorder.marks] == [0, 1, 0, 1]
    assert Event.made == 4 and made.lost == 0


def test_a_scope_that_ends_on_another_device_has_no_time(events: Any) -> None:
    made, recorder, _ = events()
    assert made.are_wanted()
    began = made.begin()
    Cuda.device = 1
    made.end(began, "scope")
    assert made.lost == 1 and not made._pending and recorder.marks == []


@pytest.mark.parametrize("method", ["record", "query"])
def test_what_cuda_refuses_is_not_raised(events: Any, monkeypatch: Any, method: str) -> None:
    def refuse(*_: object) -> None:
        raise RuntimeError("CUDA error: device-side assert triggered")

    made, recorder, undo = events()
    assert made.are_wanted()
    began = made.begin()
    monkeypatch.setattr(Event, method, refuse)
    made.end(began, "scope")
    assert made.begin() is None and made.lost == 1
    undo.undo()
    assert recorder.marks == []


def test_the_end_waits_a_little_and_no_longer(events: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(_events, "LAST_WAIT_S", 0.01)
    made, recorder, undo = events()
    assert made.are_wanted()
    for number in range(2):
        made.end(made.begin(), number)
    for each in made._pending[0][:2]:
        each.event.is_over = True
    undo.undo()
    assert [mark[0] for mark in recorder.marks] == [0] and made.lost == 1


class Allocator:
    """A CUDA allocator that the test moves."""

    def __init__(self) -> None:
        self.held = self.peak = 0

    def is_initialized(self) -> bool:
        return True

    def memory_allocated(self) -> int:
        return self.held

    def max_memory_allocated(self) -> int:
        return self.peak

    def reset_peak_memory_stats(self) -> None:
        self.peak = self.held

    def hold(self, more: int) -> None:
        self.held += more
        self.peak = max(self.peak, self.held)


def test_the_peak_of_a_scope_is_that_of_those_inside_too() -> None:
    cuda = Allocator()
    cuda.hold(1000)
    cuda.hold(-900)
    memory = Memory(cuda)
    outer = memory.begin()
    cuda.hold(50)
    inner = memory.begin()
    cuda.hold(500)
    cuda.hold(-520)
    assert memory.end(inner) == {"memory_delta_bytes": -20, "memory_peak_bytes": 650}
    after = memory.begin()
    assert memory.end(after) == {"memory_delta_bytes": 0, "memory_peak_bytes": 130}
    assert memory.end(outer) == {"memory_delta_bytes": 30, "memory_peak_bytes": 650}


def test_a_scope_that_holds_as_much_as_the_one_around_it() -> None:
    cuda = Allocator()
    cuda.hold(100)
    memory = Memory(cuda)
    outer, inner = memory.begin(), memory.begin()
    assert memory.end(inner) == {"memory_delta_bytes": 0, "memory_peak_bytes": 100}
    cuda.hold(900)
    cuda.hold(-900)
    assert memory.end(outer) == {"memory_delta_bytes": 0, "memory_peak_bytes": 1000}
    assert memory._open() == []


class Plugged(Allocator):
    """One that tells nothing from some call on, as those that programs plug in."""

    def __init__(self, tells: int) -> None:
        super().__init__()
        self.tells = tells

    def memory_allocated(self) -> int:
        self.tells -= 1
        if self.tells < 0:
            raise RuntimeError("not supported by this allocator")
        return super().memory_allocated()


@pytest.mark.parametrize("tells", [0, 1, 2])
def test_an_allocator_that_does_not_tell_raises_nowhere(tells: int) -> None:
    memory = Memory(Plugged(tells))
    outer = memory.begin()
    inner = memory.begin()
    assert (outer is not None, inner is not None) == (tells > 0, tells > 1)
    for mine in (inner, outer):
        assert mine is None or memory.end(mine) == {}
    assert memory.begin() is None and memory._open() == []


def test_no_bytes_before_cuda_is_used() -> None:
    cuda = Allocator()
    cuda.is_initialized = lambda: False  # type: ignore[method-assign]
    assert Memory(cuda).begin() is None
