"""HODO_DISABLE: the macros leave no code."""

from support import INCLUDE, PROGRAMS, STRICT, Case, command, compilers


class Vanishes(Case):
    def code(self, compiler: str, *flags: str) -> list[str]:
        """The instructions of all functions."""
        at = self.folder / "code.o"
        command(compiler, "-std=c++17", *STRICT, f"-I{INCLUDE}", *flags, "-c",
                PROGRAMS / "vanishes.cpp", "-o", at)
        listing = command("objdump", "--disassemble", "--reloc", "--no-show-raw-insn", at).stdout
        return listing.splitlines()[3:]

    def test_object_code_is_that_of_a_program_without(self) -> None:
        for compiler in compilers("c++"):
            for level in ("-O0", "-O2"):
                with self.subTest(compiler=compiler, level=level):
                    without = self.code(compiler, level)
                    disabled = self.code(compiler, level, "-DWITH_HODO", "-DHODO_DISABLE")
                    self.assertEqual(disabled, without)
                    recorded = self.code(compiler, level, "-DWITH_HODO")
                    self.assertNotEqual(recorded, without)
