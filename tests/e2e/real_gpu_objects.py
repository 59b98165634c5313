#!/usr/bin/env python3
"""The census of Python objects on a GPU: tensors by device against what the job's own gc says, at three moments, and the
containers that hold GPU memory. Needs root, PyTorch with CUDA and the program PRINT_OBJECTS (tests/python/objects).
"""
import json
import os
import subprocess
import sys
import tempfile
import time

PRINT_OBJECTS = os.environ.get('PRINT_OBJECTS', 'build/dev/tests/print_objects')
FAILED = []
JOB = r'''
import gc, json, sys, torch
device = 'cuda:0'
class Trainer:
    def __init__(self):
        self.model = torch.nn.Sequential(torch.nn.Linear(512, 512), torch.nn.ReLU(), torch.nn.Linear(512, 128)).to(device)
        self.activations = {'layer2': []}
        self.losses, self.features, self.boxes = [], [], []
        self.model[2].register_forward_hook(self.keep)
        self.optimizer = torch.optim.Adam(self.model.parameters())
    def keep(self, module, inputs, output):
        self.activations['layer2'].append(output.detach().clone())
    def step(self):
        loss = self.model(torch.randn(64, 512, device=device)).square().mean()
        self.optimizer.zero_grad(); loss.backward(); self.optimizer.step()
        self.losses.append(self.model(torch.randn(8, 512, device=device)).mean())
        self.features.append(torch.zeros(16, 1024, device=device))
        self.boxes.append(torch.zeros(100, 4))
trainer = Trainer()
def truth():
    gc.collect()
    totals = {}
    seen = set()
    for thing in gc.get_objects():
        if not isinstance(thing, torch.Tensor): continue
        total = totals.setdefault(str(thing.device), [0, 0])
        total[0] += 1
        storage = thing.untyped_storage()
        if storage.data_ptr() and storage.data_ptr() not in seen:
            seen.add(storage.data_ptr())
            total[1] += storage.nbytes()
    return {'totals': totals, 'lengths': {'losses': len(trainer.losses), 'features': len(trainer.features), 'layer2': len(trainer.activations['layer2'])},
            'feature_bytes': sum(f.untyped_storage().nbytes() for f in trainer.features), 'version': torch.__version__, 'python': sys.version.split()[0]}
print('ready', flush=True)
for line in sys.stdin:
    for _ in range(int(line)): trainer.step()
    torch.cuda.synchronize()
    print(json.dumps(truth()), flush=True)
'''


def check(name, holds, shown=''):
    print(('ok    ' if holds else 'FAIL  ') + name + f'   [{shown}]', flush=True)
    if not holds:
        FAILED.append(name)


def census(pid):
    return json.loads(subprocess.run([PRINT_OBJECTS, str(pid)], stdout=subprocess.PIPE, text=True, timeout=60, check=True).stdout)


with tempfile.TemporaryDirectory() as folder:
    script = f'{folder}/train.py'
    open(script, 'w').write(JOB)
    job = subprocess.Popen([os.environ.get('PYTHON', sys.executable), script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    job.stdout.readline()
    for moment, steps in enumerate((100, 200, 700), 1):
        job.stdin.write(f'{steps}\n')
        job.stdin.flush()
        truth = json.loads(job.stdout.readline())
        began = time.time()
        found = census(job.pid)
        if moment == 1:
            print(f'      PyTorch {truth["version"]}, Python {truth["python"]}')
        print(f'      {found["objects"]} objects, {found["taken"]:.2f} s of CPU, {time.time() - began:.2f} s, {found["peak"] >> 20} MiB, '
              f'{found["explained"]:.3f} of the reference counts explained, incomplete: {found["incomplete"]}')
        with_object = {}
        for row in found['tensors']:
            if not row['only_native']:
                total = with_object.setdefault(row['device'], [0, 0])
                total[0] += row['count']
                total[1] += row['bytes']
        check(f'moment {moment}: tensors and bytes by device', with_object == truth['totals'], (with_object, truth['totals']))
        holders = {holder['path']: holder for holder in found['holders']}
        for name, path in (('losses', '__main__.trainer.losses'), ('features', '__main__.trainer.features'),
                           ('layer2', "__main__.trainer.activations['layer2']")):
            holder = holders.get(path)
            check(f'moment {moment}: {path}', holder and holder['length'] == truth['lengths'][name] and holder['retained_device'] > 0, holder)
        features = holders.get('__main__.trainer.features')
        check(f'moment {moment}: GPU memory of the features', features and features['retained_device'] == truth['feature_bytes'] and
              features['element'] == 'torch.Tensor cuda:0 float32[16,1024]', (features, truth['feature_bytes']))
    job.kill()
    job.wait()
print(f'{len(FAILED)} failed')
sys.exit(1 if FAILED else 0)
