"""Grows in known places: grows.py SECTION...   (also: OTHER_PYTHON in the environment, for the section `guest`)

Prints "ready PID", waits for a line, grows, prints as JSON what grew, waits to be ended. For each section: the
bytes by which anonymous memory grew, and the pid it grew in. `processes`: what each process had when its address
space began. The line that grows in a section has the mark "grows: SECTION". Runs on every version, ctypes is not needed.
"""
import json
import mmap
import multiprocessing
import os
import signal
import sys
import threading
import time

MIB = 1 << 20
held, sections, processes = [], {}, {}


def anonymous():
    with open('/proc/self/smaps_rollup') as rollup:  # exact; the counters in status lack the per-CPU parts
        return next(int(line.split()[1]) << 10 for line in rollup if line.startswith('Anonymous:'))


def arrays():
    for _ in range(100):
        held.append(b'\1' * 400_000)  # grows: arrays


def objects():
    found = []
    for i in range(250_000): found.append({i})  # grows: objects
    held.append(found)


def comprehension():
    held.append([i + 0.5 for i in range(1_000_000)])  # grows: comprehension


def produced():
    for _ in range(100):
        yield b'\2' * 400_000  # grows: generator


def generator():
    held.extend(produced())


class Trainer:
    class Cache:
        def fill(self):
            for _ in range(100):
                held.append(b'\3' * 400_000)  # grows: method


def method():
    Trainer.Cache().fill()


def in_thread():
    for _ in range(100):
        held.append(b'\4' * 400_000)  # grows: thread


def private(size):
    held.append(mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS))
    return held[-1]


def unlocked():
    """Memory that the kernel touches while the interpreter has released its lock."""
    memory = private(40 * MIB)
    memory.madvise(mmap.MADV_NOHUGEPAGE)
    with open('/dev/zero', 'rb', 0) as zeros:
        zeros.readinto(memory)  # grows: unlocked


def huge():
    memory = private(64 * MIB)
    memory.madvise(mmap.MADV_HUGEPAGE)
    with open('/dev/zero', 'rb', 0) as zeros:
        zeros.readinto(memory)  # grows: huge


def deep(levels=100):
    if levels:
        return deep(levels - 1)
    for _ in range(100):
        held.append(b'\5' * 400_000)  # grows: deep


def in_child():
    for _ in range(100):
        held.append(b'\6' * 400_000)  # grows: child


def in_grandchild():
    for _ in range(100):
        held.append(b'\7' * 400_000)  # grows: grandchild


def in_worker():
    for _ in range(100):
        held.append(b'\10' * 400_000)  # grows: worker


def guest():
    for _ in range(100):
        held.append(b'\12' * 400_000)  # grows: guest


def late():
    for _ in range(100):
        held.append(b'\13' * 400_000)  # grows: late


def measured(name, grow):
    before = anonymous()
    grow()
    sections[name] = {'bytes': anonymous() - before, 'pid': os.getpid()}


def stay():
    while True:
        signal.pause()  # the test kills it through the cgroup


def receive(read_end):
    """The line that a child has written."""
    with os.fdopen(read_end, 'rb', 0) as pipe:
        said = json.loads(pipe.readline())
    sections.update(said['sections'])
    processes.update(said['processes'])


def report(write_end):
    os.write(write_end, json.dumps({'sections': sections, 'processes': processes}).encode() + b'\n')


def forked(body):
    """Runs body(write_end) in a child and returns what it writes."""
    read_end, write_end = os.pipe()
    had = anonymous()
    if os.fork() == 0:
        sections.clear()
        processes.clear()
        processes[os.getpid()] = had
        body(write_end)
        stay()
    os.close(write_end)
    receive(read_end)


def thread():
    # Measured there: its stack, and the first pages of an allocator, are touched before it runs any Python.
    one = threading.Thread(target=measured, args=('thread', in_thread))
    one.start()
    one.join()


def child():
    def body(write_end):
        measured('child', in_child)
        report(write_end)
    forked(body)


def grandchild():
    def inner(write_end):
        measured('grandchild', in_grandchild)
        report(write_end)

    def outer(write_end):
        forked(inner)
        report(write_end)
    forked(outer)


def worker_body(write_end, had):
    sections.clear()
    processes.clear()
    processes[os.getpid()] = had
    measured('worker', in_worker)
    report(write_end)
    stay()


def worker():
    read_end, write_end = os.pipe()
    multiprocessing.get_context('fork').Process(target=worker_body, args=(write_end, anonymous()), daemon=True).start()
    os.close(write_end)
    receive(read_end)


def another_version():
    def body(write_end):
        os.dup2(write_end, 1)
        os.environ.pop('PYTHONHOME', None)  # of this version
        os.execl(os.environ['OTHER_PYTHON'], 'python', '-B', os.path.abspath(__file__), '--at-once', 'guest')
    forked(body)


RUNS = {'thread': thread, 'child': child, 'grandchild': grandchild, 'worker': worker, 'other': another_version}


def main():
    at_once = sys.argv[1] == '--at-once'
    names = sys.argv[2:] if at_once else sys.argv[1:]
    if at_once:
        time.sleep(2)  # longer than it takes to recognize an interpreter on a busy machine; a benchmark measures that time
        processes[os.getpid()] = 0
    else:
        print('ready', os.getpid(), flush=True)
        sys.stdin.readline()
    for name in names:
        if name in RUNS:
            RUNS[name]()
        else:
            measured(name, globals()[name])
    report(1)
    stay()


if __name__ == '__main__':
    main()
