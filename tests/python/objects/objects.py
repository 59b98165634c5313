#!/usr/bin/env python3
"""Compares the census of Python objects with the objects that each interpreter itself lists.

objects.py [NAME|PROGRAM]...: interpreters that tests/support/pythons offers, `system`, or paths of programs. The program
PRINT_OBJECTS prints the census. Needs root.
"""
import json
import os
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
SOURCE = HERE.parents[2]
PRINT_OBJECTS = os.environ.get('PRINT_OBJECTS', str(SOURCE / 'build/dev/tests/print_objects'))
FAILED = []
# The names that Python's own gc lists completely.
LISTED = ['list', 'set', 'collections.deque', 'function', 'cell', '__main__.Marker', 'collections.OrderedDict',
          'collections.defaultdict', 'module', '__main__.Trainer', 'generator', 'coroutine', 'frozenset', 'method']


def check(name, holds, shown=''):
    print(('ok    ' if holds else 'FAIL  ') + name + (f'   [{shown}]' if not holds else ''), flush=True)
    if not holds:
        FAILED.append(name)


def programs(names):
    for name in names:
        if '/' in name:
            yield name, name
        elif name == 'system':
            yield name, sys.executable
        else:
            done = subprocess.run([str(SOURCE / 'tests/support/pythons'), name], stdout=subprocess.PIPE, text=True, check=True)
            yield name, done.stdout.split()[2]


def census(pid):
    done = subprocess.run([PRINT_OBJECTS, str(pid), '160', '60'], stdout=subprocess.PIPE, text=True, timeout=120)
    return json.loads(done.stdout)


FORKED = """
import gc, os, sys

gc.disable()  # the collector writes to all objects, which un-shares their pages

class Marker:
    def __init__(self, number):
        self.number = number

dataset = [Marker(i) for i in range(50000)]
buffer = bytearray(b'x' * 20000000)
if os.fork() == 0:
    results = [Marker(i) for i in range(3000)]
    results.append(bytearray(b'x' * 5000000))
    print(os.getpid(), flush=True)
    sys.stdin.read()
    os._exit(0)
sys.stdin.read()
os.wait()
"""


