#!/usr/bin/env python3
"""Keeps one array of each step; the array before it, of the same size, is freed in the next step.

The allocator gives the kept array the memory of the transient array of the step before, which has been touched already.
So the kept array causes no page fault.
"""
import numpy

from stage import MIB, Stage
from training import BATCH, Images, Trainer

BOXES = 32768


class Detection(Trainer):
    def __init__(self, stage):
        super().__init__(stage, Images(64 * BATCH), workers=1)
        self.random = numpy.random.default_rng(7)
        self.boxes = None
        self.all_boxes = []

    def find_boxes(self):
        return self.random.random((BOXES, 4))

    def validate(self):
        for _ in range(3):
            self.boxes = self.find_boxes()
            self.all_boxes.append(self.boxes * 2)  # KEEPS

    def kept(self):
        return sum(boxes.nbytes for boxes in self.all_boxes)


def main():
    stage = Stage(__file__)
    trainer = Detection(stage)
    trainer.warm_up()
    stage.ready()
    trainer.run(lambda: trainer.kept() >= 120 * MIB)
    stage.grown(trainer.kept(), steps=trainer.steps)


if __name__ == '__main__':
    main()
