#!/usr/bin/env python3
"""memscope replay as users see it: a real run is recorded, then shown in a terminal (tmux) and moved in time by keys.

Needs root and tmux; takes 25 s. MEMSCOPE names the binary (default: build/memscope below the source tree).
"""
import os
import re
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../support'))
from harness import Cgroup, Checks, process, run_as_root  # noqa: E402
from screen import LAUNCHER, MEMSCOPE, MIB, Screen  # noqa: E402

check = Checks()
NAME = f'ms-replay-{os.getpid()}'


def recorded(folder):
    """The recording of a run of some seconds, and the tree that the live view showed last."""
    file = f'{folder}/run.memscope'
    with Cgroup(NAME, 512 * MIB) as group, process(LAUNCHER, cgroup=group), \
            Screen(folder, 100, 30, '--cgroup', group.name, '--record', file) as s:
        check('the live view shows the job', s.shows('▾ dataloader_worker'), s.text())
        time.sleep(4)
        live = s.text()
        s.keys('q')
        check('... and ends', s.ended() == '0', s.ended())
    return file, live


def roles(screen):
    return re.findall(r'^▾ (\w+) +×(\d+)', screen, re.M)


def main():
    with tempfile.TemporaryDirectory() as folder:
        file, live = recorded(folder)
        with Screen(folder, 100, 30, 'replay', file) as s:
            check('the first tick, and the time line', s.shows(r'^ ▶ \d{4}-\d\d-\d\d \d\d:\d\d:\d\d  ×1 .*●') and s.shows(f'^ {NAME} '), s.text())
            s.keys('Space')
            check('Space pauses', s.shows('^ paused '), s.text())
            stands = s.text()
            time.sleep(1)
            check('... then nothing moves', s.text() == stands, s.text())
            s.keys('>')
            check('the end has the roles of the live view', s.shows('━●') and s.shows('▾ dataloader_worker') and roles(s.text()) == roles(live), (s.text(), live))
            s.keys(',')
            before = s.text()
            s.keys('<')
            check('< goes back to the begin', s.shows(r'×1 ●─'), (before, s.text()))
            s.keys('+', '+')
            check('+ is faster', s.shows('×4 '), s.text())
            s.keys('g')
            check('growth as it was recorded', s.shows('RESIDENT'), s.text())
            s.keys('Escape', '?')
            check('help has the keys of a replay', s.shows('jump to the next or previous verdict'), s.text())
            s.keys('x')
            s.resize(40, 10)
            check('40x10', s.shows('paused'), s.text())
            s.keys('q')
            check('q ends it with 0', s.ended() == '0', s.ended())
            check('... the terminal is as before', s.restored() is None, s.restored())
        piped = subprocess.run([MEMSCOPE, 'replay', file], capture_output=True, text=True, timeout=30)
        check('without a terminal: 2 and one line', piped.returncode == 2 and piped.stderr.count('\n') == 1, piped)
        missing = subprocess.run([MEMSCOPE, 'replay', f'{folder}/none.memscope'], capture_output=True, text=True, timeout=30)
        check('a missing file: 2 and one line', missing.returncode == 2 and missing.stderr.count('\n') == 1, missing)


if __name__ == '__main__':
    run_as_root(check, main, MEMSCOPE, 120)
