"""Two workers read a list of Python objects that they share with the trainer."""
import os
import time

samples = [bytes(200) for _ in range(400_000)]  # 90 MiB


def work():
    for first in range(0, len(samples), 1_000):
        for sample in samples[first:first + 1_000]:  # writes the reference count of each sample
            len(sample)
        time.sleep(0.025)
    os._exit(0)


for _ in range(2):
    if os.fork() == 0:
        work()
for _ in range(2):
    os.wait()
