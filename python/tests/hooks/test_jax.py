"""JAX: calls, compiling and waits of a plain program."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers import WELL, record

pytest.importorskip("jax")

START = """
import hodo
hodo.profile(app="jax", frameworks=["jax"], gpu="off")
from functools import partial
import jax, jax.numpy as jnp
import numpy as np
"""
END = WELL + """
assert health["hooks"]["jax"] == "hooked", health["hooks"]
"""


def test_a_training_loop(tmp_path: Path) -> None:
    run = record(
        tmp_path,
        START
        + """
def loss(w, x, y):
    return jnp.mean((x @ w - y) ** 2)

@jax.jit
def train_step(w, x, y):
    value, slope = jax.value_and_grad(loss)(w, x, y)
    return w - 0.1 * slope, value

x, y = jnp.asarray(np.ones((16, 4))), jnp.asarray(np.ones((16, 1)))
w = jnp.asarray(np.zeros((4, 1)))
for epoch in hodo.epochs(range(2)):
    for step in range(5):
        w, value = train_step(w, x, y)
    jax.block_until_ready(w)
    hodo.mark("loss", float(value))
w.block_until_ready()
"""
        + END,
        JAX_PLATFORMS="cpu",
    )
    step = ("epoch", "train_step")
    assert run.node(*step)["count"] == 10 and run.node(*step)["tag"] == {"one": "jit"}
    for stage in ("trace", "lower", "compile"):
        assert run.node(*step, stage)["count"] == 1, run.tree
    assert run.attributes("trace")[-1]["function"] == "train_step"
    assert run.node("epoch", "block_until_ready")["count"] == 2
    assert run.node("block_until_ready")["count"] == 1
    assert run.node("epoch", "device_get")["count"] == 2
    assert run.left_open == 0


def test_a_jitted_function_is_still_one(tmp_path: Path) -> None:
    run = record(
        tmp_path,
        START
        + """
import inspect, pickle, weakref

@partial(jax.jit, static_argnames="n")
def power(x, n=2):
    "What it says."
    return x ** n

@jax.jit
def outer(x):
    return power(x, n=3) + 1

class Model:
    @partial(jax.jit, static_argnums=0)
    def apply(self, x):
        return x * 2

plain = lambda x: x + 1
before = jax._src.api.jit(plain)
made = jax.jit(plain)
assert type(before) is not type(made) and isinstance(made, type(before))
assert isinstance(made, jax.stages.Wrapped) and made.__wrapped__ is plain
assert power.__name__ == "power" and power.__doc__ == "What it says."
assert inspect.signature(power) == inspect.signature(power.__wrapped__)
assert float(power(2.0, n=3)) == 8 and float(outer(2.0)) == 9
assert float(Model().apply(2.0)) == 4
assert float(jax.grad(power)(3.0)) == 6
assert float(jax.vmap(power)(jnp.ones(3)).sum()) == 3
assert float(jax.jit(power)(3.0)) == 9
assert float(power.lower(2.0, n=4).compile()(2.0)) == 16
assert power.eval_shape(2.0).shape == ()
assert "mul" in str(jax.make_jaxpr(Model().apply)(1.0))
weakref.ref(power), hash(power), repr(power)
try:
    @jax.jit(static_argnames="n")
    def factory(x, n):
        return x + n
    assert float(factory(1.0, n=2)) == 3
except TypeError:
    pass            # not in every release
# The same function jitted again is not compiled again.
def shared(x):
    return x - 1
with hodo.scope("again"):
    for _ in range(5):
        jax.jit(shared)(1.0)
@jax.jit
def broken(x):
    raise LookupError("while tracing")
for _ in range(2):
    try:
        broken(1.0)
        raise SystemExit("not raised")
    except LookupError:
        pass
with hodo.scope("after"):
    pass
assert float(jax.pmap(lambda x: x + 1)(jnp.ones((1,)))[0]) == 2
"""
        + END,
        JAX_PLATFORMS="cpu",
    )
    # Called, and called as jitted twice; not what was only traced, differentiated or mapped.
    assert run.node("power")["count"] == 2
    assert run.node("outer")["count"] == 1
    assert run.node("Model.apply")["count"] == 1
    assert run.node("again", "shared")["count"] == 5
    assert run.node("again", "shared", "compile")["count"] == 1
    assert run.node("broken")["failed"] == 2
    assert run.node("after")["depth"] == 0
    assert run.left_open == 0


def test_all_is_undone(tmp_path: Path) -> None:
    run = record(
        tmp_path,
        """
import jax, jax.numpy as jnp
names = lambda: [jax.jit, jax.pmap, jax.block_until_ready, jax._src.array.ArrayImpl.block_until_ready,
                 vars(jax._src.array.ArrayImpl)["_value"]]
before = names()
import hodo
hodo.profile(gpu="off")
assert not any(old is new for old, new in zip(before, names()))
kept = jax.jit(lambda x: x + 1)
hodo.shutdown()
assert all(old is new for old, new in zip(before, names()))
assert float(kept(1.0)) == 2
hodo.profile(gpu="off")
assert float(kept(jnp.ones(3))[0]) == 2
again = jax.jit(lambda x: x + 1)
again(1.0)
""",
        JAX_PLATFORMS="cpu",
    )
    names = [node["name"] for node in run.report["nodes"] if node["depth"] == 0]
    assert names.count("<lambda>") == 1 and run.node("<lambda>")["count"] == 1
