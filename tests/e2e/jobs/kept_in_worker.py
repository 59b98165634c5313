#!/usr/bin/env python3
"""The dataset keeps every picture that it has decoded, in the DataLoader's workers."""
import multiprocessing

import numpy
import torch

from stage import Stage
from training import BATCH, CLASSES, SIDE, Images, Trainer

DECODED_SIDE, STEPS = 256, 10


class Decoded(Images):
    def __init__(self, count):
        super().__init__(count)
        self.cache = {}
        self.kept = multiprocessing.Value('q')

    def __getitem__(self, index):
        raw = numpy.full((DECODED_SIDE, DECODED_SIDE, 3), index % 251, numpy.uint8)
        self.cache[index] = raw.astype(numpy.float32)  # KEEPS
        with self.kept.get_lock():
            self.kept.value += self.cache[index].nbytes
        picture = torch.from_numpy(self.cache[index][:SIDE, :SIDE] / 255).permute(2, 0, 1)
        return picture, (picture[0] * CLASSES).long()


def main():
    stage = Stage(__file__)
    data = Decoded(STEPS * BATCH)  # 120 MiB in all, kept when the first epoch is over
    trainer = Trainer(stage, data)  # no warm-up: workers would inherit the memory that it freed, and grow into that
    stage.ready()
    trainer.run(lambda: trainer.steps == STEPS)
    stage.grown(data.kept.value, steps=trainer.steps, role='dataloader_worker')


if __name__ == '__main__':
    main()
