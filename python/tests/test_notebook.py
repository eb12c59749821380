"""The `%%hodo` magic."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest
from helpers import record
from hodo._notebook import parse

CELLS = '''
from IPython.core.interactiveshell import InteractiveShell

shell = InteractiveShell.instance()
shell.run_line_magic("load_ext", "hodo")
shell.run_cell_magic("hodo", "train lr=0.1 model=small", """
import hodo
with hodo.scope("forward"):
    x = 3
""")
assert shell.user_ns["x"] == 3
shell.run_cell_magic("hodo", "", "1 / 0")
shell.run_cell("%%hodo again\\nx + 1")
'''


def test_a_cell_is_a_scope_and_its_report_is_shown(tmp_path: Path) -> None:
    pytest.importorskip("IPython")
    run = record(tmp_path, CELLS, IPYTHONDIR=str(tmp_path / "ipython"))
    assert run.tree == "again 1\ncell 1\ntrain 1\n  forward 1"
    assert run.attributes("train") == [{"lr": 0.1, "model": "small"}]
    assert run.attributes("cell") == [{"error": "ZeroDivisionError"}]
    assert ("forward" if find_spec("hodo._trace") else "hodo report") in run.output
    assert "ZeroDivisionError" in run.output


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("", (None, {})),
        ("train", ("train", {})),
        ("lr=0.1 train n=3", ("train", {"lr": 0.1, "n": 3})),
        ("'two words' text=abc quoted='a b'", ("two words", {"text": "abc", "quoted": "a b"})),
        ("ok=True shape=(2,3)", (None, {"ok": True, "shape": (2, 3)})),
    ],
)
def test_the_line_of_the_magic(line: str, expected: tuple[str | None, dict[str, object]]) -> None:
    assert parse(line) == expected


def test_a_second_name_is_refused() -> None:
    with pytest.raises(ValueError, match="second name"):
        parse("one two")
