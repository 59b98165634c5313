#!/usr/bin/env python3
"""Workers of a real multiprocessing pool with every start method, epoch after epoch: their role, rank and slot.

Their names do not show their role, as in PyTorch before it named its workers. Needs root; takes 10 s. MEMSCOPE names the
binary (default: build/memscope below the source tree).
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../support'))
from harness import Cgroup, Checks, Watcher, process, run_as_root, wait_for  # noqa: E402

SOURCE = pathlib.Path(__file__).resolve().parents[3]
MEMSCOPE = os.environ.get('MEMSCOPE', str(SOURCE / 'build' / 'memscope'))
WORKERS = 3
MIB = 1 << 20
HELD = 60  # MiB, by the trainer
TRAINER = f'''
import multiprocessing, sys
def work(i, stop):
    stop.wait(60)
if __name__ == '__main__':
    held = b'x' * ({HELD} << 20)
    context = multiprocessing.get_context(sys.argv[1])
    for line in sys.stdin:  # an epoch each
        stop = context.Event()
        workers = [context.Process(target=work, args=(i, stop)) for i in range({WORKERS})]
        for worker in workers: worker.start()
        print(*[worker.pid for worker in workers], flush=True)
        sys.stdin.readline()
        stop.set()
        for worker in workers: worker.join()
        print('done', flush=True)
'''

check = Checks()


def processes(target):
    told = subprocess.run([MEMSCOPE, 'status', '--json', '--target', target], capture_output=True, timeout=10)
    return {one['pid']: one for one in json.loads(told.stdout)['processes']} if told.returncode == 0 else {}


def epoch(job, name):
    """The processes of the target while the workers of one epoch live, and their pids in the order of their starts."""
    def ask():
        job.stdin.write('go\n')
        job.stdin.flush()
        return job.stdout.readline()
    pids = [int(pid) for pid in ask().split()]
    def is_known(worker):
        return worker.get('role') == 'dataloader_worker' and worker.get('own_anon_bytes') is not None
    seen = wait_for(lambda: (all_ := processes(name)) and all(is_known(all_.get(pid, {})) for pid in pids)
                    and all_.get(job.pid, {}).get('own_anon_bytes') is not None and all_, 20) \
        or processes(name)
    ask()
    return seen, pids


def started_by(method, script, folder):
    with Cgroup(f'ms-workers-{os.getpid()}', 1 << 30) as group, Watcher(MEMSCOPE, folder, '--cgroup', group.name), \
            process([sys.executable, script, method], cgroup=group, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                    env={**os.environ, 'RANK': '2'}) as job:
        before = None
        for number in 1, 2:
            seen, pids = epoch(job, group.name)
            workers = [seen.get(pid, {}) for pid in pids]
            check(f'{method}, epoch {number}: workers are known', [w.get('role') for w in workers] == ['dataloader_worker'] * WORKERS,
                  [w.get('role') for w in workers])
            check(f'{method}, epoch {number}: they are of the rank of their trainer', {w.get('rank') for w in workers} == {2})
            check(f'{method}, epoch {number}: they have the places 0 to {WORKERS - 1}, in the order of their starts',
                  [w.get('slot') for w in workers] == list(range(WORKERS)), [w.get('slot') for w in workers])
            check(f'{method}, epoch {number}: the trainer is none of them',
                  (seen.get(job.pid, {}).get('role'), seen.get(job.pid, {}).get('slot')) == ('trainer', None))
            check(f'{method}, epoch {number}: no other process is a worker',
                  sum(one['role'] == 'dataloader_worker' for one in seen.values()) == WORKERS)
            check(f'{method}: the second epoch has other processes', before is None or not set(before) & set(pids))
            before = pids
            own, resident = ([(w.get(key) or 0) // MIB for w in workers] for key in ('own_anon_bytes', 'rss_anon_bytes'))
            check(f'{method}, epoch {number}: a worker holds what is its own', all(mib < HELD / 2 for mib in own), own)
            if method == 'fork':
                check(f'{method}, epoch {number}: ... and not what it shares with its trainer', all(mib > HELD for mib in resident), resident)
            trainer = seen.get(job.pid, {})
            check(f'{method}, epoch {number}: the trainer holds all it has',
                  trainer.get('own_anon_bytes') == trainer.get('rss_anon_bytes') and (trainer.get('own_anon_bytes') or 0) > HELD * MIB, trainer)


def main():
    with tempfile.TemporaryDirectory() as folder:
        script = f'{folder}/train.py'
        pathlib.Path(script).write_text(TRAINER)
        for method in 'fork', 'spawn', 'forkserver':
            started_by(method, script, folder)


run_as_root(check, main, MEMSCOPE, 120)
