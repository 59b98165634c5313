#!/usr/bin/env python3
"""How many series a job has: the figures of docs/fleet.md, counted on real pages. Needs root; takes 15 s.

MEMSCOPE names the binary."""
import contextlib
import os
import pathlib
import re
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../support'))
from harness import Cgroup, Checks, Watcher, process, run_as_root, wait_for  # noqa: E402

SOURCE = pathlib.Path(__file__).resolve().parents[3]
MEMSCOPE = os.environ.get('MEMSCOPE', str(SOURCE / 'build' / 'memscope'))
RANK = '''
import os, time
parent = os.getpid()
for _ in range(8):
    if os.fork() == 0:
        open('/proc/self/comm', 'w').write('pt_data_worker')
        while os.getppid() == parent: time.sleep(0.5)
        os._exit(0)
keep = bytearray(b'x') * (8 << 20)
while True: time.sleep(1)
'''
check = Checks()


def counted(ranks):
    """(series of the watcher, series of a job with this number of ranks)"""
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix='e2e-series-'))
        cgroup = stack.enter_context(Cgroup(f'e2e-series-{os.getpid()}', 4 << 30))
        for rank in range(ranks):
            stack.enter_context(process([sys.executable, '-c', RANK], cgroup, env={**os.environ, 'RANK': str(rank)}))
        watcher = stack.enter_context(Watcher(MEMSCOPE, folder, '--cgroup', cgroup.name, '--warmup', '2s'))
        wait_for(lambda: watcher.value('memscope_processes') == 9 * ranks, 10)
        time.sleep(3)  # PSS and un-sharing are measured later
        series = list(watcher.metrics())
        own = [s for s in series if 'target="' not in s]
        return len(own), len(series) - len(own)


def main():
    text = (SOURCE / 'docs' / 'fleet.md').read_text()
    said = [int(n) for n in re.findall(r'^\| [^|]+ \| (\d+) \|$', text, re.M)]
    own, job, rank = said
    few, many = counted(2), counted(6)
    found_rank = (many[1] - few[1]) / 4
    found = many[0], few[1] - 2 * found_rank, found_rank
    for what, a, b in zip(('the watcher', 'a job', 'a rank'), said, found):
        check(f'{what}: {a} series as documented, within a tenth', abs(a - b) <= 0.1 * a, b)
    check('the sums of docs/fleet.md', f'{job} + 8 × {rank} = {job + 8 * rank}' in text and f'one such job {own + job + 8 * rank}' in text, said)


run_as_root(check, main, MEMSCOPE, 90)
