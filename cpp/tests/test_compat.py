"""A program written for GPUFlight builds against hodo, unchanged."""

from support import INCLUDE, Case

EPOCH = ("training", "epoch")


class Gpuflight(Case):
    def test_builds_and_records(self) -> None:
        program = self.build("gpuflight_program.cpp", "-O2", f"-I{INCLUDE / 'hodo' / 'compat'}")
        self.run_well(program)
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
        readings = list((self.folder / "runs").glob("*/machine-*/samples-*.hodo"))
        self.assertEqual(len(readings), 1, "the machine was read, as the options say")

    def test_disabled(self) -> None:
        program = self.build("gpuflight_program.cpp", "-O2", f"-I{INCLUDE / 'hodo' / 'compat'}")
        self.assertEqual(self.start(program, GPUFL_DISABLED="1").returncode, 1)
        self.assertFalse((self.folder / "runs").exists())
