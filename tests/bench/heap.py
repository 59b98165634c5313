#!/usr/bin/env python3
"""What a heap census costs: CPU time per GiB for heaps of different kinds, and how much a process that maps and unmaps
memory all the time is slowed down while it is read. The two sides of the comparison run in turns. Needs root and a
compiler. MEMSCOPE names the binary.

heap.py [ROUNDS [objects [docs]]]: with `objects` only the censuses of Python objects; `docs`: writes their figures to
docs/heap.md, too
"""
import json
import os
import pathlib
import re
import select
import statistics
import subprocess
import sys
import tempfile
import time

MEMSCOPE = os.environ['MEMSCOPE']
SOURCE = pathlib.Path(__file__).resolve().parents[2]
GIB = 1 << 30


# About as many objects as its argument says, of many types, in an order that has nothing to do with their addresses.
MIXED = r"""
import collections, json, random, sys

class Sample:
    def __init__(self, i):
        self.index, self.path, self.label = i, f'/data/train/{i:07}.jpg', i % 1000
        self.box = (i * 0.5, i * 0.25, i + 1.0, i + 2.0)

class Slotted:
    __slots__ = ('key', 'values')
    def __init__(self, i):
        self.key, self.values = i, [i, i + 1, i + 2]

wanted = int(sys.argv[1])
random.seed(1)
# Objects of each: 9, 6, 8, 8, 8.
kinds = [Sample, Slotted, lambda i: {'id': i, 'scores': [i / 3, i / 7], 'name': str(i)},
         lambda i: (i, str(i), [float(i)], (str(-i), i + 0.5)), lambda i: collections.deque([str(i), {i}, frozenset((i, -i))], 8)]
rows = [kinds[i % 5](i + 1000) for i in range(wanted // 8)]
random.shuffle(rows)
cache = {f'key {i}': rows[i] for i in range(0, len(rows), 10)}
print(json.dumps({}), flush=True)
sys.stdin.read()
"""


# The imports of a trainer, and as many modules more as those of a large framework.
IMPORTS = r"""
import contextlib, importlib, io, json, pkgutil, sys, warnings
warnings.simplefilter('ignore')
with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
    import torch, pandas, scipy.stats, sklearn.ensemble, sklearn.linear_model, matplotlib.pyplot, sympy
    for module in pkgutil.walk_packages(sympy.__path__, 'sympy.'):
        if 'test' not in module.name and 'bench' not in module.name:
            try: importlib.import_module(module.name)
            except BaseException: pass
print(json.dumps({}), flush=True)
sys.stdin.read()
"""
SYSTEM_PYTHON = '/usr/bin/python3'


class Job:
    def __init__(self, *argv):
        self.child = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.pid = self.child.pid
        self.said = json.loads(self.child.stdout.readline())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.child.kill()
        self.child.wait()

    def ask(self):
        self.child.stdin.write('look\n')
        self.child.stdin.flush()
        return json.loads(self.child.stdout.readline())


def census(pid):
    began = time.monotonic()
    done = subprocess.run([MEMSCOPE, 'heap', '--pid', str(pid), '--format', 'json'], stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)['processes'][0], time.monotonic() - began


def cost(label, job, rounds):
    answers = [census(job.pid) for _ in range(rounds)]
    anon = answers[0][0]['anon_bytes']
    cpu = statistics.median(answer['taken_seconds'] for answer, _ in answers)
    wall = statistics.median(seconds for _, seconds in answers)
    gaps = [answer['incomplete'] for answer, _ in answers if answer['incomplete']]
    print(f'{label:32} {anon / GIB:8.2f} {cpu * 1e3:9.0f} {cpu * 1e3 * GIB / anon:9.0f} {wall * 1e3:9.0f}   {gaps[:1] or ""}')


def descendants(pid):
    """The process, and all that it has started."""
    parents = {}
    for stat in pathlib.Path('/proc').glob('[0-9]*/stat'):
        try:
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(')')[2].split()[1])
        except OSError:
            continue
    found = [pid]
    for each in found:
        found += [child for child, parent in parents.items() if parent == each]
    return found


def census_with_memory(binary, pid):
    """A census, and the memory in MiB that the command and its helpers took together, each at its peak."""
    done = subprocess.Popen([binary, 'heap', '--pid', str(pid), '--format', 'json'], stdout=subprocess.PIPE, text=True)
    peaks = {}
    while not select.select([done.stdout], [], [], 0.05)[0]:
        for each in descendants(done.pid):
            try:
                status = pathlib.Path(f'/proc/{each}/status').read_text()
                anon = re.search(r'RssAnon:\s+(\d+)', status)
                peaks[each] = max(peaks.get(each, 0), int(anon[1]) if anon else 0)
            except OSError:
                continue
    out = done.communicate()[0]
    if done.returncode != 0:
        raise subprocess.CalledProcessError(done.returncode, done.args)
    return json.loads(out)['processes'][0], sum(peaks.values()) / 1024


