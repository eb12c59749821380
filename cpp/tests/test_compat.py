"""A program written for GPUFlight builds against hodo, unchanged."""

import json
import subprocess
import time
from pathlib import Path

from support import HODO, INCLUDE, Case

EPOCH = ("training", "epoch")


class Gpuflight(Case):
    def test_builds_and_records(self) -> None:
        program = self.build("gpuflight_program.cpp", "-O2", f"-I{INCLUDE / 'hodo' / 'compat'}")
        self.run_until_read(program)
        self.assertEqual(self.paths(), {
            ("training",): 1,
            EPOCH: 2,
            (*EPOCH, "forward"): 2,
            (*EPOCH, "backward"): 2,
            (*EPOCH, "optimizer"): 2,
            ("data_loading",): 1,
            ("data_loading", "decode"): 1,
            ("matmul warm-up",): 1,
            ("matmul warm-up", "iteration"): 3,
            ("matmul",): 1,
            ("matmul", "iteration"): 10,
            ("empty",): 1,
        })
        tags = {n["name"]: n["tag"] for n in self.report()["nodes"] if n["tag"]}
        self.assertEqual(tags["optimizer"], {"one": "sgd"})
        self.assertEqual(tags["epoch"], {"many": 2})
        self.assertTrue(self.was_read(), "the machine was read, as the options say")

    def was_read(self) -> bool:
        """Whether the run has readings of one machine."""
        done = self.start(HODO, "report", "--json")
        machines = json.loads(done.stdout)["machines"] if done.returncode == 0 else []
        return len(machines) == 1 and len(machines[0]["series"]) > 0

    def run_until_read(self, program: Path) -> None:
        """Runs a program, which ends when the machine was read, or was not for minutes."""
        pipe = subprocess.PIPE
        child = subprocess.Popen([program], env=self.environment(), cwd=self.folder, text=True,
                                 stdin=pipe, stdout=pipe, stderr=pipe)
        until = time.monotonic() + 300
        while child.poll() is None and not self.was_read() and time.monotonic() < until:
            time.sleep(0.05)
        said = child.communicate("\n", timeout=600)
        self.assertEqual(child.returncode, 0, said)

    def test_disabled(self) -> None:
        program = self.build("gpuflight_program.cpp", "-O2", f"-I{INCLUDE / 'hodo' / 'compat'}")
        self.assertEqual(self.start(program, GPUFL_DISABLED="1").returncode, 1)
        self.assertFalse((self.folder / "runs").exists())
