"""Keeps the outputs of every validation step: a list of tensors that is never cleared."""
import torch

from stage import Loader, ready, steps, usual_work


class Trainer:
    def __init__(self, loader):
        self.loader = loader
        self.model = torch.nn.Linear(8, 64)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01)
        self.val_outputs = []

    def train(self, step):
        batch = torch.frombuffer(bytearray(self.loader.batch(step)), dtype=torch.uint8)
        loss = self.model(batch.float().reshape(-1, 8)).square().mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()

    def validate(self, step):
        with torch.no_grad():
            output = self.model(torch.full((4096, 8), float(step)))  # 1 MiB of predictions
        self.val_outputs.append((step, output))  # the leak: nothing ever clears this list


torch.set_num_threads(1)
loader = Loader(2, usual_work)
trainer = Trainer(loader)
trainer.train(0)
ready()
for step in steps(per_second=8):
    trainer.train(step)
    trainer.validate(step)
