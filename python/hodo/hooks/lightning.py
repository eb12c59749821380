"""lightning: the Trainer's epochs and steps are scopes, what it logs is marked."""

from __future__ import annotations

import functools
import sys
from types import ModuleType
from typing import Any

from hodo import _hodo
from hodo.hooks import Settings, Undo, _loop

METHODS = {"fit": "train", "validate": "validate", "test": "test", "predict": "predict"}


def install(undo: Undo, settings: Settings) -> None:
    """Hooks the ``Trainer`` of ``lightning.pytorch``."""
    # Not by `import`: the package around it may still be on its way.
    install_in(sys.modules["lightning.pytorch"], undo)


def install_in(package: ModuleType, undo: Undo) -> None:
    """Hooks the ``Trainer`` of a package: a callback of ours is there while it runs."""
    callback = type("HodoCallback", (_Callback, package.Callback), {})
    for method, name in METHODS.items():
        run = vars(package.Trainer)[method]
        undo.patch(package.Trainer, method, _running(run, name, callback, undo))


def _running(run: Any, name: str, callback: Any, undo: Undo) -> Any:
    @functools.wraps(run)
    def running(self: Any, model: Any = None, *args: Any, **kwargs: Any) -> Any:
        # One of the trainer's methods may call another.
        if undo.done or any(isinstance(each, callback) for each in self.callbacks):
            return run(self, model, *args, **kwargs)
        told = callback()
        self.callbacks.append(told)
        try:
            with _hodo.scope(name, tag=type(model).__name__):
                try:
                    return run(self, model, *args, **kwargs)
                except BaseException as error:
                    told.close(error)
                    raise
                finally:
                    told.close()
        finally:
            if told in self.callbacks:
                self.callbacks.remove(told)

    return running


class _Callback:
    """Told by the Trainer where it is."""

    def __init__(self) -> None:
        super().__init__()
        self._loops: list[_loop.Loop] = []
        self._steps = 0

    def close(self, error: BaseException | None = None) -> None:
        """Ends what is open, as after an exception."""
        while self._loops:
            self._loops.pop().close(error)

    def _open(self, name: str, index: int | None, **attrs: Any) -> _loop.Loop:
        loop = _loop.Loop(name, index, **attrs)
        loop.open()
        self._loops.append(loop)
        return loop

    def _step(self) -> None:
        if self._loops:
            self._loops[-1].step()

    def _step_end(self) -> None:
        if self._loops:
            self._loops[-1].step_end()

    def _end(self, trainer: Any) -> None:
        if self._loops:
            loop = self._loops.pop()
            loop.step_end()
            # The epoch is over: whoever logs waits for the values now.
            for name, value in _scalars(trainer.callback_metrics).items():
                loop.mark(name, value, "summary")
            loop.close()

    def on_train_epoch_start(self, trainer: Any, module: Any) -> None:
        self._open("epoch", trainer.current_epoch).next_step = self._steps

    def on_train_batch_start(self, trainer: Any, module: Any, *_: Any) -> None:
        self._step()

    def on_train_batch_end(self, trainer: Any, module: Any, *_: Any) -> None:
        self._steps += 1
        if self._loops:
            for name, value in _scalars(trainer.callback_metrics, waits=False).items():
                self._loops[-1].mark(name, value)
        self._step_end()

    def on_train_epoch_end(self, trainer: Any, module: Any) -> None:
        self._end(trainer)

    def on_validation_epoch_start(self, trainer: Any, module: Any) -> None:
        attrs = {"tag": "sanity"} if trainer.sanity_checking else {}
        self._open("evaluate", None, **attrs)

    def on_test_epoch_start(self, trainer: Any, module: Any) -> None:
        self._open("evaluate", None, tag="test")

    def on_predict_epoch_start(self, trainer: Any, module: Any) -> None:
        self._open("evaluate", None, tag="predict")

    def on_validation_batch_start(self, trainer: Any, module: Any, *_: Any) -> None:
        self._step()

    def on_validation_batch_end(self, trainer: Any, module: Any, *_: Any) -> None:
        self._step_end()

    def on_validation_epoch_end(self, trainer: Any, module: Any) -> None:
        self._end(trainer)

    on_test_batch_start = on_predict_batch_start = on_validation_batch_start
    on_test_batch_end = on_predict_batch_end = on_validation_batch_end
    on_test_epoch_end = on_predict_epoch_end = on_validation_epoch_end


def _scalars(metrics: Any, waits: bool = True) -> dict[str, float]:
    """Logged values as numbers; without waiting, those that are on no device."""
    found = {}
    for name, value in metrics.items():
        if waits or not getattr(value, "is_cuda", False):
            try:
                found[str(name)] = float(value)
            except (TypeError, ValueError):
                continue
    return found
