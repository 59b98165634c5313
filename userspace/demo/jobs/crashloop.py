"""Keeps 1 MiB of every step until the kernel kills it. Its launcher then starts it again."""
from stage import MIB, Loader, ready, steps, usual_work


class Trainer:
    def __init__(self, loader):
        self.loader = loader
        self.activations = []

    def step(self, number):
        batch = self.loader.batch(number)
        self.activations.append(batch * 256)  # 1 MiB


loader = Loader(1, usual_work)
model = bytearray(b'w') * (48 * MIB)
trainer = Trainer(loader)
ready()
for number in steps(per_second=16):
    trainer.step(number)
