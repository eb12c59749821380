"""Requests of a serving function, with the marks that cirron-sdk gives them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from hodo import _usage
from hodo._inference import Serving
from hodo._request import Meter

# What the peer calls the counts, beside the names that both have.
_ALSO = {_usage.INPUT: "prompt_tokens", _usage.OUTPUT: "completion_tokens"}


class PeerMeter(Meter):
    """Marks a request with the peer's names too."""

    def finish(self) -> None:
        """The request has ended."""
        super().finish()
        for name, also in _ALSO.items():
            count, source = self.count(name) or (0, "")
            if source == "usage":
                self.mark(also, count, source="openai")


def decorate(
    function: Callable[..., Any], config: dict[str, Any], start: Callable[[], object]
) -> Callable[..., Any]:
    """``function`` with every call a scope ``request``; ``start`` is called before each."""
    chunk_times = bool(config.get("stream_chunk_timing", False))
    made: Any = Serving({}, chunk_times, PeerMeter, start).decorate(function)
    made._cirron_config = config
    return cast(Callable[..., Any], made)
