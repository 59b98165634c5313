"""Keeps what every validation step returns."""
import time


class Trainer:
    def __init__(self):
        self.model = bytearray(b'w') * (32 << 20)
        self.val_outputs = []

    def validate(self, step):
        output = bytearray(b'p') * (200 << 10)
        self.val_outputs.append((step, output))


trainer = Trainer()
for step in range(500):  # 10 s
    trainer.validate(step)
    time.sleep(0.02)
