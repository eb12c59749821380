"""What C and C++ programs record."""

from support import BUILT, STATIC_LIBS, Case, compilers

BATCH = ("epoch", "batch")
TREE = {
    ("block",): 1,
    ("block", "inner"): 1,
    ("block", "indexed"): 3,
    ("block", "bare"): 1,
    ("unbraced",): 1,
    ("function",): 1,
    ("lambda",): 1,
    ("reference",): 1,
    ("load",): 1,
    ("replaced",): 1,
    ("replaced", "replacement"): 1,
    ("marked",): 1,
    ("thrown",): 1,
    ("in handler",): 1,
    ("while unwinding",): 1,
    ("said to fail",): 1,
    ("epoch",): 4,
    BATCH: 6,
    (*BATCH, "data_wait"): 6,
    (*BATCH, "forward"): 6,
    ("left early",): 1,
    ("left early", "batch"): 2,
    ("left early", "batch", "data_wait"): 2,
    ("empty",): 1,
    ("matmul warm-up",): 1,
    ("matmul warm-up", "iteration"): 3,
    ("matmul",): 1,
    ("matmul", "iteration"): 10,
    ("sum",): 1,
    ("sum", "iteration"): 4,
    ("loop warm-up",): 1,
    ("loop warm-up", "iteration"): 1,
    ("loop",): 1,
    ("loop", "iteration"): 2,
    ("step",): 1,
    ("step", "shard"): 1,
    ("step", "copy"): 1,
    ("step", "copy", "in copy"): 1,
    ("apart",): 1,
    ("no parent",): 1,
    ("outlived",): 1,
    ("reuses",): 1,
    ("numbered",): 1,
    ("first name",): 2,
    ("other name",): 1,
}
FAILED = {"thrown", "said to fail"}


class Features(Case):
    def check(self) -> None:
        self.assertEqual(self.paths(), TREE)
        report = self.report()
        failed = {node["name"] for node in report["nodes"] if node["failed"]}
        self.assertEqual(failed, FAILED)
        marks = {m["name"]: m["count"] for n in report["nodes"] for m in n["marks"]}
        want = {"loss": 4, "accuracy": 1, "phase": 1, "at run time": 1, "text": 1}
        self.assertEqual({name: marks.get(name) for name in want}, want)
        self.assertEqual(report["records"]["lost_records"], 0)

    def test_every_compiler_and_standard(self) -> None:
        for compiler in compilers("c++"):
            for standard in ("c++17", "c++20"):
                with self.subTest(compiler=compiler, standard=standard):
                    program = self.build("features.cpp", "-O2", compiler=compiler, standard=standard)
                    self.run_well(program)
                    self.check()

    def test_unoptimised(self) -> None:
        self.run_well(self.build("features.cpp", "-O0"))
        self.check()

    def test_by_calls_where_nothing_is_inlined(self) -> None:
        # As under nvcc; the host compiler knows the rest.
        self.run_well(self.build("features.cpp", "-O2", "-D__CUDACC__"))
        self.check()

    def test_without_rtti(self) -> None:
        self.run_well(self.build("features.cpp", "-O2", "-fno-rtti"))
        self.check()

    def test_without_exceptions(self) -> None:
        self.run_well(self.build("features.cpp", "-O2", "-fno-exceptions"))
        thrown = {("thrown",), ("in handler",), ("while unwinding",)}
        self.assertEqual(self.paths(), {p: n for p, n in TREE.items() if p not in thrown})

    def test_slower_clocks(self) -> None:
        program = self.build("features.cpp", "-O2")
        for variable, value in (("HODO_CLOCK", "monotonic"), ("HODO_CPU", "off"),
                                ("HODO_CPU", "syscall")):
            with self.subTest(variable=variable, value=value):
                self.run_well(program, **{variable: value})
                self.check()

    def test_linked_in(self) -> None:
        archive = BUILT / "libhodo.a"
        program = self.build("features.cpp", "-O2", "-DHODO_STATIC", str(archive), *STATIC_LIBS)
        self.run_well(program, library=None)
        self.check()

    def test_library_named_by_the_environment(self) -> None:
        program = self.build("features.cpp", "-O2")
        self.run_well(program, library=None, HODO_LIBRARY=str(BUILT / "libhodo.so"))
        self.check()


class Without(Case):
    """Nothing is recorded, and the program runs the same."""

    def test_no_library(self) -> None:
        program = self.build("features.cpp", "-O2")
        self.run_well(program, library=None, EXPECT_OFF="1")
        self.assertFalse((self.folder / "runs").exists())

    def test_a_library_that_is_something_else(self) -> None:
        program = self.build("features.cpp", "-O2")
        self.run_well(program, library=None, EXPECT_OFF="1", HODO_LIBRARY="libc.so.6")

    def test_switched_off(self) -> None:
        program = self.build("features.cpp", "-O2")
        self.run_well(program, EXPECT_OFF="1", HODO="0")
        self.assertFalse((self.folder / "runs").exists())

    def test_compiled_out(self) -> None:
        for compiler in compilers("c++"):
            with self.subTest(compiler=compiler):
                program = self.build("features.cpp", "-O2", "-DHODO_DISABLE", compiler=compiler)
                self.run_well(program, EXPECT_OFF="1")
        self.assertFalse((self.folder / "runs").exists())


class Plain(Case):
    def test_every_compiler_and_standard(self) -> None:
        link = (f"-L{BUILT}", "-lhodo")
        for compiler in compilers("c"):
            for standard in ("c11", "c17"):
                with self.subTest(compiler=compiler, standard=standard):
                    program = self.build("plain.c", *link, compiler=compiler, standard=standard)
                    self.run_well(program)
                    self.assertEqual(self.paths(), {
                        ("load",): 1, ("load", "step"): 1000, ("load", "failed"): 1,
                        ("copy",): 1, ("copy", "in copy"): 1,
                    })
