#!/usr/bin/env python3
"""How long it takes from the first line of a Python script until its growth is attributed to its lines.

A script notes the time in its first line, then grows in steps. Each step is at a line of its own, so its line number gives
its time. The first line that the report names shows how long no line was known. Nothing here asserts a time.
python_attach.py [RUNS]     needs root; MEMSCOPE names the binary
"""
import os
import statistics
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../e2e/support'))
from growing import MEMSCOPE, MIB, growth  # noqa: E402
from harness import Cgroup, Watcher, process, wait_for  # noqa: E402

STEP_MS, STEPS = 2, 400
SCRIPT = f'''import time; began = time.monotonic()
held = []
def grow(step):
    held.append(b"x" * {MIB})
for step in range({STEPS}):
    while time.monotonic() - began < step * {STEP_MS / 1000}: pass
    if step < {STEPS // 2}: exec(compile("\\n" * step + "grow(step)", "steps.py", "exec"))
time.sleep(60)
'''


def latency_ms(group, folder, run):
    path = f'{folder}/attach-{run}.py'
    with open(path, 'w') as file:
        file.write(SCRIPT.replace('steps.py', f'steps-{run}.py'))
    with process([sys.executable, '-S', path], cgroup=group):
        def first():
            lines = [f['line'] for site in growth(group.name)['resident'] for f in site['python'] if f['file'] == f'steps-{run}.py']
            return lines and max(lines) > STEPS // 4 and min(lines)
        line = wait_for(first, 10)
    return (line - 1) * STEP_MS if line else None


def main():
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    with tempfile.TemporaryDirectory() as folder, Cgroup(f'ms-attach-{os.getpid()}', 4096 * MIB) as group, \
            Watcher(MEMSCOPE, folder, '--cgroup', group.name):
        found = [latency_ms(group, folder, run) for run in range(runs)]
    known = [ms for ms in found if ms is not None]
    print(f'from the first line of a script to growth at its lines, steps of {STEP_MS} ms, {len(known)} of {runs} runs:')
    print(f'median {statistics.median(known)} ms, longest {max(known)} ms')


if __name__ == '__main__':
    main()
