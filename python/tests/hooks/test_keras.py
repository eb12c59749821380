"""Keras: epochs, steps and values of a plain program."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest
from helpers import WELL, record

BACKENDS = [name for name in ("jax", "torch", "tensorflow") if find_spec(name)]
if not find_spec("keras") or not BACKENDS:
    pytest.skip("no Keras, or nothing that it computes with", allow_module_level=True)

START = """
import hodo
hodo.profile(app="keras", frameworks=["keras"], gpu="off")
import numpy as np
import keras
keras.utils.set_random_seed(0)
x = np.random.default_rng(0).normal(size=(40, 4)).astype("float32")
y = (x[:, 0] > 0).astype("float32")

def build():
    model = keras.Sequential([keras.layers.Dense(3), keras.layers.Dense(1, activation="sigmoid")])
    model.compile(optimizer="sgd", loss="binary_crossentropy", metrics=["accuracy"])
    return model
"""
END = WELL + """
assert health["hooks"]["keras"] == "hooked", health["hooks"]
"""


def with_keras(tmp_path: Path, code: str, backend: str = BACKENDS[0]) -> object:
    env = {"KERAS_BACKEND": backend, "KERAS_HOME": str(tmp_path), "CUDA_VISIBLE_DEVICES": ""}
    return record(tmp_path, START + code + END, **env, TF_CPP_MIN_LOG_LEVEL="3")


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("verbose", [0, 2])
def test_fit_evaluate_and_predict(tmp_path: Path, backend: str, verbose: int) -> None:
    run = with_keras(
        tmp_path,
        f"""
model = build()
history = model.fit(x, y, batch_size=8, epochs=3, validation_data=(x[:16], y[:16]), verbose={verbose})
assert len(history.history["loss"]) == 3
hodo.mark("last loss", history.history["loss"][-1])
assert len(model.evaluate(x, y, batch_size=20, verbose=0)) == 2
assert model.predict(x, batch_size=10, verbose=0).shape == (40, 1)
""",
        backend,
    )
    counts = {tuple(node["path"]): node["count"] for node in run.report["nodes"]}
    expected = {
        ("fit",): 1,
        ("fit", "epoch"): 3,
        ("fit", "epoch", "step"): 15,
        ("fit", "epoch", "evaluate"): 3,
        ("evaluate",): 1,
        ("evaluate", "step"): 2,
        ("predict",): 1,
        ("predict", "step"): 4,
    }
    assert expected.items() <= counts.items(), run.tree
    if backend == "tensorflow":
        # It fetches data inside of what it has compiled.
        assert not any("data_wait" in path for path in counts)
    else:
        assert counts[("fit", "epoch", "step", "data_wait")] == 15
    assert run.left_open == 0
    steps = run.marks("fit", "epoch", "step")
    assert (steps["loss"]["count"], steps["loss"]["summary"]) == (15, False)
    assert "loss" not in run.marks("fit", "epoch", "evaluate", "step"), "values of a training step"
    passes = run.marks("fit", "epoch")
    assert passes["val_accuracy"]["count"] == 3 and passes["loss"]["summary"]
    assert passes["loss"]["last"] == pytest.approx(run.marks()["last loss"]["last"])
    assert run.marks("evaluate")["accuracy"]["summary"]
    assert [attrs["index"] for attrs in run.attributes("epoch")] == [0, 1, 2]


@pytest.mark.parametrize("backend", BACKENDS)
def test_values_that_come_after_an_evaluation_began_are_their_steps(tmp_path: Path, backend: str) -> None:
    run = with_keras(
        tmp_path,
        """
import threading
is_second = threading.Event()

class Late(keras.callbacks.Callback):
    async_safe = True

    def on_train_batch_end(self, batch, logs=None):
        # Of another thread where Keras goes on meanwhile.
        assert threading.current_thread() is threading.main_thread() or is_second.wait(300)

    def on_test_batch_begin(self, batch, logs=None):
        if batch == 1:
            is_second.set()

build().fit(x, y, batch_size=20, epochs=1, validation_data=(x, y), validation_batch_size=10, callbacks=[Late()], verbose=0)
""",
        backend,
    )
    assert run.marks("fit", "epoch", "step")["loss"]["count"] == 2
    assert "loss" not in run.marks("fit", "epoch", "evaluate", "step")


def test_an_exception_leaves_nothing_open(tmp_path: Path) -> None:
    run = with_keras(
        tmp_path,
        """
