"""lightning: the Trainer's epochs and steps are scopes, what it logs is marked."""

from __future__ import annotations

import functools
import importlib
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
    callback = _class_in(package.__name__)
    connector = _connector_in(package.__name__)
    callback._is_told_late = connector is not None
    if connector is not None:
        ended = _epoch_ended(connector.on_epoch_end, callback, undo)
        undo.patch(connector, "on_epoch_end", ended)
    for method, name in METHODS.items():
        run = vars(package.Trainer)[method]
        undo.patch(package.Trainer, method, _running(run, name, callback, undo))


@functools.cache
def _class_in(package: str) -> Any:
    """The class of our callbacks, of a package's."""
    base = importlib.import_module(package).Callback
    return type("HodoCallback", (_Callback, base), {"_package": package})


def _made_in(package: str) -> Any:
    return _class_in(package)()


def _connector_in(package: str) -> Any:
    """What gathers the values of an epoch when all its hooks were called: callbacks are told before the
    module is, which may log more. Private; where a version has it not, those values are left out."""
    home = sys.modules.get(f"{package}.trainer.connectors.logger_connector.logger_connector")
    connector = getattr(home, "_LoggerConnector", None)
    return connector if "on_epoch_end" in vars(connector or object) else None


def _epoch_ended(end: Any, callback: Any, undo: Undo) -> Any:
    @functools.wraps(end)
    def on_epoch_end(self: Any, *args: Any, **kwargs: Any) -> Any:
        result = end(self, *args, **kwargs)
        if not undo.done:
            for told in self.trainer.callbacks:
                if isinstance(told, callback):
                    told.end(self.trainer)
        return result

    return on_epoch_end


def _running(run: Any, name: str, callback: Any, undo: Undo) -> Any:
    @functools.wraps(run)
    def running(self: Any, *args: Any, **kwargs: Any) -> Any:
        # One of the trainer's methods may call another.
        if undo.done or any(isinstance(each, callback) for each in self.callbacks):
            return run(self, *args, **kwargs)
        told = callback()
        self.callbacks.append(told)
        try:
            with _hodo.scope(name, tag=_class_of_model(self, *args, **kwargs)):
                try:
                    return run(self, *args, **kwargs)
                except BaseException as error:
                    told.close(error)
                    raise
                finally:
                    told.close()
        finally:
            if told in self.callbacks:
                self.callbacks.remove(told)

    return running


def _class_of_model(trainer: Any, model: Any = None, *_: Any, **__: Any) -> str | None:
    """The class of the model that is given, or that the trainer has."""
    model = getattr(trainer, "lightning_module", None) if model is None else model
    return None if model is None else type(model).__name__


class _Callback:
    """Told by the Trainer where it is."""

    _package = ""
    _is_told_late = False
    """Whether ``end`` is called when all is logged."""

    def __init__(self) -> None:
        super().__init__()
        self._loops: list[_loop.Loop] = []
        self._steps = 0
        self._before: list[dict[str, Any]] = []
        """What was logged when each loop began."""
        self._at_start: dict[str, Any] = {}
        """The same of the step."""

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        # To processes that a Trainer starts anew goes one that has nothing open.
        return (_made_in, (self._package,))

    def close(self, error: BaseException | None = None) -> None:
        """Ends what is open, as after an exception."""
        self._before.clear()
        while self._loops:
            self._loops.pop().close(error)

    def on_exception(self, trainer: Any, module: Any, exception: BaseException) -> None:
        self.close(exception)

    def _open(self, trainer: Any, name: str, index: int | None, **attrs: Any) -> _loop.Loop:
        loop = _loop.Loop(name, index, **attrs)
        loop.open()
        self._loops.append(loop)
        self._before.append(dict(trainer.callback_metrics))
        return loop

    def _step(self) -> None:
        if self._loops:
            self._loops[-1].step()

    def _step_end(self) -> None:
        if self._loops:
            self._loops[-1].step_end()

    def end(self, trainer: Any) -> None:
        """Ends an epoch or an evaluation, with what it has logged."""
        if self._loops:
            loop, before = self._loops.pop(), self._before.pop()
            loop.step_end()
            # The epoch is over: whoever logs waits for the values now.
            for name, value in _scalars(_logged_since(before, trainer)).items():
                loop.mark(name, value, "summary")
            loop.close()

    def on_train_epoch_start(self, trainer: Any, module: Any) -> None:
        self._open(trainer, "epoch", trainer.current_epoch).next_step = self._steps

    def on_train_batch_start(self, trainer: Any, module: Any, *_: Any) -> None:
        self._at_start = dict(trainer.callback_metrics)
        self._step()

    def on_train_batch_end(self, trainer: Any, module: Any, *_: Any) -> None:
        self._steps += 1
        if self._loops:
            logged = _logged_since(self._at_start, trainer)
            for name, value in _scalars(logged, waits=False).items():
                self._loops[-1].mark(name, value)
        self._step_end()

    def on_train_epoch_end(self, trainer: Any, module: Any) -> None:
        if not self._is_told_late:
            self.end(trainer)

    def on_validation_epoch_start(self, trainer: Any, module: Any) -> None:
        attrs = {"tag": "sanity"} if trainer.sanity_checking else {}
        self._open(trainer, "evaluate", None, **attrs)

    def on_test_epoch_start(self, trainer: Any, module: Any) -> None:
        self._open(trainer, "evaluate", None, tag="test")

    def on_predict_epoch_start(self, trainer: Any, module: Any) -> None:
        self._open(trainer, "evaluate", None, tag="predict")

    def on_validation_batch_start(self, trainer: Any, module: Any, *_: Any) -> None:
        self._step()

    def on_validation_batch_end(self, trainer: Any, module: Any, *_: Any) -> None:
        self._step_end()

    on_validation_epoch_end = on_test_epoch_end = on_train_epoch_end

    def on_predict_epoch_end(self, trainer: Any, module: Any) -> None:
        self.end(trainer)

    on_test_batch_start = on_predict_batch_start = on_validation_batch_start
    on_test_batch_end = on_predict_batch_end = on_validation_batch_end


def _logged_since(before: dict[str, Any], trainer: Any) -> dict[str, Any]:
    """Of all that was ever logged, what is new: the Trainer keeps the values of other loops as they are."""
    now = trainer.callback_metrics
    return {name: value for name, value in now.items() if before.get(name) is not value}


def _scalars(metrics: Any, waits: bool = True) -> dict[str, float]:
    """Logged values as numbers; without waiting, those that are on no device."""
    found = {}
    for name, value in metrics.items():
        if waits or not getattr(value, "is_cuda", False):
            try:
                found[str(name)] = float(value)
            except (TypeError, ValueError, RuntimeError):
                continue
    return found
