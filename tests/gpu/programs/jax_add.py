import os
import sys

os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
import hodo

hodo.init(app="jax")
try:
    import jax
    import jax.numpy as jnp
except ImportError:
    sys.exit(77)
if jax.default_backend() not in ("gpu", "cuda"):
    sys.exit(77)
add = jax.jit(lambda x: x + 1)
x = jnp.ones(4096)
add(x).block_until_ready()
with hodo.scope("launches"):
    for _ in range(25):
        x = add(x)
    x.block_until_ready()
