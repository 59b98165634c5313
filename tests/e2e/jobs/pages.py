#!/usr/bin/env python3
"""Grows in ways that a sampler of pages can get wrong: pages.py FILE   (FILE: some tens of MiB to read)

Prints "ready". For each name of a section that it reads, it frees what the section before kept, runs the section and
prints the truth as one line of JSON: `bytes` (growth of this process), its children with their growth, and more. The line
that touches what stays has the mark "grows: SECTION", the line that touches what goes "goes: SECTION".
"""
import ctypes
import json
import mmap
import os
import re
import signal
import sys

from stage import MIB, anonymous

PAGE = mmap.PAGESIZE
PRIVATE = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
held, children = [], []
libc = ctypes.CDLL(None, use_errno=True)


def private(size, flags=0, huge=False):
    memory = mmap.mmap(-1, size, flags=PRIVATE | flags)
    memory.madvise(mmap.MADV_HUGEPAGE if huge else mmap.MADV_NOHUGEPAGE)
    return memory


def address(memory):
    view = (ctypes.c_char * len(memory)).from_buffer(memory)
    found = ctypes.addressof(view)
    del view  # while it is there, the mapping cannot be resized
    return found


def filler(size):
    return b'\1' * size


def mixed():
    """Of 204 pages that are touched in a round, 4 stay."""
    some, many = filler(4 * PAGE), filler(200 * PAGE)
    for _ in range(7936):
        few = private(4 * PAGE)
        few.write(some)  # grows: mixed
        with private(200 * PAGE) as transient:
            transient.write(many)  # goes: mixed
        held.append(few)


def again():
    """The same addresses are mapped, touched and unmapped again and again: 12 GiB in all."""
    content = filler(8 * MIB)
    for _ in range(1500):
        with private(8 * MIB) as transient:
            transient.write(content)  # goes: again


def moved():
    """A region that grows like a list. When it moves, its pages move with it, without a page fault."""
    memory, moves = private(PAGE), 0
    content = filler(MIB)
    for size in range(1, 65):
        before = address(memory)
        memory.resize(size * MIB)
        moves += address(memory) != before
        memory.madvise(mmap.MADV_NOHUGEPAGE)
        memory.write(content)  # grows: moved
        held.append(private(PAGE))  # takes the addresses after the region, so that the region has to move from time to time
    held.append(memory)
    return {'moves': moves}


def given_back():
    memory = private(128 * MIB)
    memory.write(filler(128 * MIB))  # grows: given_back
    memory.madvise(mmap.MADV_DONTNEED, 0, 96 * MIB)
    held.append(memory)


def written(memory, size):
    memory.seek(0)
    memory.write(filler(size))  # goes: forked


def forked():
    """The child copies all 64 MiB that it shares with its parent: it has as many pages as before."""
    memory = private(64 * MIB)
    memory.write(filler(64 * MIB))  # grows: forked
    held.append(memory)
    in_child(lambda: written(memory, 64 * MIB))


def dropped():
    """The child unmaps memory that it inherited from its parent, so it has less memory than at its start."""
    memory = private(64 * MIB)
    memory.write(filler(64 * MIB))  # grows: dropped
    held.append(memory)
    in_child(memory.close)


def reading():
    """The kernel touches the buffer, inside read()."""
    with open(sys.argv[1], 'rb', 0) as source:
        while part := source.read(4 * MIB):  # grows: reading
            held.append(part)


def populated():
    """The kernel fills the mapping before the program touches it: there is no page fault."""
    held.append(mmap.mmap(-1, 64 * MIB, flags=PRIVATE | mmap.MAP_POPULATE))  # maps: populated


def locked():
    """The kernel fills the mapping inside mlock(), without a page fault of the program. The size differs from that of the
    section before, because otherwise an old answer would also pass the test."""
    memory = private(80 * MIB)
    view = (ctypes.c_char * len(memory)).from_buffer(memory)
    if libc.mlock(ctypes.byref(view), ctypes.c_size_t(80 * MIB)):  # grows: locked
        raise OSError(ctypes.get_errno(), 'mlock')
    held.append((view, memory))


def huge():
    memory = private(66 * MIB, huge=True)
    memory.write(filler(66 * MIB))  # grows: huge
    held.append(memory)


def replaced():
    """Another mapping takes the place of touched pages (MAP_FIXED)."""
    memory = private(96 * MIB)
    memory.write(filler(96 * MIB))  # grows: replaced
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
    start = address(memory)
    if libc.mmap(start, 64 * MIB, mmap.PROT_READ | mmap.PROT_WRITE, PRIVATE | 0x10, -1, 0) != start:
        raise OSError(ctypes.get_errno(), 'mmap')
    held.append(memory)


def swapped():
    """More than the limit of the cgroup: the kernel swaps memory out while more is touched, and in when it is read."""
    memory, some = private(256 * MIB), filler(MIB)
    for _ in range(256):
        memory.write(some)  # grows: swapped
    for _ in range(2):
        for at in range(0, len(memory), PAGE):
            memory[at]  # goes: swapped
    held.append(memory)
    return {'swapped': of_swap()}


def of_swap():
    with open('/proc/self/smaps_rollup') as rollup:
        return sum(int(line.split()[1]) << 10 for line in rollup if line.startswith('Swap:'))


def in_child(body):
    """Runs body() in a child that stays, and records the memory that the child had at its start."""
    read_end, write_end = os.pipe()
    had = anonymous()
    pid = os.fork()
    if pid == 0:
        body()
        os.write(write_end, b'done')
        while True:
            signal.pause()
    os.close(write_end)
    os.read(read_end, 4)
    os.close(read_end)
    children.append((pid, had))


def of_child(pid, had):
    with open(f'/proc/{pid}/smaps_rollup') as rollup:
        return sum(int(line.split()[1]) << 10 for line in rollup if line.startswith(('Anonymous:', 'Swap:'))) - had


def release():
    for pid, _ in children:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    children.clear()
    held.clear()


def main():
    with open(__file__) as source:
        marks = {m.groups(): number for number, line in enumerate(source, 1)
                 for m in [re.search(r'# (grows|goes|maps): (\w+)$', line)] if m}
    print('ready', flush=True)
    for line in sys.stdin:
        name = line.strip()
        release()
        before = anonymous()
        more = globals()[name]() or {}
        truth = {'bytes': anonymous() - before, 'pid': os.getpid(),
                 'lines': {mark: number for (mark, section), number in marks.items() if section == name},
                 'children': {pid: of_child(pid, had) for pid, had in children}, **more}
        print(json.dumps(truth), flush=True)
    release()


if __name__ == '__main__':
    main()
