"""Scripts that grow in known places (grows.py), and the output of `memscope growth` for them."""
import json
import math
import os
import pathlib
import re
import subprocess
import sys
import time

from harness import GaveUp, process, wait_for

SOURCE = pathlib.Path(__file__).resolve().parents[3]
MEMSCOPE = os.environ.get('MEMSCOPE', str(SOURCE / 'build' / 'memscope'))
SAMPLE = 512 << 10  # resident growth is sampled: bytes for which one sample stands
SCRIPT = str(SOURCE / 'tests/e2e/support/grows.py')
LINES = {m.group(1): number for number, line in enumerate(open(SCRIPT), 1) for m in [re.search(r'# grows: (\w+)$', line)] if m}
MIB = 1 << 20


class Python:
    def __init__(self, name, version, program):
        self.name, self.version, self.program = name, version, program

    def minor(self):
        return int(self.version.split('.')[1])


def pythons(names):
    """All named interpreters. A missing one is a failure."""
    wanted = [name for name in names if name != 'system']
    done = subprocess.run([str(SOURCE / 'tests/support/pythons'), *wanted], stdout=subprocess.PIPE, text=True) if wanted else None
    if done and done.returncode:
        raise GaveUp('an interpreter could not be had')
    found = {line.split()[0]: Python(*line.split()) for line in done.stdout.splitlines()} if done else {}
    found['system'] = Python('system', sys.version.split()[0], sys.executable)
    print('interpreters:', ', '.join(f'{found[name].name} ({found[name].version})' for name in names), flush=True)
    return [found[name] for name in names]


class Script:
    """A script that is ready to grow, in a cgroup."""

    def __init__(self, argv, cgroup, sections, script=SCRIPT, **environment):
        self.running = process([*argv, '-B', script, *sections], cgroup=cgroup, stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, text=True, env={**os.environ, **environment})

    def __enter__(self):
        self.child = self.running.__enter__()
        if not self.child.stdout.readline().startswith('ready'):
            raise GaveUp('the script did not start')
        return self

    def __exit__(self, *how):
        self.child.kill()  # it has nothing to clean up
        self.running.__exit__(*how)

    def grow(self):
        """The growth by section, as the script reports it."""
        self.child.stdin.write('go\n')
        self.child.stdin.flush()
        line = self.child.stdout.readline()
        if not line:
            raise GaveUp('the script ended before it had grown')
        return json.loads(line)


def anonymous(pid):
    with open(f'/proc/{pid}/smaps_rollup') as rollup:
        return next(int(line.split()[1]) << 10 for line in rollup if line.startswith('Anonymous:'))


def growth(target):
    done = subprocess.run([MEMSCOPE, 'growth', '--target', target, '--top', '5000', '--format', 'json'],
                          capture_output=True, timeout=30)
    if done.returncode:
        raise GaveUp(f'growth: {done.stderr.decode()}')
    return json.loads(done.stdout)


def at_line(report, section, file=SCRIPT):
    return [site for site in report['resident'] if site['python'] and site['python'][0]['file'] == file
            and site['python'][0]['line'] == LINES[section]]


def settled(target, said, file=SCRIPT):
    """The report of the tick after the one that has the growth of the script; the last report if none has it."""
    reports = []

    def complete():
        reports.append(growth(target))
        return all(sum(s['bytes'] for s in at_line(reports[-1], name, file)) >= 0.95 * its['bytes'] for name, its in said.items())
    wait_for(complete, 5, 0.2)
    time.sleep(0.3)
    return growth(target)


def check_sections(check, label, report, said, pid_of=lambda pid: pid, file=SCRIPT):
    for section, its in said.items():
        here = at_line(report, section, file)
        got, wanted = sum(site['bytes'] for site in here), its['bytes']
        error = max(0.1, 3 / math.sqrt(wanted / SAMPLE))
        check(f'{label}: {section}: its bytes at its line', abs(got - wanted) <= error * wanted,
              f'{got / wanted:.3f} of {wanted >> 20} MiB at line {LINES[section]}')
        pids = {pid for site in here for pid in site['pids']}
        check(f'{label}: {section}: in its process', {pid_of(pid) for pid in pids} == {its['pid']}, (pids, its['pid']))
