"""The examples build as their first lines say, and record."""

import shutil
import unittest

from support import BUILT, INCLUDE, ROOT, STRICT, Case, command

EXAMPLES = ROOT / "examples"


class Examples(Case):
    def test_c(self) -> None:
        program = self.folder / "train"
        command("gcc", "-std=c11", *STRICT, f"-I{INCLUDE}", EXAMPLES / "c" / "train.c", "-o", program,
                f"-L{BUILT}", "-lhodo", "-lm")
        self.assertIn("recorded into", self.run_well(program))
        self.assertEqual(self.paths(), {("epoch",): 3, ("epoch", "forward"): 60})

    def test_cpp(self) -> None:
        program = self.folder / "train"
        command("g++", "-std=c++17", *STRICT, "-pthread", f"-I{INCLUDE}",
                EXAMPLES / "cpp" / "train.cpp", "-o", program)
        self.run_well(program)
        paths = self.paths()
        self.assertEqual(paths[("load", "decode", "forward")], 4)
        self.assertEqual(paths[("epoch", "batch", "step", "forward")], 15)
        self.assertEqual(paths[("forward alone", "iteration")], 20)

    @unittest.skipUnless(shutil.which("nvcc"), "nvcc is not installed")
    def test_cuda_compiles(self) -> None:
        program = self.folder / "saxpy"
        command("nvcc", "-std=c++17", f"-I{INCLUDE}", EXAMPLES / "cuda" / "saxpy.cu", "-ldl", "-o",
                program)
        # Scopes are recorded also where there is no GPU.
        self.run_well(program)
        self.assertEqual(self.paths()[("saxpy", "wait")], 10)
