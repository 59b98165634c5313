#!/usr/bin/env python3
"""Keeps batches as they come from the workers: in shared memory."""
import torch

from stage import MIB, Stage
from training import BATCH, Images, Trainer


class Replay(Trainer):
    def __init__(self, stage):
        super().__init__(stage, Images(512 * BATCH))
        self.replay = []
        self.batches = None

    def fetch(self):
        self.replay.append(next(self.batches))  # KEEPS
        return self.replay[-1]

    def kept(self):
        return sum(t.numel() * t.element_size() for batch in self.replay for t in batch if t.is_shared())

    def run(self, enough):
        self.batches = iter(self.loader)
        while not enough() and self.stage.goes_on():
            self.stage.pace(self.step_seconds / 2)
            batch = self.fetch()
            if len(self.replay) % 4 == 0:
                self.train_step(*batch)


def main():
    stage = Stage(__file__)
    trainer = Replay(stage)
    trainer.warm_up()
    stage.ready()
    trainer.run(lambda: trainer.kept() >= 100 * MIB)
    stage.grown(trainer.kept(), steps=trainer.steps, kind='shared')


if __name__ == '__main__':
    main()
