"""docs/snippets: the same feature in every language records the same tree."""

from __future__ import annotations

import os
import subprocess
import sys
import unittest
from pathlib import Path

from support import BUILT, INCLUDE, ROOT, STRICT, Case, command

SNIPPETS = ROOT / "docs" / "snippets"
NAMES = sorted({file.stem for file in SNIPPETS.glob("*.py")})
# The installed Python package; without it the other languages are compared.
SITE = os.environ.get("HODO_TEST_SITE")
CPP = """#include <hodo/hodo.hpp>
#undef NDEBUG
#include <cassert>
#include <numeric>
#include <stdexcept>
#include <thread>
#include <vector>
int main() {{
hodo::init();
{}
hodo::shutdown();
}}
"""
C = """#include <hodo/hodo.h>
#undef NDEBUG
#include <assert.h>
int main(void) {{
hodo_init(NULL);
{}
hodo_shutdown();
return 0;
}}
"""
PYTHON = "import threading\nimport hodo\nhodo.init()\n"


class Snippets(Case):
    @classmethod
    def setUpClass(cls) -> None:
        command("cargo", "build", "--quiet", "--locked", "--release", "--manifest-path",
                SNIPPETS / "runner" / "Cargo.toml")
        target = os.environ.get("CARGO_TARGET_DIR", SNIPPETS / "runner" / "target")
        cls.rust = Path(target) / "release" / "hodo-snippets"

    def recorded(self, start: list) -> dict:
        """Paths with counts and failures, and marks, of one program's run."""
        runs = self.folder / "runs"
        subprocess.run(["rm", "-rf", runs], check=True)
        done = subprocess.run(list(map(str, start)), env=self.environment(PYTHONPATH=SITE or ""),
                              text=True, capture_output=True, timeout=600)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        nodes = self.report()["nodes"]
        marks = [(n["path"], m["name"], m["count"], m["summary"]) for n in nodes for m in n["marks"]
                 if m["name"] != "hodo.overhead"]
        scopes = {"/".join(n["path"]): (n["count"], n["failed"], n["tag"]) for n in nodes}
        return {"scopes": scopes, "marks": sorted(marks)}

    def compiled(self, compiler: str, standard: str, frame: str, file: Path, *flags: str) -> Path:
        source = self.folder / f"snippet{file.suffix}"
        source.write_text(frame.format(file.read_text()))
        program = self.folder / "snippet"
        command(compiler, f"-std={standard}", *STRICT, "-pthread", f"-I{INCLUDE}", source, "-o",
                program, *flags)
        return program

    def languages(self, name: str) -> dict[str, dict]:
        found = {"rs": self.recorded([self.rust, name])}
        cpp, c = SNIPPETS / f"{name}.cpp", SNIPPETS / f"{name}.c"
        found["cpp"] = self.recorded([self.compiled("g++", "c++17", CPP, cpp)])
        if c.exists():
            link = (f"-L{BUILT}", "-lhodo")
            found["c"] = self.recorded([self.compiled("gcc", "c11", C, c, *link)])
        if SITE:
            script = self.folder / "snippet.py"
            script.write_text(PYTHON + (SNIPPETS / f"{name}.py").read_text())
            found["py"] = self.recorded([sys.executable, script])
        return found

    def test_every_language_records_the_same(self) -> None:
        self.assertGreaterEqual(len(NAMES), 10)
        for name in NAMES:
            with self.subTest(snippet=name):
                found = self.languages(name)
                for language, recorded in found.items():
                    self.assertEqual(recorded, found["rs"], f"{name}.{language} against .rs")
                print(f"{name}: {' '.join(sorted(found))} record the same", file=sys.stderr)


if __name__ == "__main__":
    unittest.main()
