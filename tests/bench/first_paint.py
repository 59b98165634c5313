#!/usr/bin/env python3
"""Time until Chromium shows the page of a recording of 24 hours: the first paint with content, and the curve of the whole run.
Each round starts `memscope web` anew, so that it has read nothing yet. Also the time from its start to its address.

Needs node, npm and Chromium.   first_paint.py [ROUNDS [RECORDING]]      MEMSCOPE names the program, BENCH_WEB the maker of recordings"""
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / 'tests' / 'e2e' / 'support'))
from page import CHROMIUM, prepare, web  # noqa: E402

MEMSCOPE = os.environ.get('MEMSCOPE', str(SOURCE / 'build' / 'memscope'))
BENCH_WEB = os.environ.get('BENCH_WEB', str(SOURCE / 'build' / 'release' / 'tests' / 'bench_web'))


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    _, browser = prepare()
    figures = {'start': [], 'paint': [], 'curve': []}
    with tempfile.TemporaryDirectory() as folder:
        recording = sys.argv[2] if len(sys.argv) > 2 else f'{folder}/day.memscope'
        if not os.path.exists(recording):
            subprocess.run([BENCH_WEB, '24', recording], check=True, stdout=subprocess.DEVNULL)
        for _ in range(rounds):
            began = time.monotonic()
            with web(MEMSCOPE, recording) as address:
                figures['start'].append(1000 * (time.monotonic() - began))
                shown = subprocess.run(['node', 'first_paint.mjs', address], cwd=browser, check=True, capture_output=True, text=True, timeout=60,
                                       env={**os.environ, 'CHROMIUM': CHROMIUM})
                for name, value in json.loads(shown.stdout).items():
                    figures[name].append(value)
    print(f'first_paint: a recording of 24 h in Chromium, {rounds} rounds, medians (and the slowest)')
    for name, what in (('start', 'memscope web, from its start to its address'), ('paint', 'first paint with content, from the navigation'),
                       ('curve', 'curve of the whole run, from the navigation')):
        print(f'  {what:50} {statistics.median(figures[name]):6.0f} ms ({max(figures[name]):.0f} ms)')


main()
