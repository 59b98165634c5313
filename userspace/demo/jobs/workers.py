"""A dataset of Python objects that three forked workers share, and copy page by page.

A worker only reads. But CPython writes the reference count of every object that it reads, and the kernel then copies the
page that the count is on.
"""
from stage import MIB, Loader, ready, steps

SAMPLE = 207  # bytes; 240 with the head of the object
dataset = [bytes(SAMPLE) for _ in range(200 * MIB // 240)]
per_second = len(dataset) * 5 // 400  # 2.5 MiB of 200 MiB


def read_samples(number):
    yield b's' * 4096
    for step in steps(per_second=4):
        first = step * per_second // 4
        yield b''.join(dataset[first:first + per_second // 4])[:4096]


loader = Loader(3, read_samples)
cache = bytearray(b'c') * (32 * MIB)
ready()
for step in steps(per_second=12):
    loader.batch(step)
