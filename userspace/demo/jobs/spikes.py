"""Validates for two seconds of every eight: the predictions need 120 MiB, and are freed after that."""
from stage import MIB, Loader, ready, steps, usual_work

SECONDS = 8


def validate(clock):
    predictions = bytearray(b'p') * (120 * MIB)
    for _ in range(7):  # steps of the clock, 2 s
        next(clock)
    return len(predictions)


loader = Loader(2, usual_work)
model = bytearray(b'w') * (96 * MIB)
ready()
clock = steps(per_second=4)
for step in clock:
    loader.batch(step)
    if step % (4 * SECONDS) == 4 * (SECONDS - 2):
        validate(clock)
