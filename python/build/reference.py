"""Writes docs/python-reference.md from the docstrings; with --check says whether it is up to date."""

from __future__ import annotations

import inspect
import re
import sys
from pathlib import Path

import hodo
import hodo._bench
import hodo._trace
import hodo._window

FILE = Path(__file__).resolve().parents[2] / "docs" / "python-reference.md"
HEAD = """# Python reference

Made from the docstrings by `python python/build/reference.py`; a test keeps it up to date. The tutorial is
[`python.md`](python.md).
"""
GROUPS = {
    "Starting and stopping": ["init", "profile", "shutdown", "flush", "is_on", "health"],
    "Recording": ["scope", "mark", "epochs", "batches", "begin"],
    "Threads and processes": ["attach", "current", "carry", "child_env"],
    "Serving": ["inference", "tokens", "request_id", "traceparent"],
    "Frameworks": ["wrap", "unwrap"],
    "Benchmarks": ["bench", "Statistics"],
    "The GPU, closer": ["window", "Window"],
    "Reading": ["open", "trace", "report", "sql", "Run", "Table"],
    "Context numbers": ["current_scope_id", "enter_new_scope"],
    "What these return": ["Scope", "Begin", "Link", "NewScope"],
}


def entry(name: str) -> str:
    thing = getattr(hodo, name)
    if inspect.isclass(thing):
        return f"### {name}\n\n{text(thing)}\n{members(thing)}"
    return f"### {name}\n\n```python\n{name}{signature(thing)}\n```\n\n{text(thing)}\n"


def text(thing: object) -> str:
    """A docstring as Markdown: what is said of each argument or key becomes a list."""
    lines = re.sub(r":\w+:`(.*?)`", r"`\1`", inspect.getdoc(thing) or "").replace("``", "`")
    lines = re.sub(r"^([a-z_]\w*(?:, \w+)*)(?=: )", r"- **\1**", lines, flags=re.MULTILINE)
    return re.sub(r"^([a-z_]\w*(?:, \w+)+)\.$", r"- **\1**", lines, flags=re.MULTILINE)


def signature(thing: object) -> str:
    """The signature, an argument a line where it is long."""
    found = str(inspect.signature(thing)).replace("'", "")  # type: ignore[arg-type]
    found = re.sub(r"=\s?(point|tree|df|pc-sampling)\b", r'="\1"', found)
    found = re.sub(r"\(self(, /)?(, )?", "(", found)
    if len(found) < 90:
        return found
    inside, result = found[1:].rsplit(")", 1)
    arguments = re.split(r", (?![^\[]*\])", inside)
    return "(\n" + "".join(f"    {argument},\n" for argument in arguments) + ")" + result


def members(kind: type) -> str:
    lines = []
    for name, thing in sorted(vars(kind).items()):
        if name.startswith("_") or not inspect.getdoc(thing):
            continue
        call = signature(thing) if callable(thing) else ""
        lines.append(f"- `{name}{call}`: {text(thing).splitlines()[0]}")
    return "\n" + "\n".join(lines) + "\n" if lines else ""


def page() -> str:
    missing = set(hodo.__all__) - {name for names in GROUPS.values() for name in names}
    assert not missing, f"no group for {sorted(missing)}"
    parts = [HEAD]
    for title, names in GROUPS.items():
        parts.append(f"## {title}\n")
        parts.extend(entry(name) for name in names)
    return "\n".join(parts)


def main() -> int:
    if "--check" in sys.argv:
        same = FILE.read_text() == page()
        if not same:
            print(f"{FILE.name} is out of date: run python/build/reference.py", file=sys.stderr)
        return 0 if same else 1
    FILE.write_text(page())
    return 0


if __name__ == "__main__":
    sys.exit(main())
