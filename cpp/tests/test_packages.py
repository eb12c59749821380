"""Projects that use hodo: find_package, FetchContent, pkg-config."""

import os
import shutil
import unittest
from pathlib import Path

from support import ROOT, TESTS, Case, command

PREFIX = Path(os.environ["HODO_TEST_PREFIX"])
CONSUMER = TESTS / "consumer"


class Packages(Case):
    def records(self, program: Path) -> None:
        self.run_well(program, library=None)
        self.assertEqual(self.paths(), {("consumed",): 1})

    def configure(self, *settings: str) -> Path:
        build = self.folder / "build"
        command("cmake", "-S", CONSUMER, "-B", build, "-DCMAKE_BUILD_TYPE=Release", *settings)
        command("cmake", "--build", build)
        return build

    @unittest.skipUnless(shutil.which("cmake"), "cmake is not installed")
    def test_find_package(self) -> None:
        build = self.configure(f"-DCMAKE_PREFIX_PATH={PREFIX}")
        for program in ("found", "static", "plain"):
            with self.subTest(program=program):
                self.records(build / program)

    @unittest.skipUnless(shutil.which("cmake"), "cmake is not installed")
    def test_fetch_content(self) -> None:
        self.records(self.configure(f"-DHODO_SOURCE={ROOT}") / "found")

    @unittest.skipUnless(shutil.which("pkg-config"), "pkg-config is not installed")
    def test_pkg_config(self) -> None:
        where = {**os.environ, "PKG_CONFIG_PATH": str(PREFIX / "lib" / "pkgconfig")}
        flags = command("pkg-config", "--cflags", "--libs", "hodo", env=where).stdout.split()
        program = self.folder / "program"
        command("gcc", "-std=c11", CONSUMER / "main.c", "-o", program, *flags)
        self.run_well(program, library=PREFIX / "lib")
        self.assertEqual(self.paths(), {("consumed",): 1})
