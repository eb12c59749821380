"""What the page of frameworks shows is what runs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parents[3] / "docs"


def snippet(name: str) -> str:
    text = (DOCS / "frameworks.md").read_text()
    found = re.search(rf"^```python file={name}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert found is not None, name
    return found[1]


def test_the_page_has_the_tree_of_its_script(ran: Any) -> None:
    run = ran(snippet("train.py"), "torch")
    shown = re.findall(r"(?:─ |^)(\w+)(?: / \w+)? +(\d+)$", (DOCS / "frameworks.md").read_text(), re.MULTILINE)
    counts = sorted((node["name"], str(node["count"])) for node in run.report["nodes"])
    assert counts == sorted((name, count) for name, count in shown[: len(counts)])


def test_scopes_of_ones_own(ran: Any) -> None:
    run = ran(snippet("own.py"), "torch")
    block = re.search(r"^```text\n(train 1\n.*?)\n```$", (DOCS / "frameworks.md").read_text(), re.MULTILINE | re.DOTALL)
    assert block is not None and run.tree == block[1]


def test_layers(ran: Any) -> None:
    run = ran(snippet("layers.py"), "torch")
    assert run.tree == "forward 1\n  Linear.0 1\n  ReLU.1 1"


def test_links_lead_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", (DOCS / "frameworks.md").read_text()):
        assert (DOCS / target).exists(), target