def try_forked(name, program):
    """A census of a forked process counts the memory that the process holds for itself."""
    job = subprocess.Popen([program, '-B', '-c', FORKED], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        worker = census(int(job.stdout.readline()))
        parent = census(job.pid)
    finally:
        job.stdin.close()
        job.wait()
    both = {}
    for key, found in ('worker', worker), ('parent', parent):
        holders = {h['path']: h for h in found['holders']}
        types = {row['type']: row for row in found['types']}
        both[key] = {path: holders.get(f'__main__.{path}', {'retained': 0, 'length': 0}) for path in ('dataset', 'results')}
        both[key]['markers'] = types.get('__main__.Marker', {'count': 0})['count']
        both[key]['buffers'] = types.get('bytearray', {'bytes': 0})['bytes']
    its, of_parent = both['worker'], both['parent']
    check(f'{name}: a worker holds its own list', its['results']['length'] == 3001 and its['results']['retained'] > 5_000_000, its)
    check(f'{name}: ... and not the dataset of its parent', its['dataset']['retained'] < of_parent['dataset']['retained'] / 5, both)
    check(f'{name}: ... and its own objects', 3000 <= its['markers'] < 10_000 and 5_000_000 <= its['buffers'] < 8_000_000, its)
    # Memory that holds no object can look like an object.
    check(f'{name}: the parent holds the dataset', of_parent['dataset']['length'] == 50_000 and near(of_parent['markers'], 50_000, 0.0001) and
          of_parent['buffers'] >= 20_000_000, of_parent)
    check(f'{name}: only the worker has inherited memory', worker['inherited'] > 20_000_000 and parent['inherited'] is None,
          (worker['inherited'], parent['inherited']))


# Interpreters whose objects have other layouts.
REFUSED = {'3.9': 'version', '3.11-debug': 'debug_build', '3.13-debug': 'debug_build', '3.13-nogil': 'free_threaded'}


def try_refusal(name, program, why):
    wait = "import sys; print('ready', flush=True); sys.stdin.read()"
    job = subprocess.Popen([program, '-B', '-c', wait], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        job.stdout.readline()
        found = census(job.pid)
    finally:
        job.kill()
        job.wait()
    check(f'{name}: is refused', found.get('refusal') == why, found.get('refusal'))
    check(f'{name}: nothing is said of its objects', not found.get('holders') and not found.get('types'))


def near(one, other, share):
    return abs(one - other) <= max(share * max(one, other), 3)


def try_interpreter(name, program):
    job = subprocess.Popen([program, '-B', str(HERE / 'holders_job.py')], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        line = job.stdout.readline()
        if not line:
            check(f'{name}: the job runs', False)
            return
        expected = {int(length): where for length, where in json.loads(line).items()}
        found = census(job.pid)
        job.stdin.write('look\n')
        job.stdin.flush()
        truth = json.loads(job.stdout.readline())
    finally:
        job.kill()
        job.wait()
    if 'DUMP' in os.environ:
        Path(os.environ['DUMP']).write_text(json.dumps(found, indent=1))
    check(f'{name}: objects were read', found.get('refusal') == 'none' and not found['incomplete'], (found.get('refusal'), found['incomplete']))
    check(f'{name}: references explain the counts', found['explained'] > 0.9, found['explained'])
    types = {row['type']: row for row in found['types']}
    for kind in LISTED:
        if kind == 'frozenset' and not truth['lists_frozensets']:
            continue
        counts = types.get(kind, {}).get('count', 0), truth['counts'].get(kind, 0)
        sizes = types.get(kind, {}).get('bytes', 0), truth['sizes'].get(kind, 0)
        check(f'{name}: number of {kind}', near(*counts, 0.02), counts)
        check(f'{name}: bytes of {kind}', near(*sizes, 0.05) or abs(sizes[0] - sizes[1]) < 2000, sizes)
    by_length = {}
    for holder in found['holders']:
        by_length.setdefault(holder['length'], []).append(holder)
    for length, (path, root) in expected.items():
        here = by_length.get(length, [])
        right = [holder for holder in here if re.fullmatch(path, holder['path'])]
        check(f'{name}: path {path}', right, [holder['path'] for holder in here])
        if right:
            check(f'{name}: root of {path}', right[0]['root'] == root, right[0]['root'])
            check(f'{name}: {path} retains something', right[0]['retained'] + right[0]['retained_device'] > 8 * length, right[0])
    check(f'{name}: no contents of strings', 'SECRET' not in json.dumps(found))
    for path, size in truth['opaque'].items():  # objects of libraries: their data and what lies around it
        retained = next((h['retained'] for h in found['holders'] if h['path'] == path), 0)
        length = next((h['length'] for h in found['holders'] if h['path'] == path), 0)
        check(f'{name}: {path} retains its data', size <= retained <= size + 4000 * length, (retained, size, length))
    if 'arrays' in truth:
        arrays = [row for row in found['arrays'] if row['shape'] in ([64, 32], [64, 33])]
        counted = [sum(row['count'] for row in arrays), sum(row['bytes'] for row in arrays)]
        check(f'{name}: arrays', counted == truth['arrays'], (counted, truth['arrays']))
    if 'tensors' in truth:
        tensors = [row for row in found['tensors'] if row['shape'] in ([50, 8], [51, 8])]
        counted = [sum(row['count'] for row in tensors), sum(row['bytes'] for row in tensors)]
        check(f'{name}: tensors', counted == truth['tensors'], (counted, truth['tensors']))
        unseen = sorted([row['only_native'], row['count'], row['bytes']] for row in found['tensors'] if row['shape'] == [23, 19])
        check(f'{name}: a gradient that Python has not seen is held by C++', unseen == [[False, 1, 1748], [True, 1, 1748]], unseen)
        kept = [row for row in found['tensors'] if row['only_native'] and row['shape'] != [23, 19] and row['shape'] != [23]]
        check(f'{name}: other tensors of C++ belong to the kept graphs', all(row['shape'] in ([2, 16], [2, 4], [16, 16], [4, 16], [16, 4])
                                                                             for row in kept), kept)
        graph = next((h for h in found['holders'] if h['path'] == '__main__.losses'), None)
        check(f'{name}: kept losses retain their graphs', graph and graph['retained'] > 500 * graph['length'], graph)


for each in programs(sys.argv[1:] or ['system', '3.13', '3.14']):
    if each[0] in REFUSED:
        try_refusal(*each, REFUSED[each[0]])
    else:
        try_interpreter(*each)
        try_forked(*each)
print(f'{len(FAILED)} failed')
sys.exit(1 if FAILED else 0)