def object_cost(label, binaries, script, rounds, python=sys.executable):
    """Several programs in turns, so that other work on the machine affects all of them. Returns a row for the docs."""
    row = ''
    with Job(python, '-c', script[0], *script[1:]) as job:
        taken, found, memory = {binary: [] for binary in binaries}, {}, {binary: 0 for binary in binaries}
        for _ in range(rounds):
            for binary in binaries:
                found[binary], mib = census_with_memory(binary, job.pid)
                taken[binary].append(found[binary]['taken_seconds'])
                memory[binary] = max(memory[binary], mib)
        for binary in binaries:
            answer, seconds = found[binary], statistics.median(taken[binary])
            print(f'{label:32} {answer["objects"] or 0:10,} {seconds:9.2f} {min(taken[binary]):9.2f} '
                  f'{memory[binary]:9.0f} {answer["sampled"]:8.3f}   {answer["incomplete"] or ""} '
                  f'{binary if len(binaries) > 1 else ""}', flush=True)
            followed = 'all' if answer['sampled'] == 1 else f'{answer["sampled"]:.0%}'.replace('%', ' %')
            row = f'| {label} | {answer["objects"] or 0:,} | {seconds:.2g} s | {memory[binary]:.0f} MiB | {followed} |'
    return row


def objects(rounds, docs):
    """CPU time of whole censuses with objects. BASELINE names another program to compare with."""
    binaries = [os.environ['BASELINE'], MEMSCOPE] if 'BASELINE' in os.environ else [MEMSCOPE]
    print(f'{"census of Python objects":32} {"objects":>10} {"CPU s":>9} {"least":>9} {"MiB":>9} {"followed":>8}')
    rows = []
    wanted = subprocess.run([SYSTEM_PYTHON, '-c', 'import torch, pandas, scipy, sklearn, matplotlib, sympy'], capture_output=True)
    if wanted.returncode == 0:
        label = 'imports of torch, pandas, scipy, sklearn, matplotlib and all of sympy'
        rows.append(object_cost(label, binaries, (IMPORTS,), rounds, SYSTEM_PYTHON))
    else:
        print('imports: PyTorch or another package is not installed')
    for millions in (1, 3, 5):
        rows.append(object_cost(f'{millions} M objects of many types, in random order', binaries, (MIXED, str(millions * 1_000_000)), rounds))
    tuples = ("import json, sys\nmany = [(i, str(i), [i]) for i in range(1250000)]\n"
              "print(json.dumps({}), flush=True)\nsys.stdin.read()")
    rows.append(object_cost('5 M objects in tuples and lists', binaries, (tuples,), rounds))
    if docs:
        page = SOURCE / 'docs/heap.md'
        head = '| process | objects | CPU time | memory | references followed |\n| --- | --- | --- | --- | --- |\n'
        before, found, after = page.read_text().partition(head)
        assert found, f'{page} has no table of objects'
        page.write_text(before + found + '\n'.join(rows) + '\n' + after[after.index('\n\n') + 1:])


def mapping_rate(job, seconds):
    before, began = job.ask()['count'], time.monotonic()
    time.sleep(seconds)
    return (job.ask()['count'] - before) / (time.monotonic() - began)


def slowdown(job, rounds):
    """Rate of mmap() and munmap(): alone, with a census every 5 s, and during censuses without a pause between them."""
    shares, all_the_time = [], []
    for _ in range(rounds):
        alone = mapping_rate(job, 5)
        before, began = job.ask()['count'], time.monotonic()
        census(job.pid)
        time.sleep(max(0, 5 - (time.monotonic() - began)))
        shares.append((job.ask()['count'] - before) / (time.monotonic() - began) / alone)
        before, began = job.ask()['count'], time.monotonic()
        for _ in range(3):
            census(job.pid)
        all_the_time.append((job.ask()['count'] - before) / (time.monotonic() - began) / alone)
    print(f'mapping rate with a census every 5 s: {statistics.median(shares):.1%} of the rate without '
          f'({min(shares):.1%} to {max(shares):.1%}), while censuses run: {statistics.median(all_the_time):.0%}')


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    objects(rounds, 'docs' in sys.argv[3:])
    if sys.argv[2:3] == ['objects']:
        return
    with tempfile.TemporaryDirectory() as folder:
        program = f'{folder}/heap_job'
        subprocess.run(['c++', '-std=c++20', '-O1', '-pthread', '-o', program, str(SOURCE / 'tests/e2e/heap/heap_job.cpp')], check=True)
        print(f'{"heap census":32} {"GiB":>8} {"CPU ms":>9} {"per GiB":>9} {"wall ms":>9}')
        for scenario in ('fragmented', 'pieces', 'small', 'mapped', 'arenas', 'busy'):
            with Job(program, scenario) as job:
                cost(f'malloc, {scenario}', job, rounds)
        script = ("import gc, json, sys\nmany = [(i, str(i), [i]) for i in range(3000000)]\n"
                  "print(json.dumps({}), flush=True)\nsys.stdin.read()")
        with Job(sys.executable, '-c', script) as job:
            cost('Python, small objects', job, rounds)
        with Job(program, 'maps') as job:
            slowdown(job, rounds)


if __name__ == '__main__':
    main()
