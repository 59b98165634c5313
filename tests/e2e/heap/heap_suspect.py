#!/usr/bin/env python3
"""A job of Python that keeps the records of each step: the watcher suspects its list within a minute, long before a verdict. A
job with a cache that fills to a bound is not suspected.

Needs root; takes 120 s. MEMSCOPE names the binary.
"""
import json
import os
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../support'))
from growing import MEMSCOPE  # noqa: E402
from harness import Checks, run_as_root  # noqa: E402

check = Checks()

# Ten records of 40 KB a second, besides memory that comes and goes. `leak`: all are kept in a list of an object. `cache`: 150
# of them are kept in a dict.
JOB = r'''
import sys, time

class Miner:
    def __init__(self):
        self.records = []
        self.cache = {}

    def step(self, i):
        record = bytearray(40_000)
        if sys.argv[1] == "leak":
            self.records.append((i, record))
        elif len(self.cache) < 150:
            self.cache[i] = record
        scratch = [bytearray(1000) for _ in range(1000)]

miner = Miner()
ballast = [bytearray(1 << 20) for _ in range(60)]
for i in range(10_000):
    miner.step(i)
    time.sleep(0.1)
'''


def watch(job, kind, *words):
    """Runs the job and memscope, which watches it."""
    process = subprocess.Popen([sys.executable, job, kind])
    try:
        return subprocess.run([MEMSCOPE, '--pid', str(process.pid), '--listen', '127.0.0.1:0', *words],
                              capture_output=True, text=True, timeout=100)
    finally:
        process.kill()
        process.wait()


def check_leak(job):
    began = time.time()
    done = watch(job, 'leak', '--json', '--duration', '60s', '--fail-on', 'suspected')
    ticks = [json.loads(line) for line in done.stdout.splitlines()]
    suspected = [tick for tick in ticks if tick['verdicts'][0]['suspect']]
    if not check('leak: it is suspected', suspected, (done.stderr[-400:], ticks[-1]['verdicts'][0])):
        return
    check('leak: within a minute', suspected[0]['time'] - began < 60, suspected[0]['time'] - began)
    verdict = suspected[-1]['verdicts'][0]
    suspect = verdict['suspect']
    check('leak: the list is named', suspect['kind'] == 'holder' and suspect['name'].endswith('.records'), suspect)
    check('leak: with its rate', 200_000 < suspect['bytes_per_second'] < 500_000, suspect)
    check('leak: with its share and time', suspect['share'] > 0.5 and suspect['since_seconds'] >= 30, suspect)
    check('leak: there is no verdict yet', verdict['verdict'] in ('insufficient', 'warming_up'), verdict)
    check('leak: the first sentence says it', verdict['explanation'].startswith(suspect['text']), verdict)
    check('leak: --fail-on suspected', done.returncode == 3, (done.returncode, done.stderr[-400:]))


def check_cache(job):
    done = watch(job, 'cache', '--duration', '55s', '--fail-on', 'suspected')
    check('cache: is not suspected', 'Suspected' not in done.stdout, done.stdout)
    check('cache: the exit status is 0', done.returncode == 0, (done.returncode, done.stderr[-400:]))


def main():
    with tempfile.TemporaryDirectory() as folder:
        job = f'{folder}/job.py'
        with open(job, 'w') as f:
            f.write(JOB)
        check_leak(job)
        check_cache(job)


if __name__ == '__main__':
    run_as_root(check, main, MEMSCOPE, 170)
