#!/usr/bin/env python3
"""The census of Python objects against what each interpreter says of itself.

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
    if 'arrays' in truth:
        arrays = [row for row in found['arrays'] if row['shape'] in ([64, 32], [64, 33])]
        counted = [sum(row['count'] for row in arrays), sum(row['bytes'] for row in arrays)]
        check(f'{name}: arrays', counted == truth['arrays'], (counted, truth['arrays']))
    if 'tensors' in truth:
        tensors = [row for row in found['tensors'] if row['shape'] in ([50, 8], [51, 8])]
        counted = [sum(row['count'] for row in tensors), sum(row['bytes'] for row in tensors)]
        check(f'{name}: tensors', counted == truth['tensors'], (counted, truth['tensors']))
        graph = next((h for h in found['holders'] if h['path'] == '__main__.losses'), None)
        check(f'{name}: kept losses retain their graphs', graph and graph['retained'] > 500 * graph['length'], graph)


for each in programs(sys.argv[1:] or ['system', '3.13', '3.14']):
    try_interpreter(*each)
print(f'{len(FAILED)} failed')
sys.exit(1 if FAILED else 0)
