"""What the page of Keras, JAX and scikit-learn shows is what runs."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
import runs
from helpers import Run, record
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


@pytest.mark.parametrize("name", ["keras", "jax", "sklearn"])
def test_programs_without_a_line_of_hodo(tmp_path: Path, name: str) -> None:
    backends = [one for one in ("jax", "torch", "tensorflow") if find_spec(one)]
    if not find_spec(name) or not backends:
        pytest.skip(f"no {name}, or nothing that it computes with")
    (code,) = blocks(PAGE, name)
    code = code.replace("hodo.epochs(range(3))", "range(3)")
    lines = [line for line in code.splitlines() if "hodo" not in line]
    program = runs.written(tmp_path, "\n".join(lines))
    env = {"KERAS_BACKEND": backends[0], "CUDA_VISIBLE_DEVICES": "", "JAX_PLATFORMS": "cpu"}
    command = [str(runs.PROGRAM), "run", "--hooks", "--", sys.executable, str(program)]
    done = subprocess.run(
        command, env=runs.environment(tmp_path, **env), capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0 and "rror" not in done.stderr, done.stderr
    counts = {tuple(node["path"]): node["count"] for node in Run(tmp_path).report["nodes"]}
    first = {"keras": "fit", "jax": "train_step", "sklearn": "GridSearchCV.fit"}[name]
    assert counts[(first,)] == (60 if name == "jax" else 1)
    assert name == "jax" or TREES[name].items() <= counts.items(), counts
