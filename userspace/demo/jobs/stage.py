"""The stage of a demo of memscope: its clock, and workers that prepare batches. The job itself is train.py.

The clock is 0 until memscope watches, and runs faster than real time if the demo is shortened.
"""
import os
import sys
import time

MIB = 1 << 20
CLOCK = int(os.environ['MEMSCOPE_DEMO_CLOCK'])  # a file: the time when memscope began, in ns of the boot clock
READY = int(os.environ['MEMSCOPE_DEMO_READY'])  # a pipe: one byte from each process that is ready
SPEED = float(os.environ['MEMSCOPE_DEMO_SPEED'])
LENGTH = float(os.environ['MEMSCOPE_DEMO_LENGTH'])
parent = int(os.environ['LAUNCHER'])  # this process ends when its parent has ended


def now():
    """Seconds on the clock of the demo."""
    began = int.from_bytes(os.pread(CLOCK, 8, 0), sys.byteorder)
    passed = (time.clock_gettime_ns(time.CLOCK_BOOTTIME) - began) * 1e-9 * SPEED
    return min(max(passed, 0), LENGTH) if began else 0


def steps(per_second):
    """Yields 0, 1, 2, ... each at its time on the clock of the demo."""
    began, number = now(), 0
    while True:
        while number > (now() - began) * per_second and os.getppid() == parent:
            time.sleep(min(0.25, 1 / per_second) / SPEED)
        if os.getppid() != parent:
            os._exit(1)
        yield number
        number += 1


def ready():
    """Tells memscope that this process holds what it holds at the start. A job that was restarted tells nobody."""
    try:
        os.write(READY, b'.')
    except OSError:
        pass


class Loader:
    """Batches from worker processes, as those of a DataLoader: each writes its batches into a pipe."""

    def __init__(self, workers, work):
        self.pipes = []
        trainer = os.getpid()
        for number in range(workers):
            output, entry = os.pipe()
            if os.fork() == 0:
                for pipe in [*self.pipes, output]:
                    os.close(pipe)
                self.be_worker(number, work, entry, trainer)
            os.close(entry)
            self.pipes.append(output)

    @staticmethod
    def be_worker(number, work, entry, trainer):
        global parent
        parent = trainer
        try:
            with open('/proc/self/comm', 'w') as name:
                name.write('pt_data_worker')  # the name that PyTorch gives its workers
            batches = work(number)
            batch = next(batches)
            ready()
            while True:
                os.write(entry, batch)  # blocks until the trainer wants a batch; fails after the trainer has ended
                batch = next(batches)
        finally:
            os._exit(0)

    def batch(self, step):
        return os.read(self.pipes[step % len(self.pipes)], 4096)


def usual_work(number):
    """A worker that keeps 24 MiB of decoded samples."""
    samples = bytearray(b's') * (24 * MIB)
    while True:
        yield bytes(samples[:4096])
