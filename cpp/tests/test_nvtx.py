"""Programs with NVTX and nothing of hodo, recorded by injecting the library."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import unittest
from pathlib import Path

from support import BUILT, HODO, Case, command

INCLUDE = os.environ.get("HODO_TEST_NVTX")
# The Python package `nvtx`, for this Python.
SITE = os.environ.get("HODO_TEST_NVTX_SITE")

SCRIPT = """
import sys
import nvtx

@nvtx.annotate("step", domain="Train", category="loop", payload=3)
def step():
    with nvtx.annotate("inner"):
        nvtx.mark("here")

for _ in range(3):
    step()
nvtx.end_range(nvtx.start_range("whole"))
nvtx.push_range("pushed")
nvtx.pop_range()
with nvtx.annotate():
    pass
sys.exit(4)
"""


class NvtxCase(Case):
    """Runs a program with NVTX under `hodo run`."""

    def client(self, source: str = "nvtx_client.c") -> Path:
        compiler, standard = ("gcc", "gnu11") if source.endswith(".c") else ("g++", "c++17")
        flags = ("-isystem", str(INCLUDE), "-ldl")
        return self.build(source, *flags, compiler=compiler, standard=standard)

    def under(self, *words: object, expect: int = 0, **env: str) -> subprocess.CompletedProcess[str]:
        done = self.start(HODO, "run", "--", *map(str, words), **env)
        self.assertEqual(done.returncode, expect, done.stdout + done.stderr)
        return done

    def exported(self) -> list[dict]:
        done = command(HODO, "export", "--to", "chrome", "--dir", self.folder / "runs")
        return json.loads(done.stdout)["traceEvents"]

    def attributes(self, name: str) -> list[dict]:
        """Of the scopes of a name, in order of their start."""
        spans = [e for e in self.exported() if e["ph"] == "X" and e["name"] == name]
        own = ("cpu_ns", "hodo.overhead", "hodo.scope_id")
        ordered = sorted(spans, key=lambda span: float(span["ts"]))
        return [{k: v for k, v in s.get("args", {}).items() if k not in own} for s in ordered]

    def marks(self, *path: str) -> dict[str, dict]:
        node = next(n for n in self.report()["nodes"] if tuple(n["path"]) == path)
        return {m["name"]: m for m in node["marks"] if m["name"] != "hodo.overhead"}


@unittest.skipUnless(INCLUDE, "the headers of NVTX could not be fetched")
class Nvtx(NvtxCase):
    def test_ranges_are_scopes(self) -> None:
        done = self.under(self.client(), "all")
        self.assertEqual(done.stdout, "")
        self.assertRegex(done.stderr, r"^hodo: recorded 1 process, 25 scopes in \S+; `hodo report \S+` shows it\n$")
        inside = {
            "wide ä😀": 1, "(no message)": 1, "not UTF-8: \ufffd": 1, "buffer 0": 2, "buffer 1": 2,
            "buffer 2": 2, "registered": 1, "registered wide": 1, "categories": 2, "payload": 6,
            "in a domain": 1, "ends elsewhere": 1,
        }
        expected = {("all", name): count for name, count in inside.items()}
        expected |= {("all",): 1, ("all", "in a domain", "crossing"): 1, ("in a thread",): 1}
        expected |= {("in a destructor",): 1}
        self.assertEqual(self.paths(), expected)

    def test_what_a_range_says_of_itself_is_kept(self) -> None:
        self.under(self.client(), "all")
        self.assertEqual(self.attributes("categories"), [{"nvtx.category": "input"}, {"nvtx.category": 3}])
        values = [-5, 6, 0.5, -7, 8, 0.25]
        self.assertEqual(self.attributes("payload"), [{"nvtx.payload": value} for value in values])
        self.assertEqual(self.attributes("in a domain"), [{"tag": "Library"}])
        self.assertEqual(self.attributes("all"), [{}])

    def test_marks_are_marks(self) -> None:
        self.under(self.client(), "all")
        marks = self.marks("all")
        self.assertEqual({name: (m["count"], m["last"]) for name, m in marks.items()},
                         {"plain mark": (1, True), "wide mark": (1, True), "loss": (2, 0.125)})
        self.assertEqual(marks["loss"]["last_attrs"], {"tag": "Library"})

    def test_threads_have_the_names_they_were_given(self) -> None:
        self.under(self.client(), "all")
        names = [e["args"]["name"] for e in self.exported() if e["name"] == "thread_name"]
        self.assertTrue(any("a thread with a name" in name for name in names), names)

    def test_a_fork_records_on_both_sides(self) -> None:
        self.under(self.client(), "forks")
        top = ("before the fork",)
        counts = self.paths()
        self.assertEqual(counts, {top: 1, (*top, "in the child"): 1, (*top, "in a destructor"): 1,
                                  ("in a destructor",): 1})
        self.assertEqual(len(self.report()["processes"]), 2)

    def test_forks_while_other_threads_are_in_hodo(self) -> None:
        self.under(self.client(), "fork-storm")
        counts = self.paths()
        self.assertEqual(counts.pop(("in a child",)), 30)
        self.assertEqual(sum(counts.values()), 20_001)
        command(HODO, "verify", "--dir", self.folder / "runs")

    def test_ranges_that_nobody_pops_end_nowhere(self) -> None:
        done = self.under(self.client(), "never-pops")
        self.assertIn("deeper than 64", done.stderr)
        self.assertEqual(sum(self.paths().values()), 64 + 1)

    def test_numbers_in_operators_of_torch_are_attributes(self) -> None:
        self.under(self.client(), "operators")
        self.assertEqual(self.paths(), {("aten::add",): 1000, ("aten::add, seq = ",): 1,
                                        ("in a destructor",): 1})
        self.assertEqual(self.attributes("aten::add")[41], {"seq": 41, "op_id": 42})

    def test_exit_handlers_and_destructors_record(self) -> None:
        self.under(self.client(), "exits")
        self.assertEqual(self.paths(), {("main",): 1, ("at exit",): 1, ("in a destructor",): 1})

    def test_a_killed_program_leaves_its_ranges_open(self) -> None:
        child = subprocess.Popen(
            [HODO, "run", "--", self.client(), "waits"], env=self.environment(), text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
        )
        self.addCleanup(child.wait)
        self.assertEqual(child.stdout.readline(), "ready\n")
        program = self.report()["processes"][0]["info"]["pid"]
        os.kill(program, signal.SIGKILL)
        _, errors = child.communicate(timeout=600)
        self.assertEqual(child.returncode, -signal.SIGKILL)
        self.assertIn("4 scopes, 3 of them left open in ", errors)
        report = self.report()
        self.assertEqual({tuple(n["path"]): n["open"] for n in report["nodes"]},
                         {("outer",): 1, ("outer", "inner"): 1, ("outer", "inner", "started"): 1,
                          ("outer", "inner", "closed"): 0})

    def test_without_being_asked_nothing_is_recorded(self) -> None:
        library = str(BUILT / "libhodo.so")
        done = self.start(self.client(), "many", "3", NVTX_INJECTION64_PATH=library)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        self.assertFalse((self.folder / "runs").exists())
        done = self.under(self.client(), "many", "3", HODO="0")
        self.assertIn("nothing was recorded", done.stderr)
        self.assertFalse((self.folder / "runs").exists())

    def test_scopes_and_ranges_are_one_tree(self) -> None:
        library = str(BUILT / "libhodo.so")
        program = self.client("nvtx_mixed.cpp")
        said = self.run_well(program, "one tree", NVTX_INJECTION64_PATH=library)
        self.assertEqual(said, "1 unmatched\n")
        self.assertEqual(self.paths(), {("outer",): 1, ("outer", "scope"): 1,
                                        ("outer", "scope", "inner"): 1})
        self.assertEqual(list(self.marks("outer", "scope", "inner")), ["loss"])

    def test_a_recorder_that_was_stopped_stays_so(self) -> None:
        done = self.under(self.client("nvtx_mixed.cpp"), "stopped")
        self.assertEqual(done.stdout, "on 1\non 0\n")
        self.assertEqual(self.paths(), {("open at the end",): 1})


@unittest.skipUnless(SITE, "the Python package nvtx could not be fetched")
class PythonNvtx(NvtxCase):
    def test_a_script_is_recorded_as_it_is(self) -> None:
        script = self.folder / "train.py"
        script.write_text(SCRIPT)
        self.under(sys.executable, script, expect=4, PYTHONPATH=str(SITE))
        report = self.report()
        self.assertEqual(report["run"]["app"], "train")
        self.assertEqual(self.paths(), {("step",): 3, ("step", "inner"): 3, ("whole",): 1,
                                        ("pushed",): 1, ("(no message)",): 1})
        self.assertEqual(self.marks("step", "inner")["here"]["count"], 3)
        step = {"tag": "Train", "nvtx.category": "loop", "nvtx.payload": 3}
        self.assertEqual(self.attributes("step"), [step] * 3)


    @unittest.skipUnless(os.environ.get("HODO_TEST_SITE"), "hodo for Python was not built")
    def test_hodo_and_nvtx_are_one_tree_whoever_comes_first(self) -> None:
        site = os.pathsep.join([str(SITE), os.environ["HODO_TEST_SITE"]])
        tree = {("a",): 1, ("a", "b"): 1, ("a", "b", "c"): 1}
        for first, said in (("nvtx.mark('first')", "already"), ("hodo.init()", "already"), ("", "on")):
            script = self.folder / "mixed.py"
            script.write_text(f"""
import hodo, nvtx
{first}
print(hodo.init())
nvtx.push_range("a")
with hodo.scope("b"):
    with nvtx.annotate("c"):
        pass
nvtx.pop_range()
""")
            done = self.under(sys.executable, script, PYTHONPATH=site)
            self.assertEqual(done.stdout, said + "\n", first)
            self.assertEqual(self.paths(), tree, first)
            self.assertEqual(len(self.report()["processes"]), 1)


if __name__ == "__main__":
    unittest.main()
