"""A plain JAX training loop: jax_train.py none|scopes|hooks [EPOCHS] [STEPS]; prints its median step in seconds."""

import os
import sys

os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
how = sys.argv[1]
epochs, steps = (int(word) for word in (sys.argv[2:] + ["4", "100"][len(sys.argv) - 2 :])[:2])

import hodo

if how == "hooks":
    hodo.profile(app="jax_train")
elif how == "scopes":
    hodo.init(app="jax_train")

import json
import statistics
import time

try:
    import jax
    import jax.numpy as jnp
except ImportError:
    sys.exit(77)
if jax.default_backend() not in ("gpu", "cuda") and "HODO_TEST_CPU" not in os.environ:
    sys.exit(77)

SIZES = [512, 2048, 2048, 512]


def forward(layers, x):
    for weights, bias in layers[:-1]:
        x = jax.nn.relu(x @ weights + bias)
    weights, bias = layers[-1]
    return x @ weights + bias


def loss(layers, x, y):
    return jnp.mean((forward(layers, x) - y) ** 2)


@jax.jit
def train_step(layers, x, y):
    value, slopes = jax.value_and_grad(loss)(layers, x, y)
    return jax.tree.map(lambda p, g: p - 1e-2 * g, layers, slopes), value


keys = jax.random.split(jax.random.key(0), len(SIZES) + 1)
layers = [
    (jax.random.normal(key, (a, b)) / a**0.5, jnp.zeros(b))
    for key, a, b in zip(keys, SIZES[:-1], SIZES[1:])
]
x = jax.random.normal(keys[-2], (256, SIZES[0]))
y = jax.random.normal(keys[-1], (256, SIZES[-1]))

times = []
for epoch in hodo.epochs(range(epochs)):
    for step in range(steps):
        start = time.perf_counter()
        if how == "scopes":
            with hodo.scope("train_step"):
                layers, value = train_step(layers, x, y)
        else:
            layers, value = train_step(layers, x, y)
        if epoch:
            times.append(time.perf_counter() - start)
    start = time.perf_counter()
    last = float(value)
    if epoch:
        # What the epoch's steps computed after they had been called.
        times[-1] += time.perf_counter() - start
jax.block_until_ready(layers)
gpu = hodo.health()["gpu"]
hooks = hodo.health().get("hooks", {}).get("jax")
told = {"step_s": sum(times) / len(times), "call_s": statistics.median(times), "loss": last}
print(json.dumps({**told, "gpu": gpu["state"], "hooks": hooks, "jax": jax.__version__}))
