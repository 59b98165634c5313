#!/usr/bin/env python3
"""What grew, on a machine that trains: the portable tarball against a PyTorch job that keeps its validation results.

    real_growth.py TARBALL [RESULT.json]

Needs root and a Python with PyTorch. Two jobs: one keeps the outputs of every validation on the host, one keeps what a
DataLoader worker made. The line that keeps them must be the largest site of its role.
"""
import json
import os
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / 'support'))
from harness import Cgroup, process, tail, wait_for  # noqa: E402
from real_machine import try_here, unpack  # noqa: E402

JOB = '''
import os, sys, time, torch
from torch.utils.data import DataLoader, Dataset


class Noise(Dataset):
    kept = []

    def __len__(self):
        return 1 << 20

    def __getitem__(self, i):
        if LEAK_IN_WORKER:
            self.kept.append(bytearray(256 << 10))  # WORKER
        return torch.randn(256), i % 10


class Trainer:
    def __init__(self):
        self.device = 'cuda' if torch.cuda.is_available() else 'cpu'
        self.model = torch.nn.Linear(256, 4096).to(self.device)
        self.head = torch.nn.Linear(4096, 10).to(self.device)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01)
        self.results = []

    def step(self, x, y):
        loss = torch.nn.functional.cross_entropy(self.head(self.model(x.to(self.device))), y.to(self.device))
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad()

    def validate(self):
        with torch.no_grad():
            outputs = self.model(torch.randn(1024, 256, device=self.device))
            self.results.append(outputs.cpu())  # VALIDATE

    def run(self):
        print('READY', self.device, flush=True)
        sys.stdin.readline()
        for n, (x, y) in enumerate(DataLoader(Noise(), batch_size=64, num_workers=2)):
            self.step(x, y)
            if not LEAK_IN_WORKER:
                self.validate()
            if n + 1 == STEPS:
                break
        print('GROWN', flush=True)
        sys.stdin.readline()


Trainer().run()
'''


def line_of(mark):
    return next(n for n, line in enumerate(JOB.splitlines(), 1) if line.endswith(f'# {mark}'))


def anon_of(pid):
    with open(f'/proc/{pid}/smaps_rollup') as f:
        return next(int(line.split()[1]) * 1024 for line in f if line.startswith('Anonymous:'))


def watch(check, program, folder, name, leak_in_worker, steps):
    script = Path(folder, f'{name}.py')
    script.write_text(JOB.replace('LEAK_IN_WORKER', str(leak_in_worker)).replace('STEPS', str(steps)))
    log = Path(folder, f'{name}.log')
    environment = {**os.environ, 'HOME': folder, 'TMPDIR': folder}
    with Cgroup(f'ms-real-{name}-{os.getpid()}', 64 << 30) as cgroup, log.open('w') as out, \
            process([sys.executable, str(script)], cgroup, stdin=subprocess.PIPE, stdout=out, stderr=out, text=True,
                    env=environment) as job:
        if not check(f'{name}: the job starts', wait_for(lambda: 'READY' in tail(log, 4000), 120), tail(log, 1500)):
            return None
        with process([str(program), '--cgroup', cgroup.name, '--listen', 'none', '--quiet'], stdout=subprocess.PIPE,
                     stderr=subprocess.PIPE, text=True) as watcher:
            time.sleep(3)
            before = anon_of(job.pid)
            job.stdin.write('go\n')
            job.stdin.flush()
            if not check(f'{name}: the job grows', wait_for(lambda: 'GROWN' in tail(log, 4000), 180), tail(log, 1500)):
                return None
            time.sleep(2)
            after = anon_of(job.pid)
            asked = subprocess.run([str(program), 'growth', '--target', cgroup.name, '--format', 'json'],
                                   capture_output=True, text=True)
            text = subprocess.run([str(program), 'growth', '--target', cgroup.name, '--top', '8'], capture_output=True,
                                  text=True)
            print(text.stdout, flush=True)
            check(f'{name}: memscope growth answers', asked.returncode == 0, asked.stderr[-400:])
            watcher.terminate()
            _, errors = watcher.communicate(timeout=20)
            check(f'{name}: memscope ends in peace', watcher.returncode == 0, errors[-400:])
    return json.loads(asked.stdout), after - before, text.stdout


def run(check, tarball, folder):
    program = unpack(tarball, folder)
    result = {'machine': os.uname().machine, 'kernel': os.uname().release, 'python': sys.version.split()[0]}
    answer = watch(check, program, folder, 'host', False, 60)
    if answer:
        grown, change, text = answer
        trainer = [s for s in grown['resident'] if s['role'] == 'trainer']
        at = sum(s['bytes'] for s in trainer
                 if any(f['line'] == line_of('VALIDATE') and f['function'].endswith('validate') for f in s['python'][:3]))
        top = next((f for f in trainer[0]['python'] if f['file'].endswith('host.py')), None) if trainer else None
        check('host: the line that keeps the results is the largest site', top and top['line'] == line_of('VALIDATE'), top)
        print(f'     host: {at >> 20} of {change >> 20} MiB at Trainer.validate:{line_of("VALIDATE")}', flush=True)
        result['host'] = {'grown_bytes': change, 'at_the_line_bytes': at, 'text': text}
    answer = watch(check, program, folder, 'worker', True, 40)
    if answer:
        grown, _, text = answer
        workers = [s for s in grown['resident'] if s['role'] == 'dataloader_worker']
        top = next((f for f in workers[0]['python'] if f['file'].endswith('worker.py')), None) if workers else None
        check('worker: the line that keeps the arrays is the largest site of the workers',
              top and top['line'] == line_of('WORKER'), (top, [s['role'] for s in grown['resident'][:5]]))
        result['worker'] = {'at_the_line_bytes': workers[0]['bytes'] if workers else 0, 'text': text}
    return result


if __name__ == '__main__':
    sys.exit(try_here(run, __doc__))
