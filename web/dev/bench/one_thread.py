"""A run of so many scopes on one thread, in the folder `runs`: one_thread.py COUNT"""

import sys

import hodo

EACH = 16  # scopes of a step

hodo.init(app="bench", dir="runs", gpu="off", telemetry="off")
scope, made = hodo.scope, 0
while made < int(sys.argv[1]):
    with scope("epoch"):
        for step in range(1000):
            with scope("step", index=step):
                with scope("forward"):
                    for _ in range(6):
                        with scope("layer"):
                            pass
                with scope("backward"):
                    for _ in range(6):
                        with scope("layer"):
                            pass
                with scope("optimizer"):
                    pass
            made += EACH
hodo.shutdown()
