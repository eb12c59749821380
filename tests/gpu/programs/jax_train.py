"""A plain JAX training loop: jax_train.py hooks|scopes|none [EPOCHS] [STEPS], or jax_train.py turns SECONDS.

The first trains and prints what hodo says of itself; the second changes between the three ways until its time is over
and prints what a step took in each, round by round. Ends with 77 where no JAX has the GPU.
"""

import json
import os
import random
import statistics
import sys
import tempfile
import time

os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
how = sys.argv[1]

import hodo

if how == "hooks":
    hodo.profile(app="jax_train")
elif how == "scopes":
    hodo.init(app="jax_train")

try:
    import jax
    import jax.numpy as jnp
except ImportError:
    sys.exit(77)
if jax.default_backend() not in ("gpu", "cuda") and "HODO_TEST_CPU" not in os.environ:
    sys.exit(77)

SIZES = [64, 128, 128, 64] if "HODO_TEST_CPU" in os.environ else [512, 2048, 2048, 512]
WAYS = ("none", "scopes", "hooks")
STEPS_A_SEGMENT, SEGMENTS, WARM_UP = 100, 3, 20


def forward(layers, x):
    for weights, bias in layers[:-1]:
        x = jax.nn.relu(x @ weights + bias)
    weights, bias = layers[-1]
    return x @ weights + bias


def loss(layers, x, y):
    return jnp.mean((forward(layers, x) - y) ** 2)


def train_step(layers, x, y):
    value, slopes = jax.value_and_grad(loss)(layers, x, y)
    return jax.tree.map(lambda p, g: p - 1e-2 * g, layers, slopes), value


class Loop:
    """The model, its data, and the step as it was jitted."""

    def __init__(self):
        keys = jax.random.split(jax.random.key(0), len(SIZES) + 1)
        self.layers = [
            (jax.random.normal(key, (a, b)) / a**0.5, jnp.zeros(b)) for key, a, b in zip(keys, SIZES[:-1], SIZES[1:])
        ]
        self.x = jax.random.normal(keys[-2], (256, SIZES[0]))
        self.y = jax.random.normal(keys[-1], (256, SIZES[-1]))
        self.jitted = jax.jit(train_step)

    def step(self):
        self.layers, value = self.jitted(self.layers, self.x, self.y)
        return value

    def step_by_hand(self):
        with hodo.scope("train_step"):
            return self.step()

    def segment(self, step):
        """The seconds of a step, of some one after another."""
        jax.block_until_ready(self.layers)
        began = time.perf_counter()
        for _ in range(STEPS_A_SEGMENT):
            step()
        jax.block_until_ready(self.layers)
        return (time.perf_counter() - began) / STEPS_A_SEGMENT

    def configured(self, way):
        """Starts what a way has; its step. What is jitted before the hooks is not seen by them."""
        dir = tempfile.mkdtemp(prefix="hodo-jax-")
        if way != "none":
            start = hodo.profile if way == "hooks" else hodo.init
            start(dir=dir, gpu="off", telemetry="off")
            assert way == "scopes" or hodo.health()["hooks"]["jax"] == "hooked"
        self.jitted = jax.jit(train_step)
        step = self.step_by_hand if way == "scopes" else self.step
        for _ in range(WARM_UP):
            step()
        return step


def in_turns(seconds):
    loop, rounds, until = Loop(), [], time.monotonic() + seconds
    while len(rounds) < 3 or time.monotonic() < until:
        row = {}
        for way in random.Random(len(rounds)).sample(WAYS, len(WAYS)):
            step = loop.configured(way)
            row[way] = statistics.median(loop.segment(step) for _ in range(SEGMENTS))
            if way != "none":
                hodo.shutdown()
        rounds.append(row)
    return rounds


if how == "turns":
    print(json.dumps(in_turns(float(sys.argv[2]))))
    sys.exit(0)

epochs, steps = (int(word) for word in (sys.argv[2:] + ["4", "100"][len(sys.argv) - 2 :])[:2])
loop = Loop()
for epoch in hodo.epochs(range(epochs)):
    for _ in range(steps):
        value = loop.step_by_hand() if how == "scopes" else loop.step()
    last = float(value)
jax.block_until_ready(loop.layers)
health = hodo.health()
print(json.dumps({"gpu": health["gpu"]["state"], "hooks": health["hooks"].get("jax"), "jax": jax.__version__}))
