#!/usr/bin/env python3
"""The runner must not report a broken machine as good. The sample console passes, and each defect in it is found."""
import os
import subprocess
import tempfile
import unittest
from unittest import mock

from support import console, debian, judge, sample
from support.kernels import HERE, Machine, matrix

TESTS = ["Exact.One", "Tree.Two"]
MACHINE = Machine("6.1", "arm64", 2)


def failures(text, machine=MACHINE, stopped=None):
    checks, _ = judge.judge(machine, console.parse(text), stopped, TESTS, sample.image_facts(machine))
    return [name for name, problem in checks if problem]


class Judging(unittest.TestCase):
    def setUp(self):
        self.good = sample.console(MACHINE, TESTS)

    def expect(self, check, old, new):
        self.assertIn(old, self.good)
        self.assertIn(check, failures(self.good.replace(old, new, 1)))

    def test_a_good_console_of_every_machine_passes(self):
        for machine in matrix():
            with self.subTest(machine.name):
                self.assertEqual(failures(sample.console(machine, TESTS), machine), [])

    def test_an_empty_console_passes_nothing_that_is_expected_to_be_there(self):
        self.assertGreater(len(failures("")), 20)

    def test_the_end(self):
        self.expect("boots and ends", "::exit 0", "")
        self.expect("boots and ends", "::exit 0", "::exit 1")
        self.expect("is the kernel it should be", "6.1.0-1", "6.12.0-1")
        self.expect("boots and ends", "::exit 0", "[    9.1] Kernel panic - not syncing: sysrq\n::exit 0")
        self.assertEqual(failures(self.good, stopped="not done after 9 s"), ["boots and ends"])

    def test_kernel_tests(self):
        self.expect("kernel tests pass", "[       OK ] Tree.Two (7 ms)", "[  FAILED  ] Tree.Two (7 ms)")
        self.expect("kernel tests pass", "[       OK ] Tree.Two (7 ms)", "")
        self.expect("kernel tests pass", "tests 0", "tests 139")

    def test_what_the_kernel_says(self):
        check = "the kernel warns of nothing"
        self.expect(check, "::section warnings 1.5\n0\n", "::section warnings 1.5\n512\n")
        self.expect(check, "::section warnings 1.5\n0\n", "::section warnings 1.5\n0\n[  6.5] WARNING: CPU: 0 PID: 112\n")
        self.expect(check, "::section warnings 1.5\n0\n", "")

    def test_probes(self):
        self.expect("every probe is attached", 'probe="tree_fork"} 1', 'probe="tree_fork"} 0')
        self.expect("every probe is attached", 'memscope_probe_attached{probe="tree_fork"} 1\n', "")

    def test_ticks(self):
        check = "memscope makes its ticks"
        self.expect(check, "::section watched 1.5\nstatus 0", "::section watched 1.5\nno two ticks in 60 s\nstatus 1")
        self.expect(check, "::section watched 1.5\nstatus 0", "")

    def test_requests_without_an_answer(self):
        self.expect("requests are answered", "::exit 0", "::section hangs 9.1\nno answer at 20.5 s\n::exit 0")

    def test_what_a_kernel_offers(self):
        self.expect("works", '"works": true', '"works": false')
        self.expect("hook tree exit", '"tree_exit_live_count"', "null")
        self.expect("hook tasks quick_scan", '"hook": "quick_scan", "program": null',
                    '"hook": "quick_scan", "program": "tasks_procs"')
        self.expect("file memory.peak", "memory.peak\n", "")
        self.expect("file memory.limit_in_bytes", "memory.peak\n", "memory.peak\nmemory.limit_in_bytes\n")
        self.expect("every hook and finding is expected", '"hook": "fork"', '"hook": "clone"')

    def test_numbers(self):
        self.expect("resident bytes by kind are exact", "Anonymous: 52 kB", "Anonymous: 56 kB")
        self.expect("resident bytes by kind are exact", "pid 13\n", "pid 14\n")
        self.expect("resident bytes by kind are exact", "RssShmem: 0 kB", "RssShmem: 4 kB")
        self.expect("every start and exit is counted", 'starts_total{role="other"} 25', 'starts_total{role="other"} 24')
        mapped = "mapped bytes add up to the virtual size"
        self.expect(mapped, 'unmapped_bytes_total{call="exit"} 63', 'unmapped_bytes_total{call="exit"} 64')
        for call in ("fork", "exec"):
            self.expect(mapped, f'mapped_bytes_total{{call="{call}"}} 21', f'mapped_bytes_total{{call="{call}"}} 0')
        self.expect(mapped, 'mapped_bytes_total{call="brk"}', 'mapped_bytes_total{call="other"}')
        self.expect("kinds of memory add up to the usage", '"file": 4096', '"file": 4096000')
        self.expect("kinds of memory add up to the usage", f'"anon": {21 << 20}', '"anon": 0')
        self.expect("an OOM kill is counted", 'event="oom_kill"} 1', 'event="oom_kill"} 0')
        self.expect("an OOM kill is counted", "status 137", "status 0")
        apart = "OOM kills of a cgroup and of the machine are distinguished"
        self.expect(apart, 'constraint="host"} 1', 'constraint="host"} 0')
        self.expect(apart, 'cause="oom_kill",sender="kernel"} 2', 'cause="oom_kill",sender="kernel"} 1')
        self.expect(apart, "::section host-oom 1.5\nstatus 137", "::section host-oom 1.5\nstatus 0")
        self.expect("memscope ends with 0", "::section end 1.5\nstatus 0", "::section end 1.5\nstatus 1")

    def test_losses(self):
        head, oom, tail = self.good.partition("::section host-oom")
        self.good = oom + tail
        self.assertIn("nothing was lost", failures(head + self.good.replace('"ring_full"} 0', '"ring_full"} 3')))
        self.assertEqual([], failures(head + self.good.replace('"ring_full"} 0', '"unnamed_frame"} 3')))


