"""transformers: the Trainer's epochs and steps are scopes, what it logs is marked."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from typing import Any

from hodo import _hodo
from hodo.hooks import Settings, Undo, _loop


def install(undo: Undo, settings: Settings) -> None:
    """Hooks ``Trainer``: a callback of ours is there while it works."""
    from transformers.trainer import Trainer

    train = Trainer.train

    @functools.wraps(train)
    def trained(self: Any, *args: Any, **kwargs: Any) -> Any:
        if undo.done:
            return train(self, *args, **kwargs)
        with _listening(self) as told, _hodo.scope("train", tag=type(self.model).__name__):
            try:
                return train(self, *args, **kwargs)
            except BaseException as error:
                told.close(error)
                raise
            finally:
                told.close()

    undo.patch(Trainer, "train", trained)
    for name in ("evaluate", "predict"):
        undo.patch(Trainer, name, _evaluating(vars(Trainer)[name], name, undo))
    # Private; where a version has it not, what it does is in no scope of its own.
    if "_save_checkpoint" in vars(Trainer):
        saved = _scoped(vars(Trainer)["_save_checkpoint"], "checkpoint", undo)
        undo.patch(Trainer, "_save_checkpoint", saved)


@contextlib.contextmanager
def _listening(trainer: Any) -> Iterator[_Callback]:
    """While it is entered, a callback of ours is told; that of an outer call, if there is one."""
    there = (each for each in trainer.callback_handler.callbacks if isinstance(each, _Callback))
    told = next(there, None)
    if told is not None:
        yield told
        return
    told = _made()
    trainer.add_callback(told)
    try:
        yield told
    finally:
        trainer.remove_callback(told)


@functools.cache
def _class() -> Any:
    from transformers.trainer_callback import TrainerCallback

    return type("HodoCallback", (_Callback, TrainerCallback), {})


def _made() -> Any:
    return _class()()


def _evaluating(run: Any, name: str, undo: Undo) -> Any:
    @functools.wraps(run)
    def evaluated(self: Any, *args: Any, **kwargs: Any) -> Any:
        # Of several sets each is evaluated by a call of its own.
        if undo.done or _are_several(self, *args, **kwargs):
            return run(self, *args, **kwargs)
        with _listening(self), _loop.Evaluating(), _hodo.scope(name, tag=_prefix(**kwargs)):
            return run(self, *args, **kwargs)

    return evaluated


def _are_several(trainer: Any, eval_dataset: Any = None, *_: Any, **kwargs: Any) -> bool:
    if "test_dataset" in kwargs:
        return False
    given = trainer.eval_dataset if eval_dataset is None else eval_dataset
    return isinstance(given, dict)


def _prefix(metric_key_prefix: Any = None, **_: Any) -> str | None:
    """What the metrics of an evaluation begin with, where that is not as ever: of one set of several its name."""
    is_usual = metric_key_prefix in ("eval", "test")
    return metric_key_prefix if isinstance(metric_key_prefix, str) and not is_usual else None


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

    def __reduce__(self) -> tuple[Any, tuple[()]]:
        # A copy of a Trainer has one that has nothing open.
        return (_made, ())

    def close(self, error: BaseException | None = None) -> None:
        """Ends what is open, as after an exception."""
        epoch, self._epoch = self._epoch, None
        if epoch is not None:
            epoch.close(error)

    def on_epoch_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self.close()
        self._last = {}
        # A part of an epoch is no epoch, however much of it was done before the Trainer was resumed.
        self._epoch = _loop.Loop("epoch", int((state.epoch or 0) + 1e-6))
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

    def on_predict(self, args: Any, state: Any, control: Any, metrics: Any = None, **_: Any) -> None:
        self.on_evaluate(args, state, control, metrics)


def _numbers(values: Any) -> dict[str, float]:
    """Of what is logged, the numbers; the Trainer has fetched them already."""
    given = values if isinstance(values, dict) else {}
    return {str(k): v for k, v in given.items() if isinstance(v, (int, float)) and k != "epoch"}
