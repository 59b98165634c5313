"""Keeps 160 KiB of every step, two levels below the command that was started."""
from stage import MIB, Loader, ready, steps, usual_work

loader = Loader(1, usual_work)
model = bytearray(b'w') * (64 * MIB)
losses = []
ready()
for step in steps(per_second=32):
    batch = loader.batch(step)
    losses.append(batch * 40)
