#!/usr/bin/env python3
"""`memscope compare` and `report` over recordings of real jobs: a change keeps 60 MiB more at a known line, and the
comparison names that line and exits with 3. Also runs the commands of docs/ci.md and docs/fleet.md: the commands for a user
without privileges, the lines of jq, and the script that ships the report and the recording of a job that was killed.

Needs root; takes a minute. MEMSCOPE names the binary."""
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / 'support'))
from harness import Checks, run_as_root  # noqa: E402

SOURCE = pathlib.Path(__file__).resolve().parents[3]
MEMSCOPE = os.path.abspath(os.environ.get('MEMSCOPE', str(SOURCE / 'build' / 'memscope')))
PYTHON = '/usr/bin/python3'  # Debian's
NOBODY = 65534
EXTRA = 60  # MiB
check = Checks()

BASE = '''
import time

def load():
    return bytearray(b'd') * (40 << 20)

def validate():
    return []

time.sleep(1)
data = load()
kept = validate()
time.sleep(4)
'''
# The change also moves the lines below it.
HEAD = BASE.replace('import time\n', 'import time\n# another line\n').replace('return []', f"return bytearray(b'v') * ({EXTRA} << 20)")
LINE = next(n for n, text in enumerate(HEAD.splitlines(), 1) if "b'v'" in text)


def run(*argv, **kw):
    return subprocess.run([MEMSCOPE, *argv], capture_output=True, text=True, timeout=60, **kw)


def as_nobody(*argv):
    return subprocess.run(['setpriv', f'--reuid={NOBODY}', f'--regid={NOBODY}', '--clear-groups', *argv],
                          capture_output=True, text=True, timeout=60)


def record(folder, name, script):
    """A recorded run of a script that is named train.py."""
    checkout = folder / f'checkout-{name}'
    checkout.mkdir()
    (checkout / 'train.py').write_text(script)
    side = folder / name.rstrip('0123456789')
    side.mkdir(exist_ok=True)
    path = side / f'{name}.memscope'
    r = run('--quiet', '--listen', 'none', '--report-dir', 'none', '--interval', '100ms', '--record', str(path), '--',
            PYTHON, str(checkout / 'train.py'))
    check(f'{name} is recorded', r.returncode == 0 and path.exists(), (r.returncode, r.stderr))
    return str(path)


def named(folder, base, head):
    """The line that makes the difference."""
    r = run('compare', base, head, '--fail-on', 'peak>5%', '--format', 'json')
    answer = json.loads(r.stdout or '{}')
    place = f'train.py:{LINE} validate'
    check('60 MiB more break the rule: 3', r.returncode == 3 and answer['rules'][0]['broken'], (r.returncode, r.stderr))
    sentence = answer.get('sentence') or ''
    check('the sentence names the line', sentence.startswith(f'{place} makes ') and 'more at the peak' in sentence, answer)
    lines = [line for line in answer.get('lines', []) if line['line'] == place]
    sizes = [line['head_bytes'] - line['base_bytes'] for line in lines]
    check('the line is known by its mapping, with its size', lines and lines[0]['owner'] and abs(sizes[0] - (EXTRA << 20)) < (4 << 20), lines)
    check('compare names no other line', all(line['line'] == place for line in answer.get('lines', [])), answer.get('lines'))
    peak = next(value for value in answer['values'] if value['name'] == 'peak')
    check('the peak differs by about 60 MiB', abs(peak['head'] - peak['base'] - (EXTRA << 20)) < (8 << 20), peak)
    text = run('compare', base, head).stdout
    check('the text begins with the sentence', text.startswith(place), text[:200])
    check('Markdown begins with the sentence', 'makes' in run('compare', base, head, '--format', 'markdown').stdout.splitlines()[0])
    junit = run('compare', base, head, '--fail-on', 'peak>5%,leaking', '--format', 'junit').stdout
    suite = xml.etree.ElementTree.fromstring(junit)
    failures = list(suite.iter('failure'))
    check('JUnit has two cases and one failure with the line', len(list(suite.iter('testcase'))) == 2 and len(failures) == 1 and place in failures[0].text, junit)
    report = run('report', head)
    check('the report of the run names what was held at most', report.returncode == 0 and 'held at most' in report.stdout.replace('\n', ' '), report.stdout + report.stderr)


def several(folder, base, again, head):
    """With several runs, a difference counts only if it is larger than the spread of the runs."""
    same = run('compare', base, again, '--fail-on', 'peak>5%,leaking')
    check('two runs of one script: 0', same.returncode == 0, same.stdout)
    r = run('compare', str(folder / 'base'), head, '--fail-on', 'peak>5%', '--format', 'json')
    check('a directory with two runs as the base: 3', r.returncode == 3 and len(json.loads(r.stdout)['base_verdicts']) == 2, (r.returncode, r.stdout[:200], r.stderr))
    bad = run('compare', base, head, '--fail-on', 'slope>1M')
    check('a slope without a unit of time: 2, one line', bad.returncode == 2 and len(bad.stderr.splitlines()) == 1 and 'slope>1M/h' in bad.stderr, (bad.returncode, bad.stderr))
    brief = run('compare', base, head, '--fail-on', 'slope>1M/h')
    check('a slope of runs that are too short: 3', brief.returncode == 3 and 'BROKEN: slope>1M/h' in brief.stdout, brief.stdout)


