import sys

import hodo

hodo.init(app="cupy")
try:
    import cupy
except ImportError:
    sys.exit(77)
x = cupy.ones(4096)
x += 1
with hodo.scope("launches"):
    for _ in range(25):
        x += 1
cupy.cuda.Device().synchronize()
