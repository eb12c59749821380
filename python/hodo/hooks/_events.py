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

from hodo import _hodo
from hodo.hooks import Undo

MARK = "gpu_events_ns"
# Pairs that wait to be over; the oldest go when the GPU is further behind than this.
MOST_PENDING = 4096
# How often the state of the recorder is looked at, in scopes.
LOOK_EVERY = 256
# As long as the recorder itself waits for GPU work when the program ends.
LAST_WAIT_S = 0.2


class Events:
    """Pairs of events that are not over, and those to use again."""

    def __init__(self, torch: Any, undo: Undo) -> None:
        self._cuda = torch.cuda
        version = getattr(torch, "version", None)
        self._can_run = version is None or bool(version.cuda or version.hip)
        """Whether this torch was built for a GPU."""
        self._pending: deque[tuple[Any, Any, Any]] = deque()
        self._spare: list[Any] = []
        self._are_wanted = False
        self.left = 0
        """Scopes that are still taken as the last look at the recorder has it."""
        self.captures = 0
        """CUDA graphs that are being captured: no event may be looked at meanwhile."""
        self.lost = 0
        """Pairs that were given up."""
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

    def begin(self) -> Any:
        """An event on the current stream; None where there can be none."""
        if not self._are_wanted or self._is_capturing():
            return None
        return self._record()

    def end(self, began: Any, link: Any) -> None:
        """The other event, and what became of earlier pairs."""
        if self._is_capturing():
            self._spare.append(began)
            return
        self._pending.append((began, self._record(), link))
        if len(self._pending) > MOST_PENDING:
            self._spare.extend(self._pending.popleft()[:2])
            self.lost += 1
        self.read()

    def read(self) -> None:
        """Marks the scopes whose events are over."""
        if self.captures or not self._reading.acquire(blocking=False):
            return
        try:
            while self._pending and self._pending[0][1].query():
                began, ended, link = self._pending.popleft()
                with _hodo.attach(link):
                    _hodo.mark(MARK, round(began.elapsed_time(ended) * 1e6), "summary")
                self._spare += (began, ended)
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

    def _record(self) -> Any:
        event = self._spare.pop() if self._spare else self._cuda.Event(enable_timing=True)
        event.record()
        return event


def _is_blind() -> bool:
    """Whether GPU work is wanted and not recorded."""
    told = json.loads(_hodo.gpu_state() or '{"state": "off"}')
    return told["state"] in ("unavailable", "yielded") or told.get("level") == "monitor"
