"""transformers: the Trainer's epochs and steps are scopes, what it logs is marked."""

from __future__ import annotations

import functools
from typing import Any

from hodo import _hodo
from hodo.hooks import Settings, Undo, _loop


def install(undo: Undo, settings: Settings) -> None:
    """Hooks ``Trainer``: a callback of ours is there while it trains."""
    from transformers.trainer import Trainer
    from transformers.trainer_callback import TrainerCallback

    callback = type("HodoCallback", (_Callback, TrainerCallback), {})
    train = Trainer.train

    @functools.wraps(train)
    def trained(self: Any, *args: Any, **kwargs: Any) -> Any:
        if undo.done:
            return train(self, *args, **kwargs)
        told = callback()
        self.add_callback(told)
        try:
            with _hodo.scope("train", tag=type(self.model).__name__):
                try:
                    return train(self, *args, **kwargs)
                except BaseException as error:
                    told.close(error)
                    raise
                finally:
                    told.close()
        finally:
            self.remove_callback(told)

    undo.patch(Trainer, "train", trained)
    # The last is private; where a version has it not, what it does is in no scope of its own.
    for method, name in (
        ("evaluate", "evaluate"),
        ("predict", "predict"),
        ("_save_checkpoint", "checkpoint"),
    ):
        if method in vars(Trainer):
            undo.patch(Trainer, method, _scoped(vars(Trainer)[method], name, undo))


def _scoped(run: Any, name: str, undo: Undo) -> Any:
    @functools.wraps(run)
    def scoped(self: Any, *args: Any, **kwargs: Any) -> Any:
        if undo.done:
            return run(self, *args, **kwargs)
        with _hodo.scope(name):
            return run(self, *args, **kwargs)

    return scoped


class _Callback:
    """Told by the Trainer where it is."""

    def __init__(self) -> None:
        self._epoch: _loop.Loop | None = None
        self._last: dict[str, float] = {}

    def close(self, error: BaseException | None = None) -> None:
        """Ends what is open, as after an exception."""
        epoch, self._epoch = self._epoch, None
        if epoch is not None:
            epoch.close(error)

    def on_epoch_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self.close()
        self._last = {}
        self._epoch = _loop.Loop("epoch", round(state.epoch or 0))
        self._epoch.next_step = int(state.global_step)
        self._epoch.open()

    def on_step_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if self._epoch is not None:
            self._epoch.step()

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if self._epoch is not None:
            self._epoch.step_end()

    def on_epoch_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if self._epoch is not None:
            self._epoch.step_end()
            for name, value in self._last.items():
                self._epoch.mark(name, value, "summary")
        self.close()

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
        # What an evaluation logs is told once more when it is done.
        values = {k: v for k, v in _numbers(logs).items() if not k.startswith("eval_")}
        self._last.update(values)
        for name, value in values.items():
            if self._epoch is not None:
                self._epoch.mark(name, value)
            else:
                _hodo.mark(name, value, "summary")

    def on_evaluate(
        self, args: Any, state: Any, control: Any, metrics: Any = None, **_: Any
    ) -> None:
        for name, value in _numbers(metrics).items():
            _hodo.mark(name, value, "summary")


def _numbers(values: Any) -> dict[str, float]:
    """Of what is logged, the numbers; the Trainer has fetched them already."""
    given = values if isinstance(values, dict) else {}
    return {str(k): v for k, v in given.items() if isinstance(v, (int, float)) and k != "epoch"}
