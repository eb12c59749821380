"""GPU time of scopes by CUDA events, where kernels are not recorded.

An event at each end of a scope, on its stream; read when both are over, never waited for. What is
between them counts, also where the GPU idles: so the value says by which method it was made.
"""

from __future__ import annotations

import atexit
import json
import threading
import time
from collections import deque
from typing import Any

from hodo import _control, _hodo
from hodo.hooks import Undo

MARK = "gpu_events_ns"
# Pairs that wait to be over; the oldest go when the GPU is further behind than this.
MOST_PENDING = 4096
# How often the state of the recorder is looked at, in scopes.
LOOK_EVERY = 256
# As long as the recorder itself waits for GPU work when the program ends.
LAST_WAIT_S = 0.2


class _Event:
    """One of torch's, with the device that it is for."""

    __slots__ = ("device", "event")

    def __init__(self, event: Any, device: int) -> None:
        self.event, self.device = event, device

    def ns_until(self, other: _Event) -> int:
        """The time between two that are over."""
        return round(float(self.event.elapsed_time(other.event)) * 1e6)


class Events:
    """Pairs of events that are not over, and those to use again."""

    def __init__(self, torch: Any, undo: Undo) -> None:
        self._cuda = torch.cuda
        version = getattr(torch, "version", None)
        self._can_run = version is None or bool(version.cuda or version.hip)
        """Whether this torch was built for a GPU."""
        self._pending: deque[tuple[_Event, _Event, Any]] = deque()
        # By device: torch refuses to record one on another than its first.
        self._spare: dict[int, list[_Event]] = {}
        self._are_wanted = False
        self._has_failed = False
        self.left = 0
        """Scopes that are still taken as the last look at the recorder has it."""
        self.captures = 0
        """CUDA graphs that are being captured: no event may be looked at meanwhile."""
        self.lost = 0
        """Pairs that were given up, for the GPU was too far behind, or a scope ended on another device."""
        self._reading = threading.Lock()
        undo.later(self.finish)
        atexit.register(self.finish)
        undo.later(lambda: atexit.unregister(self.finish))

    def are_wanted(self) -> bool:
        """Whether scopes are timed by events: CUDA runs, and its kernels are not recorded."""
        if self.left > 0:
            self.left -= 1
        elif self._cuda.is_initialized():
            self._are_wanted = _is_blind()
            self.left = LOOK_EVERY
        elif not self._can_run:
            self.left = LOOK_EVERY
        # Else every scope may be the first that uses CUDA.
        return self._are_wanted

    def begin(self) -> _Event | None:
        """An event on the current stream; None where there can be none."""
        try:
            return self._record() if self._are_wanted and not self._is_capturing() else None
        except Exception as error:
            self._give_up(error)
            return None

    def end(self, began: _Event, link: Any) -> None:
        """The other event, and what became of earlier pairs."""
        try:
            ended = None if self._is_capturing() else self._record()
        except Exception as error:
            self._give_up(error)
            return
        if ended is None:
            self.give_back(began)
            return
        if ended.device != began.device:
            self.give_back(began, ended)
            self.lost += 1
            return
        self._pending.append((began, ended, link))
        if len(self._pending) > MOST_PENDING:
            self.give_back(*self._pending.popleft()[:2])
            self.lost += 1
        self.read()

    def give_back(self, *events: _Event) -> None:
        """Events that are used again, by whoever records on their device."""
        for event in events:
            self._spare.setdefault(event.device, []).append(event)

    def read(self) -> None:
        """Marks the scopes whose events are over."""
        if self.captures or not self._reading.acquire(blocking=False):
            return
        try:
            while self._pending and self._pending[0][1].event.query():
                began, ended, link = self._pending.popleft()
                with _hodo.attach(link):
                    _hodo.mark(MARK, began.ns_until(ended), "summary")
                self.give_back(began, ended)
        except Exception as error:
            self._give_up(error, more=0)
        finally:
            self._reading.release()

    def finish(self) -> None:
        """Reads what is over, or soon is."""
        until = time.monotonic() + LAST_WAIT_S
        while self._pending:
            self.read()
            if time.monotonic() > until:
                self.lost += len(self._pending)
                self._pending.clear()
            elif self._pending:
                time.sleep(0.001)

    def _is_capturing(self) -> bool:
        return self.captures > 0 or bool(self._cuda.is_current_stream_capturing())

    def _record(self) -> _Event:
        device = int(self._cuda.current_device())
        try:
            event = self._spare.get(device, []).pop()
        except IndexError:
            event = _Event(self._cuda.Event(enable_timing=True), device)
        event.event.record()
        return event

    def _give_up(self, error: Exception, more: int = 1) -> None:
        """CUDA refuses, as after an error that the program hears of by itself: what waits is lost."""
        self.lost += len(self._pending) + more
        self._pending.clear()
        self._are_wanted, self.left = False, LOOK_EVERY
        if not self._has_failed:
            self._has_failed = True
            _control._log().warning("no GPU time by events: %r", error)


def _is_blind() -> bool:
    """Whether GPU work is wanted and not recorded."""
    told = json.loads(_hodo.gpu_state() or '{"state": "off"}')
    return told["state"] in ("unavailable", "yielded") or told.get("level") == "monitor"
