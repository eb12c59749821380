"""docs/snippets/frameworks: each program has the tree beside it, and the page has both.

With ``HODO_BLESS=1`` the trees are written as they were recorded, and the page of them.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import runs
from helpers import Run

DOCS = Path(__file__).resolve().parents[3] / "docs"
SNIPPETS = DOCS / "snippets" / "frameworks"
PAGE = DOCS / "frameworks-trees.md"
# What each needs, with what it is called on the page.
NEEDS: dict[str, tuple[str, tuple[str, ...]]] = {
    "train_torch": ("torch", ("torch",)),
    "train_ddp": ("DistributedDataParallel", ("torch",)),
    "train_accelerate": ("accelerate", ("torch", "accelerate")),
    "train_transformers": ("transformers", ("torch", "transformers", "accelerate")),
    "train_lightning": ("lightning", ("torch", "lightning")),
    "train_keras": ("Keras", ("keras", "jax")),
    "train_jax": ("JAX", ("jax",)),
    "train_sklearn": ("scikit-learn", ("sklearn",)),
    "serve_stream": ("A stream of tokens", ()),
    "serve_asgi": ("A web server", ()),
    "serve_generate": ("generate of transformers", ("torch", "transformers")),
}
ENVIRONMENT = {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "CUDA_VISIBLE_DEVICES": "",
               "JAX_PLATFORMS": "cpu", "KERAS_BACKEND": "jax"}
IS_BLESSING = os.environ.get("HODO_BLESS") == "1"
HEAD = """# What each framework's tree looks like

Programs of [`snippets/frameworks`](snippets/frameworks), as they are, and what was recorded of them. Made by
`HODO_BLESS=1 make test-hooks`, which compares them otherwise; so each of these is what comes out today.
What the scopes are is said in [`frameworks.md`](frameworks.md), [`frameworks-more.md`](frameworks-more.md) and
[`serving.md`](serving.md). Times are left out: they are in `hodo report`.
"""


def first_starts(run: Run) -> dict[str, float]:
    """When the first scope of each name began."""
    found: dict[str, float] = {}
    for span in reversed(run._spans):
        found[span["name"]] = float(span["ts"])
    return found


def drawn(run: Run) -> str:
    """The tree with counts, in the order in which things happened, and the marks below it."""
    starts, nodes = first_starts(run), {tuple(node["path"]): node for node in run.report["nodes"]}

    def below(path: tuple[str, ...]) -> list[tuple[str, ...]]:
        inside = [each for each in nodes if each[:-1] == path]
        return sorted(inside, key=lambda each: starts[each[-1]])

    def lines(path: tuple[str, ...], lead: str) -> Iterator[tuple[str, int]]:
        inside = below(path)
        for each in inside:
            is_last, is_top = each == inside[-1], not path
            branch = "" if is_top else "└─ " if is_last else "├─ "
            tag = (nodes[each]["tag"] or {}).get("one") if isinstance(nodes[each]["tag"], dict) else None
            yield lead + branch + each[-1] + (f" / {tag}" if tag else ""), nodes[each]["count"]
            yield from lines(each, lead + ("" if is_top else "   " if is_last else "│  "))

    rows = list(lines((), ""))
    wide = max(len(name) for name, _ in rows)
    tree = [f"{name:<{wide}} {count:>4}" for name, count in rows]
    marks = [
        f"mark {mark['name']}{' (summary)' if mark['summary'] else ''} in {'/'.join(node['path'])} {mark['count']}"
        for node in run.report["nodes"]
        for mark in node["marks"]
        if mark["name"] != "hodo.overhead"
    ]
    return "\n".join([*tree, *([""] if marks else []), *sorted(marks)]) + "\n"


@pytest.mark.parametrize("name", NEEDS)
def test_the_tree_is_the_one_beside_the_program(tmp_path: Path, name: str) -> None:
    for each in NEEDS[name][1]:
        if find_spec(each) is None:
            pytest.skip(f"{each} is not installed")
    command = [sys.executable, str(SNIPPETS / f"{name}.py")]
    env = runs.environment(tmp_path, **ENVIRONMENT)
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=600, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    tree = drawn(Run(tmp_path))
    file = SNIPPETS / f"{name}.txt"
    if IS_BLESSING:
        file.write_text(tree)
    assert tree == file.read_text()


def page() -> Any:
    yield HEAD
    for name, (title, _) in NEEDS.items():
        program, tree = (SNIPPETS / f"{name}{end}" for end in (".py", ".txt"))
        yield f"## {title}\n\n```python\n{program.read_text()}```\n\n```text\n{tree.read_text()}```\n"


def test_the_page_is_made_of_them() -> None:
    text = "\n".join(page())
    if IS_BLESSING:
        PAGE.write_text(text)
    assert PAGE.read_text() == text, "HODO_BLESS=1 makes it anew"
    assert sorted(NEEDS) == sorted(file.stem for file in SNIPPETS.glob("*.py"))
