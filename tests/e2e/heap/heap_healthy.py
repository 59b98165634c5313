#!/usr/bin/env python3
"""Healthy processes are accused of nothing: a process that has imported large libraries and waits, an idle Jupyter kernel, a
training that keeps nothing. Two censuses of each: hardly any memory counts as lost, and no sentence speaks of a leak.

Needs root and a Python with PyTorch and numpy; pandas, scikit-learn, matplotlib and ipykernel are imported, too, if they are
installed. Takes 60 s. MEMSCOPE and PYTHON name the programs.
"""
import contextlib
import json
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../support'))
from growing import MEMSCOPE, MIB  # noqa: E402
from harness import Checks, process, run_as_root, wait_for  # noqa: E402

PYTHON = os.environ.get('PYTHON', '/usr/bin/python3')
AGAIN = '8s'
MOST_LOST = 0.01  # of the live memory
# What a sentence says of memory that is wrongly kept.
ACCUSES = re.compile(r'lost by native code|garbage collector|C\+\+ closes a cycle|keeps references|has grown|threads run|'
                     r'Suspected leak')

check = Checks()

IMPORTS = r'''
import importlib, sys
for name in 'torch', 'numpy', 'pandas', 'sklearn.ensemble', 'matplotlib.pyplot':
    try:
        importlib.import_module(name)
    except ModuleNotFoundError:
        print('      without', name, file=sys.stderr)
print('ready', flush=True)
sys.stdin.read()
'''

# Keeps nothing. The first steps allocate the state of the optimizer and fill the caches of the allocators.
TRAINING = r'''
import time, torch
torch.set_num_threads(1)
net = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.ReLU(), torch.nn.Linear(512, 10))
optimizer = torch.optim.Adam(net.parameters())
mean = 0.0
step = 0
while True:
    inputs, labels = torch.randn(64, 256), torch.randint(0, 10, (64,))
    loss = torch.nn.functional.cross_entropy(net(inputs), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    mean += 0.01 * (loss.item() - mean)
    step += 1
    if step == 200:
        print('ready', flush=True)
    time.sleep(0.005)
'''


def heap(pid, *words):
    done = subprocess.run([MEMSCOPE, 'heap', '--pid', str(pid), *words], capture_output=True, text=True, timeout=90)
    return done.stdout if check('there is a census', done.returncode == 0, done.stderr) else None


def judge(name, pid):
    text = heap(pid, '--again', AGAIN)
    if text is None:
        return
    sentence = ' '.join(text.partition('\n\n')[0].split())
    print(f'      {name}: {sentence}', flush=True)
    accused = ACCUSES.search(sentence)
    check(f'{name}: the answer names no leak', not accused, sentence)
    answer = heap(pid, '--format', 'json', '--top', '5')
    if answer is None:
        return
    census = json.loads(answer)['processes'][0]
    lost, live = census['native_unreached'], census['live_bytes']
    if not check(f'{name}: the owners of its memory are known', lost and live, census.get('refused')):
        return
    print(f'      {name}: {live / MIB:.0f} MiB live, {census["attributed_bytes"] / live:.3f} with an owner, '
          f'{census["probable_bytes"] / live:.3f} probably, {lost["bytes"] / live:.4f} lost in {lost["blocks"]} blocks', flush=True)
    check(f'{name}: less than {MOST_LOST:.0%} of the live memory counts as lost', lost['bytes'] < MOST_LOST * live, lost)


@contextlib.contextmanager
def script(text):
    with process([PYTHON, '-c', text], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as job:
        job.stdout.readline()
        yield job.pid


@contextlib.contextmanager
def kernel(folder):
    """A Jupyter kernel to which no client is connected."""
    connection = f'{folder}/connection.json'
    environment = {**os.environ, 'HOME': folder, 'IPYTHONDIR': f'{folder}/ipython', 'PYDEVD_DISABLE_FILE_VALIDATION': '1'}
    with process([PYTHON, '-m', 'ipykernel_launcher', '-f', connection], env=environment, stdout=subprocess.DEVNULL,
                 stderr=subprocess.DEVNULL) as job:
        check('the kernel starts', wait_for(lambda: os.path.exists(connection), 20))
        yield job.pid


def main():
    with script(IMPORTS) as pid:
        judge('imports', pid)
    with script(TRAINING) as pid:
        judge('training', pid)
    if subprocess.run([PYTHON, '-c', 'import ipykernel'], capture_output=True).returncode == 0:
        with tempfile.TemporaryDirectory() as folder, kernel(folder) as pid:
            judge('kernel', pid)
    else:
        print('      without ipykernel', flush=True)


if __name__ == '__main__':
    run_as_root(check, main, MEMSCOPE, 170)
