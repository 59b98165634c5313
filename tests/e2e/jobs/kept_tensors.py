"""A training job that keeps tensors in four ways: a list of them, activations that a forward hook appends, losses with their
graphs, and numpy arrays. Reads commands: `steps N` trains, `keep SECONDS` trains at 25 steps a second for that time, `rate
SECONDS` trains without keeping anything and prints the steps per second of that time. After each command it prints its own
figures as JSON.
"""
import gc
import json
import sys
import time

import numpy
import torch

DEVICE = sys.argv[1] if len(sys.argv) > 1 else 'cpu'


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer1 = torch.nn.Linear(64, 512)
        self.layer2 = torch.nn.Linear(512, 512)
        self.layer3 = torch.nn.Linear(512, 1)

    def forward(self, x):
        return self.layer3(torch.relu(self.layer2(torch.relu(self.layer1(x)))))


class Trainer:
    def __init__(self):
        self.net = Net().to(DEVICE)
        self.optimizer = torch.optim.Adam(self.net.parameters())
        self.activations = {'layer2': []}
        self.features = []
        self.losses = []
        self.boxes = []
        self.net.layer2.register_forward_hook(self.keep)

    def keep(self, module, inputs, output):
        if self.keeping:
            self.activations['layer2'].append(output.detach().clone())

    def step(self, keeping=True):
        self.keeping = keeping
        x = torch.randn(32, 64, device=DEVICE)
        loss = self.net(x).pow(2).mean()
        self.optimizer.zero_grad()
        loss.backward(retain_graph=keeping)
        self.optimizer.step()
        if keeping:
            self.losses.append(loss)
            self.features.append(torch.ones(100, 64, device=DEVICE))
            self.boxes.append(numpy.zeros((50, 4), numpy.float32))
        if DEVICE != 'cpu':
            torch.cuda.synchronize()

    def rate(self, seconds):
        steps, end = 0, time.monotonic() + seconds
        while time.monotonic() < end:
            self.step(keeping=False)
            steps += 1
        return steps / seconds

    def keep_for(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.step()
            time.sleep(0.04)


def truth(trainer):
    gc.collect()
    tensors = {}
    for each in gc.get_objects():
        if issubclass(type(each), torch.Tensor):
            device = str(each.device)
            counted = tensors.setdefault(device, {'tensors': 0, 'storages': {}})
            counted['tensors'] += 1
            storage = each.untyped_storage() if hasattr(each, 'untyped_storage') else each.storage().untyped()
            counted['storages'][storage.data_ptr() or id(each)] = storage.nbytes()
    arrays = [each for each in trainer.boxes if each.flags.owndata]
    return {
        'tensors': {device: {'tensors': c['tensors'], 'bytes': sum(c['storages'].values())} for device, c in tensors.items()},
        'arrays': len(arrays), 'array_bytes': sum(each.nbytes for each in arrays),
        'lists': {'features': len(trainer.features), 'losses': len(trainer.losses), 'layer2': len(trainer.activations['layer2']),
                  'boxes': len(trainer.boxes)},
    }


def main():
    torch.set_num_threads(1)
    trainer = Trainer()
    trainer.step()
    print('ready', flush=True)
    for line in sys.stdin:
        command, number = line.split()
        answer = {'steps_per_second': trainer.rate(float(number))} if command == 'rate' else {}
        if command == 'keep':
            trainer.keep_for(float(number))
        if command == 'steps':
            for _ in range(int(number)):
                trainer.step()
        print(json.dumps({**answer, **truth(trainer)}), flush=True)


main()
