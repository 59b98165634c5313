"""A process tree like that of a training job: workers that allocate and free 50 MB in each step, and idle workers. They
read their batch once, or with `--only-allocate` do nothing with it. It prints the CPU time of all workers."""
import os
import signal
import sys
import time
import zlib

WORKERS = 8
IDLE = 20
STEPS = 2
ARRAYS = 50
ARRAY_BYTES = 1_000_000


def load_batch():
    return [bytearray(ARRAY_BYTES) for _ in range(ARRAYS)]


def step():
    batch = load_batch()
    if "--only-allocate" not in sys.argv:
        for array in batch:
            zlib.crc32(array)
    del batch


def work(commands, results):
    while os.read(commands, 1):
        before = time.process_time_ns()
        for _ in range(STEPS):
            step()
        os.write(results, b"%d\n" % (time.process_time_ns() - before))
    os._exit(0)


def idle():
    while True:
        signal.pause()


def fork_into(body, *arguments):
    pid = os.fork()
    if pid == 0:
        body(*arguments)
    return pid


def main():
    commands, workers = [], []
    results, said = os.pipe()
    for _ in range(WORKERS):
        read_end, write_end = os.pipe()
        workers.append(fork_into(work, read_end, said))
        commands.append(write_end)
    idle_ones = [fork_into(idle) for _ in range(IDLE)]
    answers = os.fdopen(results)
    for _ in sys.stdin:
        for command in commands:
            os.write(command, b"g")
        total_ns = sum(int(answers.readline()) for _ in workers)
        print("cpu_ms", total_ns * 1e-6, flush=True)
    for pid in workers + idle_ones:
        os.kill(pid, signal.SIGKILL)


main()
