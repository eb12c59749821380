"""The programs of the other tests under the sanitizers."""

from support import ROOT, Case, compilers, links
from test_features import TREE

SUPPRESSIONS = ROOT / "cpp" / "sanitizers"
NO_REPORTS = {
    "ASAN_OPTIONS": "detect_leaks=1:exitcode=66",
    "LSAN_OPTIONS": f"suppressions={SUPPRESSIONS / 'lsan.supp'}:print_suppressions=0",
    "UBSAN_OPTIONS": "halt_on_error=1:exitcode=66",
    "TSAN_OPTIONS": f"suppressions={SUPPRESSIONS / 'tsan.supp'}:halt_on_error=1:exitcode=66",
}
SANITIZERS = ("address,undefined", "thread")


class Sanitizers(Case):
    def test_features(self) -> None:
        for sanitizer in SANITIZERS:
            with self.subTest(sanitizer=sanitizer):
                program = self.build("features.cpp", "-O1", "-g", f"-fsanitize={sanitizer}")
                self.run_well(program, **NO_REPORTS)
                self.assertEqual(self.paths(), TREE)

    def test_threads(self) -> None:
        for compiler in compilers("c++"):
            for sanitizer in SANITIZERS:
                with self.subTest(compiler=compiler, sanitizer=sanitizer):
                    if not links(compiler, f"-fsanitize={sanitizer}"):
                        self.skipTest(f"{compiler} is installed without its sanitizers")
                    program = self.build("threads.cpp", "-O1", "-g", f"-fsanitize={sanitizer}",
                                         compiler=compiler)
                    self.run_well(program, **NO_REPORTS)
                    paths = self.paths()
                    self.assertEqual(paths[("all", "step")], 4000)
                    self.assertEqual(paths[("all", "handle")], 8)
                    named = [n for path, n in paths.items() if path[:2] == ("all", "step")]
                    self.assertEqual(sum(named), 8000)
