"""transformers: ``generate`` as a scope, with the tokens it took and gave.

Counting reads a sum of the answer, once, when ``generate`` has returned: it has waited for the GPU
after each token, so nothing more is waited for.
"""

from __future__ import annotations

import functools
import sys
import time
from contextvars import ContextVar
from typing import Any

from hodo import _control, _hodo, _usage
from hodo._request import around
from hodo.hooks import Settings, Undo

# A model that guesses ahead for another is inside of that one's call.
_is_inside: ContextVar[bool] = ContextVar("hodo.generate", default=False)


def install(undo: Undo, settings: Settings) -> None:
    """Counts the tokens of every outermost call of ``generate``."""
    mixin = sys.modules["transformers.generation.utils"].GenerationMixin
    generate = mixin.generate

    @functools.wraps(generate)
    def counted(self: Any, *args: Any, **kwargs: Any) -> Any:
        if undo.done or not _hodo.is_on() or _is_inside.get():
            return generate(self, *args, **kwargs)
        token = _is_inside.set(True)
        try:
            with _hodo.scope("generate") as scope:
                start_ns = time.perf_counter_ns()
                result = generate(self, *args, **kwargs)
                took_ns = time.perf_counter_ns() - start_ns
                _tell(scope, took_ns, self, args, kwargs, result)
                return result
        finally:
            _is_inside.reset(token)

    undo.patch(mixin, "generate", counted)


def _tell(
    scope: _hodo.Scope, took_ns: int, model: Any, args: Any, kwargs: Any, result: Any
) -> None:
    try:
        call = Call(model, args, kwargs, result)
        scope.set(batch=call.batch)
        counts = {_usage.INPUT: call.input_tokens(), _usage.OUTPUT: call.output_tokens()}
    except Exception as error:
        _warn(type(error).__name__, str(error))
        return
    known = {name: count for name, count in counts.items() if count is not None}
    for name, count in known.items():
        scope.mark(name, count, "summary")
    if known.get(_usage.OUTPUT) and took_ns > 0:
        scope.mark("tokens_per_second", known[_usage.OUTPUT] / took_ns * 1e9, "summary")
    outside = around.get()
    if outside is not None and outside.meter is not None:
        outside.meter.add("generate", **known)


@functools.cache
def _warn(kind: str, text: str) -> None:
    _control._log().warning("tokens of generate are not counted: %s: %s", kind, text)


class Call:
    """A call of ``generate``, and what it returned."""

    def __init__(self, model: Any, args: Any, kwargs: Any, result: Any) -> None:
        given = args[0] if args else kwargs.get("inputs")
        is_of_text = getattr(model, "main_input_name", "input_ids") == "input_ids"
        self.prompt = kwargs.get("input_ids", given if is_of_text else None)
        self.mask = kwargs.get("attention_mask")
        self.sequences = getattr(result, "sequences", result)
        config = kwargs.get("generation_config") or model.generation_config

        def setting(name: str) -> Any:
            found = kwargs.get(name)
            return found if found is not None else getattr(config, name, None)

        self.pad = setting("pad_token_id")
        ends = setting("eos_token_id")
        ends = ends.tolist() if hasattr(ends, "tolist") else ends
        self.ends = list(ends) if isinstance(ends, (list, tuple)) else [ends]
        self.ends = [end for end in self.ends if end is not None]
        self._begins_with = self._first_new(model, kwargs)

    def _first_new(self, model: Any, kwargs: dict[str, Any]) -> int:
        """Where in the sequences what was generated begins."""
        if getattr(model.config, "is_encoder_decoder", False):
            begun = kwargs.get("decoder_input_ids")
            return 1 if begun is None else int(begun.shape[1])
        # Of a prompt that came as vectors nothing is in the sequences.
        return 0 if self.prompt is None else int(self.prompt.shape[1])

    @property
    def batch(self) -> int:
        """How many sequences came back."""
        return int(self.sequences.shape[0])

    def input_tokens(self) -> int | None:
        """Tokens of the prompts, without what fills them up; None of prompts that are no text."""
        if self.mask is not None and self.mask.dim() == 2:
            return int(self.mask.sum())
        if self.prompt is None:
            return None
        if self.pad is None or self.pad in self.ends:
            # Nobody can tell what fills up from what ends.
            return int(self.prompt.numel())
        return int((self.prompt != self.pad).sum())

    def output_tokens(self) -> int:
        """Tokens generated: of each sequence up to its end, and that."""
        new = self.sequences[:, self._begins_with :]
        is_end = new != new
        for end in self.ends:
            is_end = is_end | (new == end)
        is_after = (is_end.int().cumsum(1) - is_end.int()) > 0
        counts = ~is_after
        if self.pad is not None:
            counts = counts & ((new != self.pad) | is_end)
        return int(counts.sum())
