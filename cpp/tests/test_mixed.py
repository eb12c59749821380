"""Several copies of hodo in one process, in several languages: one tree."""

import os
from pathlib import Path

from support import BUILT, STATIC_LIBS, TESTS, Case, command

HOST = TESTS / "host" / "Cargo.toml"
EACH = {("host",): 100, ("host", "plugin"): 100, ("host", "plugin", "called back"): 100}


class Mixed(Case):
    @classmethod
    def setUpClass(cls) -> None:
        command("cargo", "build", "--quiet", "--locked", "--release", "--manifest-path", HOST)
        target = os.environ.get("CARGO_TARGET_DIR", HOST.parent / "target")
        cls.host = Path(target) / "release" / "hodo-test-host"

    def test_one_tree(self) -> None:
        by_library = self.build("called.cpp", "-O2", "-fPIC", "-shared")
        own_copy = self.build("called.cpp", "-O2", "-fPIC", "-shared", "-DHODO_STATIC",
                              str(BUILT / "libhodo.a"), *STATIC_LIBS, "-Wl,--exclude-libs,ALL")
        for first in ("host", "plugin"):
            for injected in (False, True):
                for plugins in ((by_library,), (own_copy,), (own_copy, by_library)):
                    with self.subTest(first=first, injected=injected, plugins=len(plugins)):
                        preload = {"LD_PRELOAD": str(BUILT / "libhodo.so")} if injected else {}
                        self.run_well(self.host, first, *map(str, plugins), **preload)
                        want = {path: n * len(plugins) for path, n in EACH.items()}
                        self.assertEqual(self.paths(), want)
                        self.assertEqual(len(self.report()["processes"]), 1)
