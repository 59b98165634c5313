#!/usr/bin/env python3
"""The holders of the tensors of a PyTorch job, on a machine that trains: compares `memscope heap` with the figures of the job
itself at three moments, checks what a watcher says by itself while the job keeps tensors and while it keeps none, and measures
the cost of a census for the job.

    real_holders.py TARBALL [RESULT.json]

Needs root and a Python with PyTorch and numpy, which runs this script and the job; a GPU, unless WITHOUT_GPU is set. MEMSCOPE
names a program to be used instead of that of the tarball. ROUNDS is the number of pairs of 30 s in which the rate is measured
(3 if it is not set). Takes eight minutes.
"""
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / 'support'))
from harness import process  # noqa: E402
from real_machine import try_here, unpack  # noqa: E402
from real_owner_lines import facts  # noqa: E402

JOB = str(Path(__file__).resolve().parents[1] / 'jobs' / 'kept_tensors.py')
HELD = {'features': 'self.features', 'losses': 'self.losses', 'layer2': "self.activations['layer2']", 'boxes': 'self.boxes'}
WINDOW = 30
NAMED_AFTER = 60  # seconds in which a watcher must have named a holder
WATCHED = 75
QUIET = 45


def census(program, pid, *words):
    done = subprocess.run([program, 'heap', '--pid', str(pid), '--format', 'json', '--top', '500', *words],
                          capture_output=True, text=True, timeout=90)
    if done.returncode != 0:
        return {'error': done.stderr.strip()}
    return json.loads(done.stdout)['processes'][0]


def holder(census, name):
    return next((h for h in census['holders'] if h['path'].endswith(HELD[name].removeprefix('self'))), None)


def compare(check, moment, truth, found):
    if not check(f'{moment}: there is an answer', 'error' not in found, found.get('error')):
        return
    of_python = {}
    for group in found['tensors']:
        if not group['only_native']:
            counted = of_python.setdefault(group['device'], {'tensors': 0, 'bytes': 0})
            counted['tensors'] += group['count']
            counted['bytes'] += group['bytes']
    for device, counted in truth['tensors'].items():
        its = of_python.get(device, {'tensors': 0, 'bytes': 0})
        check(f'{moment}: {device}: tensors', abs(its['tensors'] - counted['tensors']) <= 0.02 * counted['tensors'], (its, counted))
        check(f'{moment}: {device}: bytes', abs(its['bytes'] - counted['bytes']) <= 0.05 * counted['bytes'], (its, counted))
        print(f'     {moment}: {device}: {its} of {counted}', flush=True)
    arrays = [a for a in found['arrays'] if a['shape'] == [50, 4]]
    check(f'{moment}: arrays', sum(a['count'] for a in arrays) == truth['arrays'] and
          sum(a['bytes'] for a in arrays) == truth['array_bytes'], (arrays, truth['arrays']))
    for name, length in truth['lists'].items():
        its = holder(found, name)
        check(f'{moment}: {HELD[name]} is named with its length', its and its['length'] == length, its or
              [h['path'] for h in found['holders'][:12]])


def changes(check, program, pid, ask, device):
    """What grows between two censuses comes first, with the memory of the GPU."""
    answer = {}
    thread = threading.Thread(target=lambda: answer.update(census(program, pid, '--again', '12s')))
    thread.start()
    time.sleep(8)  # the first census has ended by then
    ask('steps 200')
    thread.join()
    if not check('two censuses', 'error' not in answer, answer.get('error')):
        return {}
    for name in HELD:
        its = holder(answer, name)
        check(f'{HELD[name]} has grown by 200', its and its['length_change'] == 200, its)
        if its and device != 'cpu' and name != 'boxes':
            check(f'{HELD[name]}: memory of the GPU', its['retained_device_change'] > 0, its)
    first = [h['path'] for h in answer['holders'][:6]]
    check('the holders that grew are listed first', sum(any(p.endswith(HELD[n].removeprefix('self')) for n in HELD) for p in first) >= 4, first)
    return {'holders': answer['holders'][:6], 'taken_seconds': answer['taken_seconds'],
            'references_explained': answer.get('references_explained'), 'objects': answer.get('objects')}


def is_held(path):
    return any(path.endswith(held.removeprefix('self')) for held in HELD.values())


def watch(program, pid, ask, command, seconds):
    """The ticks of a watcher that sees the job execute a command."""
    with tempfile.TemporaryFile('w+') as out:
        words = [str(program), '--pid', str(pid), '--json', '--listen', 'none', '--report-dir', 'none', '--linger', '0s',
                 '--duration', f'{seconds}s']
        with process(words, stdout=out, stderr=subprocess.PIPE, text=True) as watcher:
            ask(f'{command} {seconds + 2}')
            watcher.wait(30)
        out.seek(0)
        return [json.loads(line) for line in out if line.startswith('{')]