class WatchCheck(unittest.TestCase):
    """The functions of `watch-check`, without a guest: the part of the script before its first mkdir."""

    def run_pass(self, watcher):
        functions, separator, _ = (HERE / "watch-check").read_text(encoding="utf-8").partition("mkdir $job")
        self.assertTrue(separator)
        # Fakes: no ticks, no waiting, and no process is killed.
        fakes = "ticks() { echo 7; }\nsleep() { :; }\nwhere_it_hangs() { :; }\ncat() { :; }\n"
        fakes += "kill() { [ \"$1\" = -0 ] && [ \"$2\" = alive ]; }\n"
        return subprocess.run(["sh", "-c", f"{functions}\n{fakes}\nwatcher={watcher}\npass\necho went on"],
                              capture_output=True, text=True, timeout=60, check=False)

    def test_a_watcher_that_makes_no_ticks_fails(self):
        done = self.run_pass("alive")
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertEqual(console.parse(done.stdout).lines("watched"), ["no two ticks in 60 s, after 7"])

    def test_a_watcher_that_ended_fails(self):
        done = self.run_pass("gone")
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertEqual(console.parse(done.stdout).lines("watched"), ["memscope ended after 7 ticks"])


class Fetching(unittest.TestCase):
    def test_what_cannot_be_fetched_is_an_error_that_names_it(self):
        with tempfile.TemporaryDirectory() as cache, mock.patch.object(debian, "ATTEMPTS", 1), \
                mock.patch.dict(os.environ, {"MEMSCOPE_DEBIAN_MIRROR": "http://127.0.0.1:9"}):
            archive = debian.Archive(cache, "arm64", ["bookworm"])
            with self.assertRaisesRegex(debian.FetchError, "cannot fetch the package lists for arm64: E:"):
                archive.unpacked("linux-image-.*")


if __name__ == "__main__":
    unittest.main()
