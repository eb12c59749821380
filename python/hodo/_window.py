"""Windows of closer looking at the GPU."""

from __future__ import annotations

import threading

import hodo
from hodo import _hodo
from hodo._control import _log

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType

KINDS = ("pc-sampling",)
MODES = ("serialized", "continuous")


class Window:
    """A window, open from when it was made until :meth:`end`, the end of its ``with`` block or its
    time."""

    reason: str | None
    """Why nothing is sampled; None when something is."""

    def __init__(
        self, kind: str, seconds: float | None, scope: str | None, mode: str | None
    ) -> None:
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None
        self.reason = _hodo.gpu_window_begin(kind, mode or "", scope or "")
        self._open = self.reason is None
        if self.reason is not None:
            _log().warning("no %s window: %s", kind, self.reason)
        elif seconds is not None:
            self._timer = threading.Timer(seconds, self.end)
            self._timer.daemon = True
            self._timer.start()

    @property
    def is_open(self) -> bool:
        """Whether it is sampling."""
        return self._open

    def end(self) -> None:
        """Close it: wait for the GPU work in it and fetch the samples. Again does nothing."""
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
            if self._open:
                try:
                    _hodo.gpu_window_end()
                finally:
                    # Not before: who sees it closed may open another.
                    self._open = False

    def __enter__(self) -> Window:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.end()

    def __repr__(self) -> str:
        state = "open" if self._open else f"not opened: {self.reason}" if self.reason else "ended"
        return f"<hodo.Window {state}>"


def window(kind: str, seconds: float | None, scope: str | None, mode: str | None) -> Window:
    if kind not in KINDS:
        raise ValueError(f"kind is one of {', '.join(KINDS)}, not {kind!r}")
    if mode not in (None, *MODES):
        raise ValueError(f"mode is one of {', '.join(MODES)}, not {mode!r}")
    if scope is not None and (not isinstance(scope, str) or "\0" in scope):
        raise TypeError(f"scope is the name of a scope, not {scope!r}")
    is_number = isinstance(seconds, (int, float)) and not isinstance(seconds, bool)
    if seconds is not None and not (is_number and 0 < seconds <= 86_400):
        raise ValueError(f"seconds is above 0 and up to a day, not {seconds!r}")
    return Window(kind, seconds, scope, mode)


setattr(hodo, "Window", Window)
