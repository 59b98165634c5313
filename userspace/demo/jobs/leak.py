"""Keeps the outputs of every validation step: a list that is never cleared."""
from stage import MIB, Loader, ready, steps, usual_work


class Trainer:
    def __init__(self, loader):
        self.loader = loader
        self.layers = [bytearray(b'w') * (4 * MIB) for _ in range(6)]
        self.val_outputs = []

    def load_model(self):
        for layer in steps(per_second=4):
            if layer == 18:
                return
            self.layers.append(bytearray(b'w') * (4 * MIB))

    def validate(self, step):
        batch = self.loader.batch(step)
        output = batch * 64  # 256 KiB of predictions
        self.val_outputs.append((step, output))  # the leak: nothing ever clears this list


loader = Loader(2, usual_work)
trainer = Trainer(loader)
ready()
trainer.load_model()
for step in steps(per_second=32):
    trainer.validate(step)
