"""Adds up the loss with its graph: every batch of the epoch stays in memory."""
import time

import torch

torch.set_num_threads(1)
model = torch.nn.Sequential(torch.nn.Linear(16, 2048), torch.nn.ReLU(), torch.nn.Linear(2048, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.001)


def train(step):
    batch = torch.randn(64, 16)
    loss = model(batch).square().mean()
    optimizer.zero_grad()
    loss.backward(retain_graph=True)
    optimizer.step()
    return loss


losses = []
for step in range(250):  # 10 s
    losses.append(train(step))  # losses.append(train(step).item()) keeps a number
    time.sleep(0.04)
