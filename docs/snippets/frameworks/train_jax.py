"""JAX: a jitted step; compiling it and waiting for its result are scopes of their own."""

import hodo

hodo.profile()

import jax
import jax.numpy as jnp


@jax.jit
def train_step(w, x, y):
    value, slope = jax.value_and_grad(lambda w: jnp.mean((x @ w - y) ** 2))(w)
    return w - 0.1 * slope, value


x, w = jnp.ones((32, 4)), jnp.zeros((4, 1))
y = jnp.ones((32, 1))
for epoch in hodo.epochs(range(2)):
    for step in range(10):
        w, value = train_step(w, x, y)
    hodo.mark("loss", float(value), kind="summary")
