"""What a program asks of its old recorder and hodo does not do: accepted, counted, said once."""

from __future__ import annotations

import logging


class NotDone:
    """How often each thing that is not done was asked for."""

    def __init__(self, peer: str) -> None:
        self.counts: dict[str, int] = {}
        self._peer = peer

    def add(self, what: str, why: str) -> None:
        """Counts one request; the first of its sort is logged, with the reason."""
        asked = self.counts.get(what, 0)
        self.counts[what] = asked + 1
        if not asked:
            logging.getLogger("hodo").warning("%s %s is not done: %s", self._peer, what, why)
