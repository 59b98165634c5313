#!/usr/bin/env python3
"""The jobs of owner_lines.py on a machine that trains: the portable tarball against its own PyTorch, and a job on its GPU.

    real_owner_lines.py TARBALL [RESULT.json]

Needs root and a Python with PyTorch and numpy, which runs this script and the jobs; a GPU, unless WITHOUT_GPU is set.
MEMSCOPE names a program to be used instead of that of the tarball. Takes two minutes.
"""
import json
import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / 'support'))
from harness import GaveUp  # noqa: E402
from owners import TRAINING, pages, train  # noqa: E402
from real_machine import try_here, unpack  # noqa: E402

LIMIT = 64 << 30
FACTS = '''
import json, sys, numpy, torch
gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else None
print(json.dumps({'python': sys.version.split()[0], 'torch': torch.__version__, 'numpy': numpy.__version__, 'gpu': gpu}))
'''


def facts(check):
    done = subprocess.run([sys.executable, '-c', FACTS], capture_output=True, text=True)
    if not check('this Python has PyTorch and numpy', done.returncode == 0, done.stderr[-400:]):
        return {}
    return json.loads(done.stdout)


def run(check, tarball, folder):
    program = os.environ.get('MEMSCOPE') or unpack(tarball, folder)
    result = {'machine': os.uname().machine, 'kernel': os.uname().release, **facts(check)}
    print(f'     {result}', flush=True)
    jobs = {'pages': lambda: pages(check, program, sys.executable, folder, LIMIT)}
    for script in TRAINING:
        jobs[script.removesuffix('.py')] = lambda script=script: train(check, program, sys.executable, folder, script, LIMIT)
    jobs['kept_in_list_from_start'] = lambda: train(check, program, sys.executable, folder, 'kept_in_list.py', LIMIT,
                                                    label='kept_in_list_from_start', from_start=True)
    if not os.environ.get('WITHOUT_GPU') and check('there is a GPU, else set WITHOUT_GPU', result.get('gpu')):
        # The network is on the GPU; the outputs that are kept are copied to the host.
        jobs['kept_in_list_cuda'] = lambda: train(check, program, sys.executable, folder, 'kept_in_list.py', LIMIT,
                                                  {'JOB_DEVICE': 'cuda'}, 'kept_in_list_cuda')
    for name, job in jobs.items():
        print(f'== {name}', flush=True)
        try:
            result[name] = job()
            print(result[name].get('text', ''), flush=True)
        except GaveUp as gave_up:  # the other jobs are tested nevertheless
            check(f'{name}: {gave_up}', False)
    return result


if __name__ == '__main__':
    sys.exit(try_here(run, __doc__))
