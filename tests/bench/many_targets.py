#!/usr/bin/env python3
"""How long a tick takes with thousands of targets, at rest and while cgroups are made.

Empty cgroups are made below one parent and watched by a glob. The length of the last tick is read from /metrics now and
then: first with nothing new, then with new cgroups before each tick. Nothing here asserts a time.
many_targets.py [TARGETS...]     default 500 5000; needs root; MEMSCOPE names the binary
"""
import os
import statistics
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../e2e/support'))
from harness import Cgroup, Watcher, exit_on_signals  # noqa: E402

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../..')
MEMSCOPE = os.environ.get('MEMSCOPE', os.path.join(SOURCE, 'build/memscope'))
MIB = 1 << 20
TICKS = 8


def undisturbed_tick(watcher, pause, meanwhile):
    """(seconds that asking took, length of the last tick before that in ms, open files, resident bytes)

    A scrape of 5,000 targets takes as long as some ticks and competes with them, so there are no requests during a pause.
    """
    until = time.monotonic() + pause
    while time.monotonic() < until:
        meanwhile()
        time.sleep(0.4)
    began = time.monotonic()
    samples = watcher.metrics()
    return (time.monotonic() - began, 1e3 * samples['memscope_tick_duration_seconds'], samples['process_open_fds'],
            samples['memscope_self_resident_bytes'])


def measure(count, folder):
    made = []
    with Cgroup(f'ms-many-{os.getpid()}', 1024 * MIB) as parent:
        def make():
            made.append(f'{parent.path}/job-{len(made):06d}')
            os.mkdir(made[-1])
        try:
            for _ in range(count):
                make()
            began = time.monotonic()
            with Watcher(MEMSCOPE, folder, '--cgroup', f'{parent.name}/*', '--interval', '1s', '--no-growth') as watcher:
                ready, rest, busy = time.monotonic() - began, [], []
                asking, _, files, resident = undisturbed_tick(watcher, 2, lambda: None)
                for lengths, meanwhile in ((rest, lambda: None), (busy, make)):
                    for _ in range(TICKS):
                        asking, length, files, resident = undisturbed_tick(watcher, 2 + 2 * asking, meanwhile)
                        lengths.append(length)
            print(f'{count} targets: ready after {ready:.1f} s, {files:.0f} open files, {resident / MIB:.0f} MiB resident; a tick takes '
                  f'{statistics.median(rest):.0f} ms at rest (at most {max(rest):.0f}), '
                  f'{statistics.median(busy):.0f} ms with new cgroups (at most {max(busy):.0f})', flush=True)
        finally:
            for path in made:
                os.rmdir(path)


def main():
    exit_on_signals()
    with tempfile.TemporaryDirectory() as folder:
        for count in [int(n) for n in sys.argv[1:]] or [500, 5000]:
            measure(count, folder)


if __name__ == '__main__':
    main()
