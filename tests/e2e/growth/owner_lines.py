#!/usr/bin/env python3
"""The line that keeps memory is named, or memscope says that it does not know: real PyTorch and numpy jobs.

    owner_lines.py [NAME]...       scripts in ../jobs without ".py", or kept_in_list_from_start; without a name all of them
    owner_lines.py --part 1/3      every third of them, from the first on

Needs root and Debian's packages python3-torch and python3-numpy; takes two to three minutes. MEMSCOPE names the binary,
JOB_PYTHON the interpreter of the jobs.
"""
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../support'))
from growing import MEMSCOPE  # noqa: E402
from harness import Checks, GaveUp, run_as_root  # noqa: E402
from owners import MIB, TRAINING, pages, train  # noqa: E402

PYTHON = os.environ.get('JOB_PYTHON', '/usr/bin/python3')  # Debian's own interpreter, because another one has no PyTorch
LIMIT = 768 * MIB  # the jobs hold at most 400 MiB; the rest is for the files of PyTorch
FROM_START = 'kept_in_list_from_start'  # memscope sees the job start and import PyTorch

check = Checks()


def main():
    names = ['pages', *(script.removesuffix('.py') for script in TRAINING), FROM_START]
    if sys.argv[1:2] == ['--part']:
        part, parts = map(int, sys.argv[2].split('/'))
        names = names[part - 1::parts]
    elif sys.argv[1:]:
        names = sys.argv[1:]
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            if name == 'pages':
                pages(check, MEMSCOPE, PYTHON, folder, LIMIT)
            elif name == FROM_START:
                train(check, MEMSCOPE, PYTHON, folder, 'kept_in_list.py', LIMIT, label=name, from_start=True)
            elif f'{name}.py' in TRAINING:
                train(check, MEMSCOPE, PYTHON, folder, f'{name}.py', LIMIT)
            else:
                raise GaveUp(f'no job {name}')


if __name__ == '__main__':
    run_as_root(check, main, MEMSCOPE, 600)
