"""Keeps 24 MiB at each validation, which is every eight seconds, and nothing in between."""
from stage import MIB, Loader, ready, steps, usual_work


class History:
    def __init__(self):
        self.confusion_matrices = []

    def validate(self):
        self.confusion_matrices.append(bytearray(b'c') * (24 * MIB))


loader = Loader(2, usual_work)
model = bytearray(b'w') * (96 * MIB)
history = History()
ready()
for step in steps(per_second=4):
    loader.batch(step)
    if step > 0 and step % 32 == 0:
        history.validate()