def named(verdict):
    """The path of the holder that this verdict names first."""
    suspect = verdict['suspect'] or {}
    said = ' '.join(filter(None, (suspect.get('text'), verdict['explanation'], verdict['holders'])))
    return next((path for path in re.findall(r'`([^`]+)`', said) if not path.startswith('memscope ')), None)


def watched_growth(check, program, pid, ask, device):
    """The watcher names what the job keeps, by itself, soon, and nothing else."""
    ticks = watch(program, pid, ask, 'keep', WATCHED)
    said = [(round(tick['time'] - ticks[0]['time']), verdict) for tick in ticks for verdict in tick['verdicts']
            if verdict['scope'] in ('target', 'role', 'gpu')]
    if not check('the watcher has verdicts', said, len(ticks)):
        return {}
    paths = [(at, named(verdict), verdict['scope']) for at, verdict in said if named(verdict)]
    right = [(at, path) for at, path, _ in paths if is_held(path)]
    check(f'the watcher names a holder within {NAMED_AFTER} s', right and right[0][0] <= NAMED_AFTER, (right[:1], said[-1][1]))
    wrong = sorted({path for _, path, _ in paths if not is_held(path)})
    check('the watcher names nothing that is no holder', not wrong, wrong)
    last = [verdict for _, verdict in said if verdict['scope'] == 'target'][-1]
    check('the last sentence has a holder', is_held(named(last) or ''), last)
    suspects = [verdict['suspect'] for _, verdict in said if verdict['suspect']]
    check('a leak is suspected', suspects, last)
    check('its holder is one that grows', all(s['kind'] == 'holder' and is_held(s['name']) for s in suspects), suspects[-1:])
    if device != 'cpu':
        check('the watcher names memory of the GPU', any('of GPU memory' in verdict['explanation'] for _, verdict in said), last)
    return {'seconds_until_named': right[0][0] if right else None, 'named': sorted({path for _, path in right}),
            'explanation': last['explanation'], 'suspect': suspects[-1] if suspects else None}


def watched_quiet(check, program, pid, ask):
    """The watcher names nothing while the job trains without keeping anything."""
    ticks = watch(program, pid, ask, 'rate', QUIET)
    verdicts = [verdict for tick in ticks for verdict in tick['verdicts']]
    check('without growth: there are verdicts', verdicts, len(ticks))
    wrong = sorted({named(verdict) for verdict in verdicts if named(verdict)})
    check('without growth: the watcher names nothing', not wrong, wrong)
    check('without growth: nothing is suspected', not any(verdict['suspect'] for verdict in verdicts), verdicts[-1:])


def cost(program, pid, ask):
    """Steps per second with one census in 30 s, and without, in turns."""
    ratios = []
    for _ in range(int(os.environ.get('ROUNDS', 3))):
        without = ask(f'rate {WINDOW}')['steps_per_second']
        timer = threading.Timer(WINDOW / 2, census, (program, pid))
        timer.start()
        beside = ask(f'rate {WINDOW}')['steps_per_second']
        timer.join()
        ratios.append(beside / without)
    return ratios


def run(check, tarball, folder):
    program = os.environ.get('MEMSCOPE') or unpack(tarball, folder)
    result = {'machine': os.uname().machine, 'kernel': os.uname().release, **facts(check)}
    print(f'     {result}', flush=True)
    device = 'cpu'
    if not os.environ.get('WITHOUT_GPU') and check('there is a GPU, else set WITHOUT_GPU', result.get('gpu')):
        device = 'cuda'
    with process([sys.executable, JOB, device], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as job:
        job.stdout.readline()

        def ask(line):
            job.stdin.write(line + '\n')
            job.stdin.flush()
            return json.loads(job.stdout.readline())

        for moment, steps in enumerate((100, 300, 1000), 1):
            truth = ask(f'steps {steps}')
            compare(check, f'moment {moment}', truth, census(program, job.pid))
        result['growth'] = changes(check, program, job.pid, ask, device)
        result['watcher'] = watched_growth(check, program, job.pid, ask, device)
        print(f'     {result["watcher"]}', flush=True)
        watched_quiet(check, program, job.pid, ask)
        result['text'] = subprocess.run([program, 'heap', '--pid', str(job.pid)], capture_output=True, text=True, timeout=90).stdout
        print(result['text'], flush=True)
        result['rates'] = cost(program, job.pid, ask)
        print('     steps with a census in 30 s / without:', result['rates'], flush=True)
        if result['rates']:
            result['rate'] = statistics.median(result['rates'])
    return result


if __name__ == '__main__':
    sys.exit(try_here(run, __doc__))
