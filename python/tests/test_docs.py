"""What the pages show is what runs."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path

import pytest
import runs
from helpers import Run, plugin, record

DOCS = Path(__file__).resolve().parents[2] / "docs"
BLOCK = re.compile(r"^```python(?P<about>[^\n]*)\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page: str, about: str = "") -> list[str]:
    """The Python snippets of a page, each on the lines it has there."""
    text = (DOCS / page).read_text()
    found = [block for block in BLOCK.finditer(text) if block["about"].strip() == about]
    return ["\n" * (text.count("\n", 0, block.start()) + 1) + block["code"] for block in found]


def program(snippets: list[str]) -> str:
    """One program of all snippets, with the page's line numbers."""
    lines: list[str] = []
    for snippet in snippets:
        own = snippet.split("\n")
        lines += own[len(lines) :]
    return "\n".join(lines)


def test_the_tutorial(tmp_path: Path) -> None:
    reads = find_spec("hodo._trace") is not None
    snippets = [code for code in blocks("python.md") if reads or "hodo.trace" not in code]
    run = record(tmp_path, program(snippets))
    counts = {tuple(node["path"]): node["count"] for node in run.report["nodes"]}
    expected = {
        ("load",): 1,
        ("step",): 3,
        ("backward",): 1,
        ("parse",): 1,
        ("evaluate",): 1,
        ("epoch",): 2,
        ("epoch", "batch"): 6,
        ("epoch", "batch", "data_wait"): 6,
        ("epoch", "batch", "forward"): 6,
        ("tokenize",): 1,
        ("embed",): 1,
        ("gather",): 1,
        ("gather", "fetch"): 10,
        ("images",): 1,
        ("images", "resize"): 8,
        ("copy",): 1,
        ("work",): 1,
        ("work", "iteration"): 20,
        ("sort",): 1,
        ("sort", "iteration"): 10,
    }
    assert expected.items() <= counts.items()
    assert run.node("parse")["failed"] == 1
    assert run.marks("evaluate")["loss"]["count"] == 3
    assert run.attributes("step")[2] == {"index": 2, "variant": "small", "total": 499500}
    assert "all is well" in run.output


def test_the_tutorials_queries(tmp_path: Path) -> None:
    pytest.importorskip("duckdb")
    (code,) = blocks("python.md", "sql")
    recorded = "import hodo\nhodo.init(app='asked')\nwith hodo.scope('work'):\n    sum(range(10**5))\nhodo.shutdown()"
    runs.run(tmp_path, recorded)
    assert "1 row" in runs.run(tmp_path, code.lstrip("\n")).out


def test_the_tutorials_test(tmp_path: Path) -> None:
    (code,) = blocks("python.md", "file=test_speed.py")
    (tmp_path / "test_speed.py").write_text(code)
    start = "import pytest, sys; sys.exit(pytest.main(sys.argv[1:]))"
    arguments = ("--rootdir", str(tmp_path), "--hodo", "-p", "no:cacheprovider")
    runs.run(tmp_path, start, *arguments, *plugin(), str(tmp_path / "test_speed.py"))
    assert Run(tmp_path).node("test_speed", "call", "sum")["bench"]["iterations"] == 20


@pytest.mark.parametrize("number, tree", [(0, "epoch 2"), (1, "forward_pass 3")])
def test_moving_over(tmp_path: Path, number: int, tree: str) -> None:
    run = record(tmp_path, blocks("moving-over.md")[number])
    assert tree in run.tree.splitlines()


def test_serving(tmp_path: Path) -> None:
    run = record(tmp_path, program(blocks("serving.md")))
    counts = {tuple(node["path"]): node["count"] for node in run.report["nodes"]}
    expected = {
        ("request",): 54,
        ("request", "prefill"): 50,
        ("request", "decode"): 400,
        ("http",): 1,
        ("http", "request"): 1,
        ("http", "request", "decode"): 3,
    }
    assert expected.items() <= counts.items()
    marks = run.marks("request")
    assert marks["time_to_first_token_ms"]["count"] == 50
    assert marks["output_tokens"]["count"] == 53
    assert run.attributes("http")[0]["request_id"] == "r-17"


@pytest.mark.parametrize("page", ["python.md", "moving-over.md", "serving.md", "frameworks-more.md"])
def test_links_lead_somewhere(page: str) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", (DOCS / page).read_text()):
        if target.startswith("https://"):
            continue
        assert (DOCS / target).exists(), target


def test_the_reference_is_what_the_docstrings_say() -> None:
    import subprocess
    import sys

    script = Path(__file__).parents[1] / "build" / "reference.py"
    done = subprocess.run([sys.executable, script, "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
