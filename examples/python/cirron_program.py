"""A program written for cirron-sdk; all that changed is its import, `import cirron as ci`."""

import random
from collections.abc import Iterator

import hodo.compat.cirron as ci

ci.profile()
rng = random.Random(7)
for epoch in ci.epochs(range(2)):
    for batch in ci.batches([[rng.random() for _ in range(8)] for _ in range(5)]):
        with ci.scope("forward", variant="small", tag="fp32") as s:
            loss = sum(batch) / len(batch)
            s.attrs["rows"] = len(batch)
        ci.mark("loss", loss)
    ci.mark("accuracy", 0.9, kind="summary")


@ci.inference
def generate(prompt: str) -> Iterator[str]:
    for word in prompt.split():
        yield word.upper()


print(" ".join(generate("three words here")), ci.health()["scope_drop_count"])
ci.shutdown()
