#!/usr/bin/env python3
"""A watched PyTorch job that keeps tensors in a list and tuples in a dict: the watcher takes censuses of its Python objects by
itself, and names the list in the verdict, in the notices, in the growth sentence and in the report of its death. The command of
a precursor gets it, too. `memscope heap` shows the holders with and without a watcher.

Needs root, and /usr/bin/python3 with PyTorch (without it the list has bytearrays instead of tensors). Takes up to 3 minutes.
MEMSCOPE names the binary, PYTHON another interpreter.
"""
import contextlib
import glob
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../support'))
from growing import MEMSCOPE, MIB  # noqa: E402
from harness import Cgroup, Checks, Watcher, process, run_as_root, wait_for  # noqa: E402

check = Checks()
PYTHON = os.environ.get('PYTHON', '/usr/bin/python3')

# Grows for a moment (the warm-up), is flat, then keeps 3 MiB of outputs every 100 ms until it is killed.
JOB = r'''
import sys, time
try:
    import torch
    torch.set_num_threads(1)
except ImportError:
    torch = None

class Trainer:
    def __init__(self):
        self.val_outputs = []
        self.seen = {}

    def output(self):
        return torch.ones(96, 1024) if torch else bytearray(b'x' * 393216)

    def validate(self, steps):
        for step in range(steps):
            for _ in range(8):
                self.val_outputs.append(self.output())
                self.seen[f'SECRET-{len(self.seen)}'] = (step, step + 0.5)
            time.sleep(0.1)

print('torch' if torch else 'plain', flush=True)
trainer = Trainer()
trainer.validate(1)
warm = [bytearray(b'x' * 1048576) for _ in range(100)]
sys.stdin.readline()
trainer.validate(1000000)
'''


def ask(*words, timeout=90):
    done = subprocess.run([MEMSCOPE, *words], capture_output=True, text=True, timeout=timeout)
    return done.returncode, done.stdout, done.stderr


def tick(name):
    code, out, _ = ask('status', '--target', name, '--json')
    return json.loads(out) if code == 0 else {}


def verdict_of(name):
    verdicts = tick(name).get('verdicts', [])
    return verdicts[0] if verdicts else {}


def held_of(name):
    heaps = [heap for heap in tick(name).get('heap', []) if heap.get('objects')]
    return heaps[0]['objects'] if heaps else None


