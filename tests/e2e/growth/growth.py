#!/usr/bin/env python3
"""Growth by call site, from real interpreters: every byte is attributed to its line and its process.

Needs root; takes 10 s, and 10 s for each interpreter. growth.py [NAME]...: interpreters of tests/support/pythons, or
`system`. Without a name: the interpreters that are available within seconds. MEMSCOPE names the binary.
"""
import os
import re
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../support'))
from growing import LINES, MEMSCOPE, MIB, SCRIPT, SOURCE, Script, anonymous, at_line, check_sections, pythons, settled  # noqa: E402
from harness import Cgroup, Checks, Watcher, run_as_root  # noqa: E402

CHEAP = ['system', '3.13', '3.14']
INNERMOST, OUTERMOST = 48, 16  # the frames that memscope keeps of a deep stack

SECTIONS = ['arrays', 'objects', 'comprehension', 'generator', 'method', 'thread', 'unlocked', 'huge', 'deep',
            'child', 'grandchild', 'worker', 'other']

check = Checks()


def check_sums(label, report, said, changed):
    wanted = sum(its['bytes'] for its in said.values())
    at_lines = sum(site['bytes'] for section in said for site in at_line(report, section))
    elsewhere = [s for s in report['resident'] if not any(s in at_line(report, section) for section in said)]
    booked = sum(site['bytes'] for site in report['resident'])
    # An interpreter that starts while it is watched also grows, to its usual size.
    starts = sum(s['bytes'] for s in elsewhere if not any(f['file'] == SCRIPT and f['function'] in LINES for f in s['python']))
    check(f'{label}: hardly anything elsewhere', booked - at_lines - starts <= 0.02 * wanted and starts < 40 * MIB,
          (booked - at_lines, starts, [(s['bytes'], s['python'][:2]) for s in elsewhere][:5]))
    unattributed = sum(part['bytes'] for part in report['unattributed'] if part['plane'] == 'resident')
    total = booked + report['left_out']['resident']['bytes'] + unattributed
    check(f'{label}: all growth is attributed or listed as unattributed', abs(total - changed) <= 0.02 * wanted,
          f'{total} of {changed}: {report["unattributed"]}')


def names(report, section, count=1):
    here = at_line(report, section)
    return [frame['function'] for frame in here[0]['python'][:count]] if here else []


def check_names(label, report, python):
    qualified = python.minor() >= 11
    check(f'{label}: a method has its qualified name', names(report, 'method') == ['Trainer.Cache.fill' if qualified else 'fill'],
          names(report, 'method'))
    check(f'{label}: a generator and its consumer', names(report, 'generator', 2) == ['produced', 'generator'],
          names(report, 'generator', 2))
    deep = names(report, 'deep', 100)
    check(f'{label}: of a deep stack the innermost and the outermost frames',
          len(deep) == INNERMOST + 1 + OUTERMOST and set(deep[:INNERMOST]) == {'deep'} and
          re.fullmatch(r'… \d+ frames left out …', deep[INNERMOST]) and deep[-3:] == ['measured', 'main', '<module>'], deep)
    check(f'{label}: the callers are there, innermost first', names(report, 'arrays', 4) == ['arrays', 'measured', 'main', '<module>'],
          names(report, 'arrays', 4))


def every_kind(python, other):
    label = python.name
    with tempfile.TemporaryDirectory() as folder, Cgroup(f'ms-growth-{os.getpid()}', 4096 * MIB) as group, \
            Script([python.program], group, SECTIONS, OTHER_PYTHON=other.program) as before:
        had = anonymous(before.child.pid)
        with Watcher(MEMSCOPE, folder, '--cgroup', group.name) as watcher, Script([python.program], group, ['late']) as after:
            told, later = before.grow(), after.grow()
            said = {**told['sections'], **later['sections']}
            report = settled(group.name, said)
            check_sections(check, label, report, said)
            check_names(label, report, python)
            began = {**{int(pid): bytes for pid, bytes in told['processes'].items()}, before.child.pid: had, after.child.pid: 0}
            check(f'{label}: everybody is accounted for', set(began) == set(group.pids()), (began, group.pids()))
            check_sums(label, report, said, sum(anonymous(pid) - bytes for pid, bytes in began.items()))
            dropped = watcher.value('memscope_events_dropped_total')
            check(f'{label}: nothing was dropped', dropped == 0, dropped)


def loaded_late():
    label = 'loaded late'
    with tempfile.TemporaryDirectory() as folder, Cgroup(f'ms-growth-{os.getpid()}', 1024 * MIB) as group:
        program = f'{folder}/late_python'
        subprocess.run(['c++', '-std=c++20', '-o', program, str(SOURCE / 'tests/e2e/growth/late_python.cpp'), '-ldl'], check=True)
        with Watcher(MEMSCOPE, folder, '--cgroup', group.name), Script([program], group, ['late']) as script:
            time.sleep(4)  # the last check for Python is 3 s after the first
            said = script.grow()['sections']
            check_sections(check, label, settled(group.name, said), said)


def main():
    loaded_late()
    chosen = pythons(sys.argv[1:] or CHEAP)
    for python, other in zip(chosen, [*chosen[1:], chosen[0]]):
        every_kind(python, other)


if __name__ == '__main__':
    run_as_root(check, main, MEMSCOPE, 60 + 30 * max(3, len(sys.argv)))
