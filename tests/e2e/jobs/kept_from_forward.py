#!/usr/bin/env python3
"""Keeps the outputs of the network as they are: the network allocates them, in training as well as in validation."""
import torch

import training
from stage import MIB, Stage


class Segmentation(training.Trainer):
    def __init__(self, stage):
        super().__init__(stage, training.Images(64 * training.BATCH))
        self.outputs = []

    def validate(self):
        with torch.no_grad():
            self.outputs.append(self.net(self.pictures))  # KEEPS

    def kept(self):
        return sum(kept.numel() * kept.element_size() for kept in self.outputs)


def main():
    stage = Stage(__file__, maker=training.__file__)
    trainer = Segmentation(stage)
    trainer.warm_up()
    stage.ready()
    trainer.run(lambda: trainer.kept() >= 80 * MIB)
    stage.grown(trainer.kept(), steps=trainer.steps)


if __name__ == '__main__':
    main()