def without_a_watcher(script):
    """Two censuses of one process, and its text."""
    with process([PYTHON, script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as job:
        job.stdout.readline()
        job.stdin.write('go\n')
        job.stdin.flush()
        code, out, err = ask('heap', '--pid', str(job.pid), '--again', '8s', '--format', 'json', '--top', '50')
        if not check('without a watcher: an answer', code == 0, (code, err)):
            return
        census = json.loads(out)['processes'][0]
        first = census['holders'][0] if census['holders'] else {}
        check('without a watcher: the list that grows comes first', 'val_outputs' in first.get('path', '') and
              first['length_change'] > 0 and first['retained_change'] > 0, first)
        check('without a watcher: names only', 'SECRET' not in out)
        kind = first.get('element') or ''
        code, out, err = ask('heap', '--pid', str(job.pid), '--type', kind.split(' ')[0] or 'list')
        check('--type lists the holders of a type', code == 0 and 'val_outputs' in out and 'PART ' not in out, (kind, out, err))
        # On a busy machine the job changes much while it is read. Then memscope must say that the growth is not known.
        for _ in range(4):
            code, out, err = ask('heap', '--pid', str(job.pid), '--again', '2s')
            named = 'has grown by' in out.partition('\n\n')[0]
            if named or not check('an answer that names no growth says so', code == 0 and 'not known' in out.replace('\n', ' '), (out, err)):
                break
        check('the text begins with the answer', code == 0 and out.startswith('`') and named, (out, err))
        check('the text fits into its columns', max(map(len, out.splitlines()), default=0) <= 120, out)


def watched(script, folder, job):
    with contextlib.ExitStack() as stack:
        reports, told = f'{folder}/reports', f'{folder}/told.json'
        # The warm-up is longer than the import of PyTorch on a busy machine: a census during the import has no outputs.
        os.mkdir(reports, 0o700)
        watcher = stack.enter_context(Watcher(MEMSCOPE, folder, '--cgroup', job.name, '--warmup', '12s', '--report-dir', reports,
                                              '--on-precursor', f'sh -c "cat > {told}"'))
        child = stack.enter_context(process([PYTHON, script], cgroup=job, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
        print('      the job has', child.stdout.readline().strip(), flush=True)
        held = wait_for(lambda: held_of(job.name), 90)
        check('a census of objects is taken by itself after the warm-up', held and held['holders'], tick(job.name).get('heap'))
        check('there is no claim without an earlier census', held and held['since_seconds'] is None and held['sentence'] is None,
              held and held['sentence'])
        child.stdin.write('go\n')
        child.stdin.flush()
        leak = wait_for(lambda: (lambda v: v if v.get('verdict') == 'leaking' else None)(verdict_of(job.name)), 60)
        check('the job is called leaking', leak, verdict_of(job.name))
        named = wait_for(lambda: (lambda v: v if 'val_outputs' in v.get('explanation', '') else None)(verdict_of(job.name)), 60)
        named = named or verdict_of(job.name)
        text = named.get('explanation', '')
        print('     ', text, flush=True)
        check('the verdict names the list, its growth and its share', '.val_outputs` (list) has grown by' in text and
              '% of the growth' in text, (text, held_of(job.name)))
        check('the verdict has the sentence as a field', 'val_outputs' in (named.get('holders') or ''), named.get('holders'))
        held = held_of(job.name) or {}
        check('the tick has the holders with their changes', any('val_outputs' in h['path'] and (h['length_change'] or 0) > 0
                                                                 for h in held.get('holders', [])), held)
        check('a tick has no data of the job', 'SECRET' not in json.dumps(tick(job.name)))
        code, out, err = ask('heap', '--target', job.name, '--format', 'json')
        answer = json.loads(out) if code == 0 else {}
        census = next((p for p in answer.get('processes', []) if p['pid'] == child.pid), {})
        check('a census on demand has the difference to the last one', answer.get('since_seconds') and census.get('holders') and
              'val_outputs' in census['holders'][0]['path'] and census['holders'][0]['length_change'] > 0,
              (code, err, (census.get('holders') or [None])[0]))
        code, out, err = ask('growth', '--target', job.name)
        check('the growth sentence names a line or the list', 'keeps' in out or 'val_outputs' in out, out[:400])
        check('the job is killed at its limit', wait_for(lambda: child.poll() is not None, 90))
        report = wait_for(lambda: glob.glob(f'{reports}/death-*.json'), 20)
        if not check('there is a death report', report, os.listdir(reports)):
            return
        wait_for(lambda: 'WHAT HELD' in ask('report', report[0])[1], 10)
        code, out, err = ask('report', report[0])
        check('the death report names the holder', 'WHAT HELD THE MEMORY' in out and 'val_outputs' in out, out[-3000:])
        with open(report[0]) as f:
            whole = f.read()
        holders = json.loads(whole).get('holders') or {}
        check('the JSON of the report has the holders', 'val_outputs' in (holders.get('sentence') or ''), holders)
        check('the report has no data of the job', 'SECRET' not in whole)
        if check('the command of a precursor was run', wait_for(lambda: os.path.exists(told) and os.path.getsize(told), 5)):
            with open(told) as f:
                facts = json.load(f)
            check('the command of the precursor gets the holders', 'holders' in facts, facts)
        check('a notice names the list', any('leaking:' in line and 'val_outputs' in line for line in watcher.lines()),
              watcher.lines()[-20:])


def main():
    with tempfile.TemporaryDirectory() as folder, Cgroup(f'ms-objects-{os.getpid()}', 2560 * MIB) as job:
        script = os.path.join(folder, 'train.py')
        with open(script, 'w') as f:
            f.write(JOB)
        without_a_watcher(script)
        watched(script, folder, job)


if __name__ == '__main__':
    run_as_root(check, main, MEMSCOPE, 420)
