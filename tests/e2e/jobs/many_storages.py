#!/usr/bin/env python3
"""Trains on the CPU as fast as possible, with thousands of tensor storages per second. It keeps the outputs of some steps."""
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from stage import MIB, Stage

WIDTH, BATCH = 64, 32
KEPT_PER_SECOND = 5 * MIB


class Classifier:
    def __init__(self):
        torch.set_num_threads(1)
        torch.manual_seed(7)
        self.net = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, 8))
        self.optimizer = torch.optim.Adam(self.net.parameters())
        self.loader = DataLoader(TensorDataset(torch.randn(8192, WIDTH), torch.randint(0, 8, (8192,))), batch_size=BATCH,
                                 num_workers=1, persistent_workers=True, multiprocessing_context='fork')
        self.steps = 0
        self.kept_outputs = []
        self.began = None

    def train_step(self, inputs, labels):
        loss = nn.functional.cross_entropy(self.net(inputs), labels)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.steps += 1

    @torch.no_grad()
    def validate(self):
        """Keeps 5 MiB a second, however fast the machine is."""
        now = time.monotonic()
        self.began = self.began or now
        if self.kept() > (now - self.began) * KEPT_PER_SECOND:
            return
        self.kept_outputs.append(torch.relu(self.net[0].weight).repeat(16, 1))  # KEEPS

    def kept(self):
        return sum(kept.numel() * kept.element_size() for kept in self.kept_outputs)

    def run(self, stage):
        """Trains until the test ends the job."""
        while True:
            for inputs, labels in self.loader:
                self.train_step(inputs, labels)
                self.validate()
                if not stage.goes_on():
                    return


def main():
    stage = Stage(__file__)
    job = Classifier()
    for batch in DataLoader(job.loader.dataset, batch_size=BATCH):
        job.train_step(*batch)
        if job.steps == 2:
            break
    stage.ready()
    job.run(stage)
    stage.grown(job.kept(), steps=job.steps)


if __name__ == '__main__':
    main()