def without_privileges(folder, base, head):
    """The table of docs/ci.md about a user without privileges."""
    program = str(folder / 'memscope')
    shutil.copy(MEMSCOPE, program)
    refused = as_nobody(program, 'report', base)
    check('a recording of root is not for everybody: 2', refused.returncode == 2 and 'ermission' in refused.stderr, refused.stderr)
    for path in (base, head):
        os.chown(path, NOBODY, NOBODY)
    for name, argv, wanted in (('compare', ['compare', base, head, '--fail-on', 'peak>5%'], 3), ('report', ['report', head], 0),
                               ('export', ['export', head, '--format', 'csv'], 0),
                               ('recordings', ['recordings', '--record', str(folder / 'base')], 0)):
        r = as_nobody(program, *argv)
        check(f'{name} needs no privileges', r.returncode == wanted, (r.returncode, r.stderr))
    r = as_nobody(program, '--listen', 'none', '--', 'true')
    check('a command needs root: 2, one line that says so', r.returncode == 2 and 'running a command in a cgroup of its own needs root' in r.stderr and len(r.stderr.splitlines()) == 1, (r.returncode, r.stderr))
    r = as_nobody(program, '--listen', 'none', '--duration', '1s', '--pid', str(os.getpid()))
    check('watching needs capabilities: 2, one line', r.returncode == 2 and len(r.stderr.splitlines()) == 1, (r.returncode, r.stderr))


def blocks(page, language):
    return re.findall(rf'```{language}\n(.*?)```', (SOURCE / 'docs' / page).read_text(), re.S)


def metrics_for_bencher(folder, head):
    """Runs the jq lines of docs/ci.md unchanged."""
    if not check('jq is there: ./dev deps', shutil.which('jq')):
        return
    shutil.copy(head, folder / 'head.memscope')
    environment = dict(os.environ, PATH=f'{folder}:{os.environ["PATH"]}')
    lines = [block for block in blocks('ci.md', 'sh') if 'jq' in block]
    check('docs/ci.md has two lines of jq', len(lines) == 2, lines)
    for line in lines:
        (folder / 'memory.json').unlink(missing_ok=True)
        r = subprocess.run(['sh', '-c', line], cwd=folder, env=environment, capture_output=True, text=True, timeout=60)
        metrics = json.loads((folder / 'memory.json').read_text() or '{}') if r.returncode == 0 else {}
        benchmark = next(iter(metrics.values()), {})
        check('jq makes the metric format of Bencher', benchmark.get('peak', {}).get('value', 0) > (EXTRA << 20), (r.returncode, r.stderr, metrics))


def shipped(folder):
    """The script of docs/fleet.md, after a real OOM kill."""
    script = folder / 'memscope-ship'
    script.write_text(next(block for block in blocks('fleet.md', 'sh') if block.startswith('#!/bin/sh') and 'MEMSCOPE_RECORDING' in block))
    script.chmod(0o755)
    target = folder / 'bucket'
    environment = dict(os.environ, PATH=f'{folder}:{os.environ["PATH"]}')
    job = 'import time; time.sleep(1); kept = []\nwhile True: kept.append(bytearray(b"x") * (4 << 20)); time.sleep(0.05)'
    r = run('--quiet', '--listen', 'none', '--interval', '100ms', '--memory-max', '100M', '--report-dir', str(folder / 'reports'),
            '--record', str(folder / 'live'), '--on-death', f'{script} {target}', '--', PYTHON, '-c', job, env=environment)
    check('the job was killed', r.returncode == 137, (r.returncode, r.stderr))
    copies = sorted((target / socket.gethostname()).glob('*')) if target.exists() else []
    check('the report and the recording of the job were copied', sorted(path.suffix for path in copies) == ['.json', '.memscope'], (copies, r.stderr))
    for path in copies:
        told = run('report', str(path))
        check(f'the copy {path.suffix} tells of the death', told.returncode == 0 and 'OOM' in told.stdout and 'WHAT TO DO' in told.stdout, told.stdout[:1500] + told.stderr)
    check('a copy is one file', not list(target.rglob('*-wal')))


TORCH = '''
import time, torch

class Trainer:
    def __init__(self):
        self.weights = torch.zeros(4 << 20)
        self.outputs = []

    def step(self):
        torch.ones(1 << 18).sum()

    def validate(self):
        pass

trainer = Trainer()
for step in range(60):
    trainer.step()
    if step == 10:
        trainer.validate()
    time.sleep(0.1)
'''


def tensors(folder):
    """PyTorch loads large libraries, whose symbols the recorder needs while ticks go on."""
    if subprocess.run([PYTHON, '-c', 'import torch'], capture_output=True).returncode != 0:
        print('skip  host tensors: PyTorch is not installed', flush=True)
        return
    kept = TORCH.replace('        pass', '        self.outputs += [torch.ones(1 << 20) for k in range(24)]')
    base, head = record(folder, 'plain1', TORCH), record(folder, 'kept1', kept)
    r = run('compare', base, head, '--fail-on', 'peak>5%', '--format', 'json')
    answer = json.loads(r.stdout or '{}')
    sentence = answer.get('sentence') or ''
    check('the line that keeps tensors is named: 3', r.returncode == 3 and re.match(r'train\.py:13 Trainer\.validate\S* makes \d+ MiB of the', sentence), (r.returncode, r.stdout[:1500], r.stderr))


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        folder.chmod(0o755)
        base, again, head = record(folder, 'base1', BASE), record(folder, 'base2', BASE), record(folder, 'head1', HEAD)
        named(folder, base, head)
        several(folder, base, again, head)
        without_privileges(folder, base, head)
        metrics_for_bencher(folder, head)
        shipped(folder)
        tensors(folder)


run_as_root(check, main, MEMSCOPE, 170)
