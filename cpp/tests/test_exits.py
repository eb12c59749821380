"""Every way a program can end: nothing that was closed is lost, the exit code is the program's."""

import shutil
import signal

from support import HEAVY, Case

RUNS = 100 if HEAVY else 3
# How, and the code (negative: the signal) that the program ends with.
WAYS = {
    "return": 0,
    "exit": 3,
    "quick_exit": 8,
    "_exit": 9,
    "abort": -signal.SIGABRT,
    "terminate": -signal.SIGABRT,
    "kill -9": -signal.SIGKILL,
    "static destructor": 4,
    "thread that outlives main": 10,
    "thread end": 7,
    "pthread_exit": 11,
    "fork": 5,
}


class Exits(Case):
    def steps_after(self, code: int, *arguments: str) -> int:
        done = self.start(self.build("exits.cpp", "-O2"), *arguments)
        self.assertEqual(done.returncode, code, done.stderr)
        report = self.report()
        shutil.rmtree(self.folder / "runs")
        self.assertEqual(report["records"]["lost_records"], 0)
        return sum(n["count"] for n in report["nodes"] if n["name"] == "step")

    def test_every_way(self) -> None:
        for how, code in WAYS.items():
            for run in range(RUNS):
                with self.subTest(how=how, run=run):
                    self.assertEqual(self.steps_after(code, how), 1000)

    def test_a_plugin_that_is_unloaded(self) -> None:
        plugin = self.build("plugin.cpp", "-O2", "-fPIC", "-shared")
        for run in range(RUNS):
            with self.subTest(run=run):
                self.assertEqual(self.steps_after(6, "dlclose", str(plugin)), 1000)
