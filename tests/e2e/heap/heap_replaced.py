#!/usr/bin/env python3
"""Holders that a busy process changes while they are read. A list inside another container gets items as fast as the process
can append them: each census finds it, at the same path, and gives its items to no container around it. An array in a variable,
and one in an attribute, are replaced by longer ones all the time: each census finds them.

Needs root and Debian's package python3-numpy; takes a minute. MEMSCOPE names the binary, PYTHON another interpreter with
numpy, CENSUSES the number of censuses (8).
"""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../support'))
from growing import MEMSCOPE  # noqa: E402
from harness import Checks, process, run_as_root  # noqa: E402

CENSUSES = int(os.environ.get('CENSUSES', 8))
PYTHON = os.environ.get('PYTHON', '/usr/bin/python3')
MIB = 1 << 20

check = Checks()

LISTS = r'''
import sys, threading, time

class Callback:
    def __init__(self):
        self.history = []

class Handler:
    def __init__(self):
        self.callbacks = [{'flow': 1}, Callback()]

class Trainer:
    def __init__(self):
        self.handler = Handler()

def log(trainer, n):
    trainer.handler.callbacks[1].history.append({'step': n, 'loss': n * 0.5})

def work(trainer):
    until = time.monotonic() + 150
    n = 0
    while time.monotonic() < until:
        for _ in range(100):
            log(trainer, n)
            n += 1
        time.sleep(0.002)

trainer = Trainer()
threading.Thread(target=work, args=(trainer,), daemon=True).start()
print('ready', flush=True)
sys.stdin.readline()
'''

ARRAYS = r'''
import sys, threading, time
import numpy as np

class Meter:
    def __init__(self):
        self.total = np.ones((100, 4000), np.float32)

def evaluate(meter):
    preds = np.ones((4000, 1000), np.float32)
    while True:
        preds = np.concatenate((preds, np.ones((10, 1000), np.float32)))
        meter.total = np.concatenate((meter.total, np.ones((1, 4000), np.float32)))
        time.sleep(0.02)

meter = Meter()
threading.Thread(target=evaluate, args=(meter,), daemon=True).start()
print('ready', flush=True)
sys.stdin.readline()
'''


def census(pid):
    done = subprocess.run([MEMSCOPE, 'heap', '--pid', str(pid), '--format', 'json', '--top', '100'], capture_output=True,
                          text=True, timeout=120)
    if not check('a census is taken', done.returncode == 0, done.stderr[-400:]):
        return []
    return json.loads(done.stdout)['processes'][0]['holders']


def run(job):
    """The holders of each census of the job."""
    with process([PYTHON, '-c', job], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as started:
        if not check('the job starts', started.stdout.readline() == 'ready\n'):
            return []
        return [census(started.pid) for _ in range(CENSUSES)]


def check_lists():
    path, around = '__main__.trainer.handler.callbacks[1].history', '__main__.trainer.handler.callbacks'
    lengths = []
    for holders in run(LISTS):
        found = {holder['path']: holder for holder in holders}
        if not check('lists: the inner list is found, always at the same path', path in found, list(found)[:8]):
            continue
        lengths.append(found[path]['length'])
        outer = found.get(around, {}).get('retained_bytes', 0)
        check('lists: it retains what the list around it retains',
              found[path]['retained_bytes'] >= 0.95 * outer - 4096, (found[path], outer))
        if found[path]['length'] > 50_000:  # the latest items are newer than the copy of the heap
            check('lists: and its items', found[path]['retained_bytes'] > 100 * found[path]['length'], found[path])
        check('lists: nothing of it is held by C code',
              not any(each['path'].startswith('<C code>') and each['retained_bytes'] > MIB for each in holders), holders[:4])
    check('lists: it grows', lengths == sorted(lengths) and len(set(lengths)) == len(lengths), lengths)


def check_arrays():
    # On a busy machine an array is replaced many times while one census reads.
    variables = attributes = 0
    for holders in run(ARRAYS):
        variable = [each for each in holders if each['path'].endswith(' preds') and each['path'].startswith('evaluate')]
        variables += bool(variable and variable[0]['retained_bytes'] >= 15 * MIB)
        attribute = [each for each in holders if each['path'].endswith('meter.total')]
        attributes += bool(attribute and attribute[0]['retained_bytes'] >= MIB // 4)
        check('arrays: C code has none',
              not any(each['path'].startswith('<C code>') and each['retained_bytes'] > MIB for each in holders), holders[:6])
    check('arrays: the variable has its array in three of four censuses', variables >= 0.75 * CENSUSES, variables)
    check('arrays: the attribute has its array in three of four censuses', attributes >= 0.75 * CENSUSES, attributes)


def main():
    check_lists()
    check_arrays()


if __name__ == '__main__':
    run_as_root(check, main, MEMSCOPE, 240)
