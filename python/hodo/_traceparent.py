"""The W3C header ``traceparent``: which trace a request is of, and who called.

A trace that starts here has the id of its first scope. The caller's half of the header is the last
16 of the 32 digits of the calling scope's id.
"""

from __future__ import annotations

import os
import re
from typing import Any, NamedTuple

from hodo import _hodo

_VERSION = "00"
_SAMPLED = "01"
_HEADER = re.compile(
    r"(?P<version>[0-9a-f]{2})-(?P<trace>[0-9a-f]{32})-(?P<caller>[0-9a-f]{16})-(?P<flags>[0-9a-f]{2})"
    r"(?P<more>-.*)?"
)


class Trace(NamedTuple):
    """A trace, and who in it called; None where it starts here."""

    id: str
    caller: str | None
    flags: str

    @classmethod
    def starting_at(cls, scope: str | None) -> Trace:
        """A trace that starts with the scope of this id."""
        return cls(scope or os.urandom(16).hex(), None, _SAMPLED)

    @classmethod
    def read(cls, header: Any) -> Trace | None:
        """What a header says; None for none, and for one that is not as the standard has it."""
        if isinstance(header, (bytes, bytearray)):
            header = bytes(header).decode("latin-1")
        if not isinstance(header, str):
            return None
        found = _HEADER.fullmatch(header.strip())
        if (
            found is None
            or found["version"] == "ff"
            or (found["more"] and found["version"] == _VERSION)
        ):
            return None
        if not int(found["trace"], 16) or not int(found["caller"], 16):
            return None
        return cls(found["trace"], found["caller"], found["flags"])

    def passed_on(self, scope: str) -> str:
        """The header for what the scope of this id calls; the caller's wish to sample goes along."""
        return f"{_VERSION}-{self.id}-{scope[16:]}-{self.flags}"


def environment() -> Trace | None:
    """The trace that this process was started in, by ``TRACEPARENT``."""
    return Trace.read(os.environ.get("TRACEPARENT"))


def of_process(scope: str) -> Trace:
    """The trace of what a process calls outside of requests: the one it was started in, or its own."""
    return environment() or Trace.starting_at(scope[:16] * 2)


def header(trace: Trace | None) -> str | None:
    """The header for what the current scope calls; None outside all scopes."""
    scope = _hodo.current().id
    if scope is None:
        return None
    return (trace or of_process(scope)).passed_on(scope)
