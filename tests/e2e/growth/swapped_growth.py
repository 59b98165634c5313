#!/usr/bin/env python3
"""Memory that the kernel swaps out and in again grows once, at the line that touched it first.

Needs root, and makes a swap area of its own for 20 s. MEMSCOPE names the binary.
"""
import contextlib
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../support'))
from growing import MEMSCOPE  # noqa: E402
from harness import Checks, run_as_root  # noqa: E402
from owners import MIB, SWAPPED, pages  # noqa: E402

LIMIT = 128 * MIB  # half of what the job touches

check = Checks()


def run(*argv):
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout.strip()


@contextlib.contextmanager
def swap_area(size):
    """On a loop device, because not every file system takes a swap file."""
    with tempfile.TemporaryDirectory(dir='/var/tmp') as folder:
        file = pathlib.Path(folder, 'swap')
        with file.open('wb') as area:
            os.posix_fallocate(area.fileno(), 0, size)
        device = run('losetup', '--find', '--show', str(file))
        try:
            run('mkswap', device)
            run('swapon', '--priority', '32767', device)
            try:
                yield
            finally:
                run('swapoff', device)
        finally:
            run('losetup', '--detach', device)


def main():
    with swap_area(1024 * MIB), tempfile.TemporaryDirectory() as folder:
        pages(check, MEMSCOPE, sys.executable, folder, LIMIT, SWAPPED)


if __name__ == '__main__':
    run_as_root(check, main, MEMSCOPE, 120)
