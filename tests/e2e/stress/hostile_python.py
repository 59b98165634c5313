#!/usr/bin/env python3
"""Programs that look like CPython and have false data, and one real interpreter: nothing crashes, nothing grows without
bound, losses are counted, and the growth of the real interpreter is attributed to its lines.

Needs root and a compiler; takes 40 s. MEMSCOPE names the binary, LIES how many stacks a process makes up (6,000).
"""
import os
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../support'))
from growing import MEMSCOPE, MIB, SOURCE, Script, check_sections, growth, settled  # noqa: E402
from harness import Cgroup, Checks, Watcher, process, run_as_root, wait_for  # noqa: E402

LIES = {  # kind of false data: the section of grows.py that the real interpreter runs meanwhile
    'cyclic_threads': 'comprehension', 'cyclic_frames': 'generator', 'wild_pointers': 'method', 'long_names': 'thread',
    'lying_lines': 'unlocked', 'many_stacks': 'huge', 'many_long_stacks': 'late'}
MADE_UP = int(os.environ.get('LIES', '6000'))  # stacks
MANY = 4  # processes, because a single one would reach the limit per process
MOST_RESIDENT = 256 * MIB  # names and code objects have 64 MiB each, a report its copy

check = Checks()


def resident(pid):
    with open(f'/proc/{pid}/status') as status:
        return next(int(line.split()[1]) << 10 for line in status if line.startswith('VmRSS'))


def ticks_go_on(watcher):
    before = watcher.value('memscope_last_tick_timestamp_seconds')
    return wait_for(lambda: watcher.value('memscope_last_tick_timestamp_seconds') > before + 0.3, 10)


def lie(program, name, group, watcher):
    """Lets the program produce its false data, prints how long that took, and returns the growth."""
    began = time.monotonic()
    with process([program, name, str(MANY if name.startswith('many') else 1), str(MADE_UP)], cgroup=group, stdout=subprocess.PIPE, text=True) as liar:
        check(f'{name}: it lies', liar.stdout.readline() == 'done\n', liar.poll())
        took = time.monotonic() - began
        check(f'{name}: ticks go on', ticks_go_on(watcher) and watcher.ends(0.1) is None)
        report = growth(group.name)
        print(f'      {name}: {took:.1f} s, {len(report["resident"])} + {len(report["mapped"])} sites, '
              f'{resident(watcher.child.pid) >> 20} MiB resident, '
              f'{int(watcher.value("memscope_self_bpf_map_bytes")) >> 20} MiB in maps, {dropped(watcher)}', flush=True)
    return report


def dropped(watcher):
    return {key.split('"')[1]: int(value) for key, value in watcher.metrics().items()
            if key.startswith('memscope_events_dropped_total') and value}


def main():
    with tempfile.TemporaryDirectory() as folder, Cgroup(f'ms-lies-{os.getpid()}', 4096 * MIB) as group:
        program = f'{folder}/lying_python'
        subprocess.run(['c++', '-std=c++20', '-O2', '-o', program, str(SOURCE / 'tests/e2e/stress/lying_python.cpp')], check=True)
        # The whole budget, because after a minute the watcher would otherwise detach the hook because of its cost.
        with Watcher(MEMSCOPE, folder, '--cgroup', group.name, '--growth-budget', '100%') as watcher, \
                Script([sys.executable], group, ['arrays', 'objects', 'deep']) as honest:
            time.sleep(1)
            maps = watcher.value('memscope_self_bpf_map_bytes')
            said = honest.grow()['sections']
            check_sections(check, 'before the lies', settled(group.name, said), said)
            lost = dropped(watcher)
            check('without false data nothing is lost', not lost, lost)
            for name, section in LIES.items():
                with Script([sys.executable], group, [section]) as after:
                    report = lie(program, name, group, watcher)
                    functions = {frame['function'] for site in report['resident'] + report['mapped'] for frame in site['python']}
                    if name in ('cyclic_frames', 'lying_lines', 'many_stacks'):
                        check(f'{name}: what it says is what is shown', 'liar' in functions, sorted(functions)[:20])
                    longest = max(map(len, functions), default=0)
                    check(f'{name}: names have an end', longest <= 1024, longest)
                    both = {**said, **after.grow()['sections']}
                    check_sections(check, name, settled(group.name, both), both)
                check(f'{name}: memory has a bound', resident(watcher.child.pid) < MOST_RESIDENT, resident(watcher.child.pid) >> 20)
            lost = dropped(watcher)
            check('Python objects that could not be read are counted', lost.get('python_unreadable', 0) > 0, lost)
            other = {part['reason']: part['bytes'] for part in growth(group.name)['unattributed']}
            print('      unattributed:', other, flush=True)
            grown = watcher.value('memscope_self_bpf_map_bytes') - maps
            check('the maps of the kernel have a bound', grown < 32 * MIB, grown)
        check('the watcher ends with 0', watcher.child.returncode == 0, watcher.child.returncode)


if __name__ == '__main__':
    run_as_root(check, main, MEMSCOPE, 170 + MADE_UP // 250)