class Stop(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        if batch == 2:
            raise OSError("lost")

model = build()
with hodo.scope("mine"):
    for attempt in range(3):
        try:
            model.fit(x, y, batch_size=8, epochs=2, verbose=0, callbacks=[Stop()])
            raise SystemExit("not raised")
        except OSError:
            pass
    def broken():
        yield x[:8], y[:8]
        yield x[8:16], y[8:16]
        raise LookupError("no more")
    try:
        model.fit(broken(), epochs=1, verbose=0)
        raise SystemExit("not raised")
    except Exception:       # TensorFlow raises one of its own
        pass
with hodo.scope("after"):
    model.fit(x, y, batch_size=8, epochs=1, verbose=0)
""",
    )
    assert run.left_open == 0
    assert run.node("mine", "fit")["failed"] == run.node("mine", "fit")["count"] == 4
    assert run.node("mine", "fit", "epoch", "step")["count"] >= 9
    assert run.node("after", "fit", "epoch", "step")["count"] == 5
    assert run.node("after")["depth"] == 0


@pytest.mark.skipif(BACKENDS[0] == "tensorflow", reason="fetches inside of what it has compiled")
def test_data_of_a_generator_is_waited_for_in_its_step(tmp_path: Path) -> None:
    run = with_keras(
        tmp_path,
        """
import time
class Slow(keras.utils.PyDataset):
    def __len__(self):
        return 4
    def __getitem__(self, i):
        time.sleep(0.02)
        return x[i * 8 : i * 8 + 8], y[i * 8 : i * 8 + 8]
model = build()
model.fit(Slow(), epochs=2, verbose=0, shuffle=False)
""",
    )
    assert run.node("fit", "epoch", "step")["count"] == 8
    assert run.node("fit", "epoch", "step", "data_wait")["count"] == 8


def test_own_callbacks_stay_as_they_are_and_all_is_undone(tmp_path: Path) -> None:
    run = with_keras(
        tmp_path,
        """
seen = []
class Mine(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        seen.append(sorted(logs))
        with hodo.scope("mine"):
            pass
given = [Mine()]
model = build()
model.fit(x, y, epochs=2, verbose=0, callbacks=given)
assert len(given) == 1 and seen == [["accuracy", "loss"]] * 2
keras.callbacks.CallbackList(given, add_history=True, model=model)
health = hodo.health()
run_fit = keras.Model.fit
hodo.shutdown()
assert keras.Model.fit is not run_fit and "fit" not in vars(keras.Model)
model.fit(x, y, epochs=1, verbose=0)
hodo.profile(frameworks=["keras"], gpu="off")
""",
    )
    # The second run, of nothing.
    assert run.report["nodes"] == []


def test_a_fit_inside_of_another_had_its_epoch_in_a_step_of_the_others(tmp_path: Path) -> None:
    run = with_keras(
        tmp_path,
        """
class Inner(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        build().fit(x[:16], y[:16], batch_size=8, epochs=1, verbose=0)
        model.predict(x[:8], verbose=0)

model = build()
model.fit(x, y, batch_size=8, epochs=2, verbose=0, callbacks=[Inner()])
""",
    )
    counts = {tuple(node["path"]): node["count"] for node in run.report["nodes"]}
    inner = ("fit", "epoch", "fit")
    assert counts[inner] == counts[(*inner, "epoch")] == 2 and counts[(*inner, "epoch", "step")] == 4
    assert counts[("fit", "epoch", "step")] == 10 and counts[("fit", "epoch", "predict")] == 2
    assert ("fit", "epoch", "step", "fit") not in counts and (*inner, "step") not in counts, run.tree
    assert run.left_open == 0


def test_a_list_of_callbacks_that_was_told_of_no_end_kept_everything_inside(tmp_path: Path) -> None:
    run = with_keras(
        tmp_path,
        """
model = build()
def by_hand():
    told = keras.callbacks.CallbackList([], model=model)
    told.on_train_begin()
    told.on_epoch_begin(0)
    told.on_train_batch_begin(0)
    return told
by_hand()
with hodo.scope("after"):
    pass
told = by_hand()
told.on_epoch_begin(1)
told.on_train_end()
model.fit(x, y, batch_size=8, epochs=1, verbose=0)
""",
    )
    assert {"after", "epoch", "fit"} == {node["name"] for node in run.report["nodes"] if not node["depth"]}
    assert run.node("epoch")["count"] == 3 and run.left_open == 0


def test_a_list_of_callbacks_that_cannot_be_made_failed_by_another_error(tmp_path: Path) -> None:
    with_keras(
        tmp_path,
        """
try:
    keras.callbacks.CallbackList(1, 2, 3, 4, 5, 6)
    raise SystemExit("made")
except TypeError:
    pass
""",
    )


@pytest.mark.skipif("torch" not in BACKENDS, reason="without torch")
def test_a_loader_of_torchs_has_its_steps_in_the_epoch_alone(tmp_path: Path) -> None:
    run = with_keras(
        tmp_path,
        """
hodo.profile(["torch"])
import torch
from torch.utils.data import DataLoader, TensorDataset
loader = DataLoader(TensorDataset(torch.tensor(x), torch.tensor(y)), batch_size=8)
build().fit(loader, epochs=2, verbose=0)
""",
        "torch",
    )
    counts = {tuple(node["path"]): node["count"] for node in run.report["nodes"]}
    assert counts[("fit", "epoch", "step")] == 10 and ("fit", "step") not in counts, run.tree
    assert counts[("fit", "epoch")] == 2, run.tree


def test_an_epoch_that_has_ended_leaves_nothing_behind(tmp_path: Path) -> None:
    with_keras(
        tmp_path,
        """
import weakref
from hodo.hooks import keras as hooked
left = []
class Counts(keras.callbacks.Callback):
    def on_epoch_begin(self, epoch, logs=None):
        left.append(sum(each.func is hooked._forget for each in weakref.finalize._registry.values()))
build().fit(x, y, batch_size=20, epochs=4, verbose=0, callbacks=[Counts()])
assert left == [1] * 4 and not hooked._epochs, (left, hooked._epochs)
""",
    )
