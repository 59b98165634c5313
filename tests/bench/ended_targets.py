#!/usr/bin/env python3
"""Whether the memory of a watcher stays flat while short-lived cgroups come and go.

A driver makes cgroups below one parent, each with a tiny process in it, and removes them again; a watcher follows all of
them by a glob. RssAnon of the watcher is read at even distances. The slope of the second half is printed in bytes per
target that ended in it, because in the first half memory with a bound fills up (caches, the snapshots of the last minute,
arenas of malloc). Nothing here asserts a number. MEMSCOPE_WRAPPER puts a program before the watcher, for example a heap profiler.
ended_targets.py [SECONDS [TARGETS_PER_SECOND]]     default 600 s, 5 a second; needs root; MEMSCOPE names the binary
"""
import contextlib
import os
import shlex
import signal
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../e2e/support'))
from harness import Cgroup, Watcher, exit_on_signals, wait_for  # noqa: E402

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../..')
MEMSCOPE = os.environ.get('MEMSCOPE', os.path.join(SOURCE, 'build/memscope'))
MIB = 1 << 20
LIVES = 0.6  # seconds that a process lives: the watcher ticks once a second, so a tick sees more than half of them
SAMPLES = 60
# Touches memory at a line of its own, so that there is growth to attribute.
JOB = [sys.executable, '-S', '-E', '-c', f'import time; held = bytearray({2 * MIB}); time.sleep({LIVES})']


def rss_anon(pid):
    with open(f'/proc/{pid}/status') as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith('RssAnon:'))


def slope(points):
    """Least squares over (ended targets, bytes)."""
    n = len(points)
    mean_x, mean_y = (sum(p[i] for p in points) / n for i in (0, 1))
    across = sum((x - mean_x) ** 2 for x, _ in points)
    return sum((x - mean_x) * (y - mean_y) for x, y in points) / across if across else 0.0


class Driver:
    def __init__(self, parent):
        self.parent, self.made, self.ended = parent, 0, 0
        self.living = {}  # pid -> directory

    def start(self):
        path = f'{self.parent.path}/job-{self.made:06d}'
        self.made += 1
        os.mkdir(path)
        pid = os.fork()
        if pid == 0:
            try:
                with open(f'{path}/cgroup.procs', 'w') as procs:
                    procs.write(str(os.getpid()))
                os.execv(JOB[0], JOB)
            finally:
                os._exit(127)
        self.living[pid] = path

    def reap(self):
        for pid, path in list(self.living.items()):
            if os.waitpid(pid, os.WNOHANG)[0] == pid:
                self.remove(pid, path)

    def remove(self, pid, path):
        wait_for(lambda: os.rmdir(path) is None, 5, 0.01)
        del self.living[pid]
        self.ended += 1

    def end_all(self):
        for pid, path in list(self.living.items()):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            self.remove(pid, path)


def watcher_pid(watcher):
    """The process of memscope itself, if a wrapper started it."""
    wrapped = shlex.split(os.environ.get('MEMSCOPE_WRAPPER', ''))
    if not wrapped:
        return watcher.pid
    return wait_for(lambda: next((int(p) for p in os.listdir('/proc') if p.isdigit() and os.path.exists(f'/proc/{p}/exe')
                                  and os.readlink(f'/proc/{p}/exe') == os.path.realpath(MEMSCOPE)), None), 15)


def soak(seconds, rate, folder):
    with Cgroup(f'ms-ended-{os.getpid()}', 2048 * MIB) as parent:
        driver = Driver(parent)
        binary, *options = [*shlex.split(os.environ.get('MEMSCOPE_WRAPPER', '')), MEMSCOPE, '--cgroup', f'{parent.name}/*']
        watching = Watcher(binary, folder, *options, '--interval', '1s', '--linger', '10s')
        if binary != MEMSCOPE:  # under a wrapper the pid that names the socket is not the child's
            watching.socket = lambda: '/'
        with watching as watcher:
            pid = watcher_pid(watcher.child)
            points, began = [], time.monotonic()
            try:
                while (passed := time.monotonic() - began) < seconds:
                    while driver.made < passed * rate and len(driver.living) < 4 * rate:
                        driver.start()
                    driver.reap()
                    if passed >= (len(points) + 1) * seconds / SAMPLES:
                        points.append((driver.ended, rss_anon(pid)))
                    time.sleep(0.01)
            finally:
                driver.end_all()
            return points, rss_anon(pid)


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 600
    rate = float(sys.argv[2]) if len(sys.argv) > 2 else 5
    exit_on_signals()
    with tempfile.TemporaryDirectory() as folder:
        points, _ = soak(seconds, rate, folder)
    half = points[len(points) // 2:]
    print(f'{points[-1][0]} targets came and went in {seconds:.0f} s; RssAnon of the watcher: '
          f'{points[0][1] / MIB:.1f} MiB at the first sample, {half[0][1] / MIB:.1f} at half time, {half[-1][1] / MIB:.1f} at the end, '
          f'at most {max(b for _, b in points) / MIB:.1f}')
    print(f'slope of the second half: {slope(half):.0f} bytes per ended target ({half[-1][0] - half[0][0]} of them)')


if __name__ == '__main__':
    main()
