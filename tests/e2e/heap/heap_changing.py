#!/usr/bin/env python3
"""Censuses of a Python process that changes its objects as fast as it can: lists, dicts, sets, deques, instances, frames,
generators and threads. Each census ends in time with an answer, says what was torn, and finds the containers that do not
change. The process goes on.

Needs root. Takes a minute. MEMSCOPE names the binary, PYTHON another interpreter, CENSUSES their number (20).
"""
import collections
import json
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../support'))
from growing import MEMSCOPE  # noqa: E402
from harness import Checks, process, run_as_root  # noqa: E402

CENSUSES = int(os.environ.get('CENSUSES', 20))
PYTHON = os.environ.get('PYTHON', sys.executable)
PATIENCE = 60  # seconds for one census: the limits of the helper process are 5 and 10 s
KEPT = {'steady_list': 5000, 'steady_dict': 7000}

check = Checks()

JOB = r'''
import collections, random, sys, threading, time

class Marker:
    def __init__(self, number):
        self.number = number
        self.name = str(number) * (number % 9)

class Slotted:
    __slots__ = ('items', 'other')

steady_list = [Marker(i) for i in range(5000)]
steady_dict = {i: Marker(i) for i in range(7000)}
changing_list, changing_dict, changing_set, changing_deque = [], {}, set(), collections.deque()
rounds = [0]

def lists():
    for i in range(2000):
        changing_list.append([i, Marker(i), (i, str(i))])
    changing_list.sort(key=lambda item: item[0] * 7919 % 1000)
    del changing_list[::2]
    if len(changing_list) > 20000:
        changing_list.clear()

def dicts():
    for i in range(2000):
        changing_dict[random.randrange(20000)] = {'a': i, 'b': [i]}
    for key in list(changing_dict)[::3]:
        del changing_dict[key]

def sets():
    for i in range(1000):
        changing_set.add((i, random.random()))
        changing_deque.append(frozenset((i, i + 1)))
    while len(changing_set) > 3000:
        changing_set.pop()
    while len(changing_deque) > 3000:
        changing_deque.popleft()

def numbers(depth):
    local = [depth] * (depth % 50)
    if depth > 0:
        yield from numbers(depth - 1)
    yield local

def frames():
    for depth in (5, 50, 200):
        for _ in numbers(depth):
            pass

def types():
    made = [type('Made%d' % i, (Slotted,), {'values': [i]}) for i in range(20)]
    objects = [kind() for kind in made for _ in range(20)]
    for thing in objects:
        thing.items = objects

def threads():
    def body():
        mine = [Marker(i) for i in range(300)]
        threading.local().mine = mine
    started = [threading.Thread(target=body) for _ in range(4)]
    for thread in started:
        thread.start()
    for thread in started:
        thread.join()

def buffers():
    kept = [bytearray(random.randrange(1, 200000)) for _ in range(50)]
    del kept[::2]

def change():
    parts = [lists, dicts, sets, frames, types, threads, buffers]
    while True:
        try:
            random.choice(parts)()
        except (IndexError, KeyError, ValueError):  # the other thread was faster
            pass
        rounds[0] += 1

sys.setswitchinterval(0.001)
for _ in range(2):
    threading.Thread(target=change, daemon=True).start()
print('ready', flush=True)
for _ in sys.stdin:
    print(rounds[0], flush=True)
'''


def census(pid):
    """(the census or None, exit status, seconds)"""
    began = time.monotonic()
    try:
        done = subprocess.run([MEMSCOPE, 'heap', '--pid', str(pid), '--format', 'json', '--top', '4000'], capture_output=True,
                              text=True, timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        return None, 'timeout', PATIENCE
    answer = json.loads(done.stdout)['processes'][0] if done.returncode == 0 else None
    return answer, done.returncode if done.returncode else done.stderr, time.monotonic() - began


def main():
    with process([PYTHON, '-c', JOB], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as job:
        job.stdout.readline()

        def rounds():
            job.stdin.write('look\n')
            job.stdin.flush()
            return int(job.stdout.readline())

        failed, gaps, missing, slowest, before = [], collections.Counter(), collections.Counter(), 0, rounds()
        for number in range(CENSUSES):
            found, status, seconds = census(job.pid)
            slowest = max(slowest, seconds)
            if not found or found.get('refused'):
                failed.append((number, status, found and found.get('refused')))
                continue
            gaps.update(found['incomplete'].keys())
            by_path = {holder['path'].rpartition('.')[2]: holder['length'] for holder in found['holders']}
            missing.update(name for name, length in KEPT.items() if by_path.get(name) != length)
        after = rounds()
        print(f'      {CENSUSES} censuses, the slowest took {slowest:.1f} s; censuses with gaps: {dict(gaps)}; steady containers '
              f'that were not found: {dict(missing)}; {after - before} rounds of changes meanwhile', flush=True)
        check('every census has an answer', not failed, failed[:5])
        check('memory that changed during a census is counted as torn', gaps['torn'] > 0, gaps)
        check('containers that do not change are found in nine of ten censuses', not missing or
              max(missing.values()) <= CENSUSES // 10, missing)
        check('the process goes on', after > before and job.poll() is None, (before, after))


if __name__ == '__main__':
    run_as_root(check, main, MEMSCOPE, 60 + 12 * CENSUSES)
