"""Token counts in what model servers answer."""

from __future__ import annotations

from typing import Any

INPUT, OUTPUT, TOTAL = "input_tokens", "output_tokens", "total_tokens"

# Where a usage object has each count: chat completions, then responses and messages.
_PLACES: dict[str, tuple[tuple[str, ...], ...]] = {
    INPUT: (("prompt_tokens",), ("input_tokens",)),
    OUTPUT: (("completion_tokens",), ("output_tokens",)),
    TOTAL: (("total_tokens",),),
    "cached_tokens": (
        ("prompt_tokens_details", "cached_tokens"),
        ("input_tokens_details", "cached_tokens"),
        ("cache_read_input_tokens",),
    ),
    "reasoning_tokens": (
        ("completion_tokens_details", "reasoning_tokens"),
        ("output_tokens_details", "reasoning_tokens"),
    ),
}
# Where an event of a stream has the answer, or the part of it, that it is about.
_INNER = ("response", "message", "chunk")
# Events of responses, of messages and of chats: each kind of them that has no part of the answer says how far it is.
_EVENTS = ("response.", "message_", "content_block_", "content.", "refusal.", "tool_calls.", "logprobs.")
_TEXTS = (
    "content",
    "reasoning_content",
    "reasoning",
    "tool_calls",
    "function_call",
    "refusal",
    "audio",
)


def usage(response: Any) -> dict[str, int]:
    """The token counts of an answer, or of a part of a stream; empty where it says none."""
    if isinstance(response, (str, bytes, int, float, type(None))):
        return {}
    try:
        found = _part(response, "usage")
        for inner in _INNER:
            if found is None:
                found = _part(_part(response, inner), "usage")
        return {} if found is None else _counts(found)
    except Exception:  # a property of the program's own object may raise anything
        return {}


def _counts(found: Any) -> dict[str, int]:
    counts: dict[str, int] = {}
    for name, places in _PLACES.items():
        for place in places:
            value = found
            for key in place:
                value = _part(value, key)
            if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
                counts[name] = value
                break
    return counts


def carries_tokens(item: Any) -> bool:
    """Whether a part of a stream has anything of the answer in it.

    The first chunk of a chat only says who speaks, and the last one only what it cost. Of responses and
    messages most events only say how far it is, or say again what others said.
    """
    if isinstance(item, (str, bytes)):
        return bool(item)
    try:
        kind = _part(item, "type")
        if kind == "chunk":
            item = _part(item, "chunk")
        elif isinstance(kind, str) and kind.startswith(_EVENTS):
            return _is_delta(kind) and bool(_part(item, "delta"))
        elif isinstance(kind, str) and _part(item, "snapshot") is not None:
            # Made by the client, of an event that has come before it.
            return False
        choices = _part(item, "choices")
        if not isinstance(choices, (list, tuple)):
            return True
        return any(_has_text(choice) for choice in choices)
    except Exception:  # as above
        return True


def _is_delta(kind: str) -> bool:
    return kind == "content_block_delta" or (
        kind.startswith("response.") and kind.endswith(".delta")
    )


def _has_text(choice: Any) -> bool:
    if _part(choice, "text"):
        return True
    delta = _part(choice, "delta")
    return any(_part(delta, name) for name in _TEXTS)


def _part(whole: Any, name: str) -> Any:
    return whole.get(name) if isinstance(whole, dict) else getattr(whole, name, None)
