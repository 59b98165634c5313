#!/usr/bin/env python3
"""Runs the runner on guests that are broken on purpose: a panic, a hang, and a kernel on which memscope cannot work must be
reported as failed, each for its own reason. Boots a native kernel three times. Needs MEMSCOPE and KERNEL_TESTS, the
paths of the programs that are copied to the guest."""
import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

from support.kernels import HERE, NATIVE

MACHINE = f"6.12-{NATIVE}-v2"


def broken(inject, seconds):
    """(exit status, {check: problem}) of a run with that defect."""
    with tempfile.TemporaryDirectory() as out:
        done = subprocess.run(
            [HERE / "run", "--only", MACHINE, "--inject", inject, "--seconds", str(seconds), "--out", out,
             f"--program-{NATIVE}", os.environ["MEMSCOPE"], f"--tests-{NATIVE}", os.environ["KERNEL_TESTS"]],
            stdout=subprocess.DEVNULL, check=False)
        result, = json.loads((Path(out) / "result.json").read_text(encoding="utf-8"))
        return done.returncode, result


class Broken(unittest.TestCase):
    def test_a_panic_is_red(self):
        status, result = broken("panic", 180)
        self.assertEqual((status, result["passed"]), (1, False))
        self.assertRegex(result["failures"]["boots and ends"], "Kernel panic")

    def test_a_hang_is_red(self):
        status, result = broken("hang", 60)
        self.assertEqual((status, result["passed"]), (1, False))
        self.assertEqual(result["failures"]["boots and ends"], "not done after 60 s")

    def test_a_kernel_without_types_is_red_in_every_part(self):
        status, result = broken("no-types", 300)
        self.assertEqual((status, result["passed"]), (1, False))
        for check in ("works", "finding kernel types (BTF)", "resident bytes by kind are exact", "kernel tests pass"):
            self.assertIn(check, result["failures"])
        # Only this reason: the guest itself booted and ended normally.
        self.assertNotIn("boots and ends", result["failures"])
        self.assertNotIn("file memory.max", result["failures"])


if __name__ == "__main__":
    unittest.main()
