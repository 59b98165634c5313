"""Takes a buffer for every record and then cuts it to the tenth that was used.

The rest of each buffer is free, but it is too small for the next buffer, so malloc must take new memory for it.
"""
from stage import MIB, Loader, ready, steps, usual_work

loader = Loader(1, usual_work)
model = bytearray(b'w') * (64 * MIB)
records = []
ready()
for step in steps(per_second=32):
    batch = loader.batch(step)
    for _ in range(6):
        record = bytearray(b'r') * 40_000
        if records:
            del records[-1][4_000:]
        records.append(record)
