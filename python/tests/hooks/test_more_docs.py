"""What the page of Keras, JAX and scikit-learn shows is what runs."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest
from helpers import record
from test_docs import blocks

PAGE = "frameworks-more.md"
# Of each program what is in its tree, and how often.
TREES = {
    "keras": {("fit", "epoch"): 3, ("fit", "epoch", "step"): 24, ("fit", "epoch", "evaluate"): 3},
    "jax": {
        ("epoch", "train_step"): 60,
        ("epoch", "train_step", "compile"): 1,
        ("epoch", "device_get"): 3,
    },
    "sklearn": {
        ("GridSearchCV.fit", "Pipeline.fit", "LogisticRegression.fit"): 16,
        ("GridSearchCV.fit", "Pipeline.score"): 15,
    },
    "wrap": {("Pipeline.fit",): 4, ("Pipeline.score",): 4},
}


@pytest.mark.parametrize("name", TREES)
def test_programs(tmp_path: Path, name: str) -> None:
    if not find_spec("sklearn" if name == "wrap" else name):
        pytest.skip(f"no {name}")
    backends = [one for one in ("jax", "torch", "tensorflow") if find_spec(one)]
    if name == "keras" and not backends:
        pytest.skip("nothing that Keras computes with")
    (code,) = blocks(PAGE, name)
    env = {"KERAS_BACKEND": "".join(backends[:1]), "CUDA_VISIBLE_DEVICES": ""}
    run = record(tmp_path, code, JAX_PLATFORMS="cpu", **env)
    counts = {tuple(node["path"]): node["count"] for node in run.report["nodes"]}
    assert TREES[name].items() <= counts.items(), run.tree
    assert run.left_open == 0
