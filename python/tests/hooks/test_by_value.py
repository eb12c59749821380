"""Classes and functions of a script, which cloudpickle takes along by value: they are loaded where there is no hodo."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from helpers import record

cloudpickle = pytest.importorskip("cloudpickle")

# Saves something of the program's, and loads it in a process that cannot import hodo.
SAVED = """
import subprocess, sys
import cloudpickle

def loaded(thing, code):
    told = "import pickle, sys; sys.modules['hodo'] = None; thing = pickle.load(sys.stdin.buffer); "
    done = subprocess.run([sys.executable, "-c", told + code], input=cloudpickle.dumps(thing), capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode().strip()
"""


def test_an_optimizer_and_a_loader_of_a_script_could_not_be_loaded_without_hodo(
    trained: Any, tree: Any
) -> None:
    run = trained(SAVED + """
class Rows(DataLoader):
    def __iter__(self):
        yield from super().__iter__()

class Own(torch.optim.SGD):
    def step(self, closure=None):
        return super().step(closure)

own = Own(model.parameters(), lr=0.1)
for x, y in Rows(data, batch_size=10):
    own.zero_grad()
    loss_of(x, y).backward()
    own.step()
assert loaded((Rows, [1, 2, 3]), "print(len(list(thing[0](thing[1]))))") == "3"
stepped = "opt, p = thing; p.grad = p.detach() * 0 + 1; opt.step(); opt.step(lambda: 3); print(type(opt).__name__)"
assert loaded((own, own.param_groups[0]["params"][0]), stepped) == "Own"
# Where it is hooked it records, also what was loaded.
again = cloudpickle.loads(cloudpickle.dumps(own))
with hodo.scope("again"):
    again.step()
""")
    assert run.node("epoch", "step", "optimizer")["count"] == 2
    assert run.node("again", "optimizer")["count"] == 1


def test_an_estimator_of_a_script_could_not_be_loaded_without_hodo(ran: Any) -> None:
    run = ran("import hodo; hodo.profile(gpu='off')\n" + SAVED + """
import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.metaestimators import available_if

class Scale(BaseEstimator, TransformerMixin):
    def fit(self, X, y=None, *, factor=1):
        self.mean_ = X.mean(0)
        return self
    def transform(self, X):
        return X - self.mean_
    @available_if(lambda self: True)
    def predict(self, X):
        return X

scale = Scale().fit(np.ones((3, 2)))
code = "import numpy; print(thing.transform(numpy.ones((1, 2))).tolist(), thing.predict(7), 'hodo._hodo' in sys.modules)"
assert loaded(scale, code) == "[[0.0, 0.0]] 7 False"
with hodo.scope("again"):
    cloudpickle.loads(cloudpickle.dumps(scale)).predict(7)
""", "sklearn")
    assert run.node("again", "Scale.predict")["count"] == 1


def test_a_jitted_function_of_a_script_could_not_be_loaded_without_hodo(ran: Any) -> None:
    ran("import hodo; hodo.profile(gpu='off')\n" + SAVED + """
import jax

@jax.jit
def twice(x):
    return x * 2

assert twice(2.0) == 4.0
assert loaded(twice, "print(float(thing(3.0)), type(thing).__module__.split('.')[0])") == "6.0 jaxlib"
""", "jax")


def test_a_decorated_function_of_a_script_could_not_be_pickled(tmp_path: Path) -> None:
    run = record(tmp_path, "import hodo; hodo.init(gpu='off')\n" + """
import cloudpickle

@hodo.scope
def plain(x):
    return x

@hodo.scope("generates", 3)
def generates():
    yield 1

for function in (plain, generates):
    again = cloudpickle.loads(cloudpickle.dumps(function))
    assert again is not function
    with hodo.scope("again"):
        assert again(1) == 1 if function is plain else list(again()) == [1]
""")
    assert run.node("again", "plain")["count"] == run.node("again", "generates")["count"] == 1
    assert run.attributes("generates")[0]["index"] == 3


def test_methods_of_a_script_that_others_took_could_not_be_loaded_without_hodo(ran: Any) -> None:
    run = ran("import hodo; hodo.profile(gpu='off')\n" + SAVED + """
import functools
from sklearn.base import BaseEstimator, TransformerMixin

class Shift(TransformerMixin, BaseEstimator):
    def fit(self, X, y=None):
        return self
    def transform(self, X):
        return X
    def predict(self, X):
        return X

def logged(function):
    @functools.wraps(function)
    def log(self, *args):
        return function(self, *args)
    return log

Shift.predict = logged(Shift.predict)

class Other(BaseEstimator):
    fit = Shift.fit
    predict = functools.partialmethod(Shift.predict)

code = "shift, other = thing[0](), thing[1](); shift.fit([1]); other.fit([1]); "
code += "print(shift.transform(5), shift.predict(7), other.predict(8), 'hodo._hodo' in sys.modules)"
assert loaded((Shift, Other), code) == "5 7 8 False"
with hodo.scope("again"):
    shift = cloudpickle.loads(cloudpickle.dumps(Shift))()
    shift.predict(7), shift.transform(5)
told = str(hodo.trace())
assert "Shift.predict" in told and "Shift.transform" in told, told
hodo.shutdown()
assert loaded((Shift, Other), code) == "5 7 8 False"
hodo.profile([])
with hodo.scope("not hooked"):
    Shift().predict(7), Other().fit([1]), shift.transform(5), shift.predict(7)
""", "sklearn")
    assert run.tree == "not hooked 1"


def test_estimators_that_were_loaded_stayed_hooked(ran: Any) -> None:
    ran("import hodo; hodo.profile(gpu='off')\n" + SAVED + """
from sklearn.base import BaseEstimator

class Own(BaseEstimator):
    def fit(self, X, y=None):
        return self

dumped = cloudpickle.dumps(Own)
code = f'''
import hodo, pickle; hodo.profile(gpu="off")
import sklearn.base
before = pickle.loads({dumped!r})
before().fit([1])
hodo.shutdown()
import hodo._estimators
for own in (before, pickle.loads({dumped!r})):
    assert type(vars(own)["fit"]).__name__ == "function", vars(own)["fit"]
'''
subprocess.run([sys.executable, "-c", code], check=True)
""", "sklearn")


def test_a_loader_of_a_script_whose_iter_was_taken_could_not_be_pickled(trained: Any) -> None:
    run = trained(SAVED + """
class Rows(DataLoader):
    def __iter__(self):
        return super().__iter__()

class Same(Rows):
    __iter__ = Rows.__iter__

taken = Rows.__iter__

def again(self):
    yield from taken(self)

class Late(Rows):
    pass

Late.__iter__ = again
every = (Rows, Same, Late, [1, 2, 3])
count = "print([len(list(kind(thing[-1]))) for kind in thing[:-1]], 'hodo._hodo' in sys.modules)"
assert loaded(every, count) == "[3, 3, 3] False"
for kind in cloudpickle.loads(cloudpickle.dumps(every))[:-1]:
    with hodo.scope(kind.__name__):
        for item in kind([1, 2, 3]):
            pass
hodo.shutdown()
assert loaded(every, count) == "[3, 3, 3] False"
""", tail="")
    for name in ("Rows", "Same", "Late"):
        assert run.node(name, "epoch", "step")["count"] == 3, run.tree
