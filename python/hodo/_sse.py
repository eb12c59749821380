"""Server-sent events: parts of a stream that are text on its way to a browser or a client."""

from __future__ import annotations

import json
from typing import Any

_STARTS = ("data:", "event:", "id:", "retry:", ":")
# What is longer, as an image is, is not looked into.
_MOST_READ = 65_536
_END = "[DONE]"


def events(part: Any) -> list[Any]:
    """What a part of a stream says: itself; of server-sent events their data, decoded where they are JSON."""
    text = _text(part)
    if text is None:
        return [part]
    lines = (line for line in text.splitlines() if line.startswith("data:"))
    data = (line[5:].strip() for line in lines)
    return [_decoded(one) for one in data if one and one != _END]


def _text(part: Any) -> str | None:
    """A part that is a whole event, or several; None for what is something else."""
    if not isinstance(part, (str, bytes)) or len(part) > _MOST_READ:
        return None
    text = part.decode(errors="replace") if isinstance(part, bytes) else part
    if not text.startswith(_STARTS):
        return None
    # A word of an answer may begin so too, but does not end with an empty line or hold JSON.
    is_whole = text.endswith(("\n\n", "\r\r", "\r\n\r\n"))
    is_line = text.startswith("data:") and text[5:].lstrip().startswith(("{", _END))
    return text if is_whole or is_line else None


def _decoded(data: str) -> Any:
    try:
        return json.loads(data)
    except ValueError:
        return data
