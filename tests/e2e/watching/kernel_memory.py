#!/usr/bin/env python3
"""A job that makes many files: caches of inodes and dentries are kernel memory, but the kernel can take them back.

Needs root; takes 15 s. MEMSCOPE names the binary (default: build/memscope below the source tree).
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../support'))
from harness import Cgroup, Checks, GaveUp, Watcher, process, run_as_root, wait_for  # noqa: E402

SOURCE = pathlib.Path(__file__).resolve().parents[3]
MEMSCOPE = os.environ.get('MEMSCOPE', str(SOURCE / 'build' / 'memscope'))
MIB = 1 << 20
FILES = 15000
REAL = ('ext4', 'xfs', 'btrfs', 'overlay', 'f2fs')  # the kernel cannot reclaim inodes of a tmpfs

JOB = f'''import os, signal, sys
folder = sys.argv[1]
print("ready", flush=True)
sys.stdin.readline()
for i in range({FILES}):
    open(os.path.join(folder, "sample-%06d" % i), "w").close()
print("made", flush=True)
signal.pause()
'''

check = Checks()


def file_system(path):
    """The type of the file system that a path is on."""
    with open('/proc/self/mounts') as mounts:
        points = {line.split()[1]: line.split()[2] for line in mounts}
    while path not in points:
        path = os.path.dirname(path)
    return points[path]


def memory(watcher, group):
    for line in reversed(watcher.lines()):
        tick = json.loads(line)
        if tick['target']['name'] == group.name:
            return tick['memory']
    return None


def main():
    with tempfile.TemporaryDirectory() as out, tempfile.TemporaryDirectory(dir='/var/tmp') as folder, \
            Cgroup(f'ms-slab-{os.getpid()}', 512 * MIB) as group:
        if file_system(os.path.realpath(folder)) not in REAL:
            raise GaveUp(f'/var/tmp is on {file_system(os.path.realpath(folder))}, not on a file system with a disk')
        with Watcher(MEMSCOPE, out, '--cgroup', group.name, '--json', '--interval', '200ms') as watcher, \
                process([sys.executable, '-S', '-c', JOB, folder], cgroup=group, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as job:
            job.stdout.readline()
            before = wait_for(lambda: (m := memory(watcher, group)) and m['by_kind']['anon'] > MIB and m, 10)
            job.stdin.write(b'go\n')
            job.stdin.flush()
            job.stdout.readline()
            after = wait_for(lambda: (m := memory(watcher, group)) and m['by_kind']['kernel'] > before['by_kind']['kernel'] + 8 * MIB and m, 20)
            if not check('files that were made are kernel memory', after, memory(watcher, group)):
                return
            kernel = after['by_kind']['kernel'] - before['by_kind']['kernel']
            held = after['unreclaimable_bytes'] - before['unreclaimable_bytes']
            anon = after['by_kind']['anon'] - before['by_kind']['anon']
            print(f'{FILES} files: {kernel / MIB:.1f} MiB of kernel memory, {held / MIB:.1f} MiB more unreclaimable, {anon / MIB:.1f} MiB more anonymous')
            check('at most a quarter of it counts as unreclaimable', held - anon < kernel / 4, f'{held} of {kernel}')
            counted = 'page_tables_and_stacks' if group.version == 1 else 'all_but_reclaimable_slab'
            check('the tick says what is counted', after['kernel_counted'] == counted, after['kernel_counted'])
            check('page tables and stacks still count', after['unreclaimable_bytes'] > after['by_kind']['anon'] + after['by_kind']['shmem'])


if __name__ == '__main__':
    run_as_root(check, main, MEMSCOPE, 90)
