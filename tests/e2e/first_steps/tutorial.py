#!/usr/bin/env python3
"""Runs every command of docs/tutorial.md, and compares what memscope prints with the text there; numbers may differ.

Needs root, PyTorch in /usr/bin/python3, and FAKE_CUDA, which names the library that stands for the CUDA driver. MEMSCOPE
names the binary (default: build/memscope). Arguments choose parts by the names of their jobs: `tutorial.py warm_up.py`.
"""
import concurrent.futures
import os
import pathlib
import re
import shlex
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../support'))
from harness import Checks, GaveUp, run_as_root  # noqa: E402

SOURCE = pathlib.Path(__file__).resolve().parents[3]
MEMSCOPE = os.path.abspath(os.environ.get('MEMSCOPE', str(SOURCE / 'build' / 'memscope')))
PAGE = SOURCE / 'docs' / 'tutorial.md'
JOBS = SOURCE / 'docs' / 'tutorial' / 'jobs'
PYTHON = '/usr/bin/python3'  # Debian's, because it has PyTorch

check = Checks()


def parts_of(page):
    """(job, command, passages of the output block) of each part of the page."""
    found = re.findall(r'^```sh\n(.*?)\n```\n+```output\n(.*?)\n```$', page, re.M | re.S)
    for command, output in found:
        job = re.search(r'(\w+\.py)', command)[1]
        yield job, command, [passage.strip() for passage in re.split(r'^…$', output, flags=re.M)]


def masked(text):
    """One line without the numbers, units, and columns that differ from run to run."""
    text = ' '.join(text.split())
    text = re.sub(r'\d[\d.,]*(?<![.,])', 'N', text)
    text = re.sub(r'N (KiB|MiB|GiB|TiB|B|ms|s|min|h)\b', 'N U', text).replace('U/h', 'U/min')
    # A busy machine takes few samples of a job of seconds. Then the end of its first spike may look like a fall that stays.
    return re.sub(r'Since memory fell at N U, (\w)', lambda found: found[1].upper(), text)


def argv_of(command):
    """The command as the test runs it: with the memscope and the Python of the test, and without sudo."""
    words = shlex.split(command)
    words = [word for word in words[words.index('memscope') + 1:]]
    words = [re.sub(r'\bpython3\b', PYTHON, word) if word == 'python3' or ' python3 ' in word else word for word in words]
    return [MEMSCOPE, '--listen', 'none', '--report-dir', 'none', *words]


def run(part):
    job, command, passages = part
    environment = {**os.environ, 'MEMSCOPE_RECORD': 'none', 'LIBCUDA': os.environ['FAKE_CUDA'], 'FAKE_CUDA_BYTES': str(64 << 20)}
    try:
        done = subprocess.run(argv_of(command), cwd=JOBS, env=environment, capture_output=True, text=True, timeout=80)
    except subprocess.TimeoutExpired as late:
        return part, f'no end after 80 s: {late.stderr}'
    return part, done.stderr


def in_order(said, passages):
    """The first passage that the output does not contain after the passage before it. None: it contains all in this order."""
    at = 0
    for passage in passages:
        wanted = masked(passage)
        found = said.find(wanted, at)
        if found < 0:
            return wanted
        at = found + len(wanted)
    return None


def main():
    if not os.environ.get('FAKE_CUDA'):
        raise GaveUp('FAKE_CUDA must name the library that stands for the CUDA driver')
    parts = list(parts_of(PAGE.read_text()))
    jobs = {job for job, _, _ in parts}
    check('every job of the tutorial is on the page', jobs == {path.name for path in JOBS.glob('*.py')}, jobs)
    check('each part has a text to compare', len(parts) == 9 and all(passages and all(passages) for _, _, passages in parts), len(parts))
    chosen = [part for part in parts if not sys.argv[1:] or part[0] in sys.argv[1:]]
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        for (job, _, passages), said in pool.map(run, chosen):
            missing = in_order(masked(said), passages)
            check(f'{job}: what the page says is printed', missing is None, f'missing: {missing}\nprinted: {said}')


if __name__ == '__main__':
    run_as_root(check, main, MEMSCOPE, 240)
