#!/usr/bin/env python3
"""The live view as users see it: in a terminal (tmux) of several sizes, with keys, resizes and all the ways it ends.

Needs root and tmux; takes 25 s. MEMSCOPE names the binary (default: build/memscope below the source tree).
"""
import fcntl
import os
import pty
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../support'))
from harness import Cgroup, Checks, GaveUp, Watcher, free_port, process, run_as_root, wait_for  # noqa: E402
from screen import LAUNCHER, MEMSCOPE, MIB, PATIENCE, Screen  # noqa: E402

ME = f'ms-view-{os.getpid()}'
SLEEPER = [sys.executable, '-c', 'import signal; signal.pause()']

check = Checks()


def narrow(folder, job):
    with Screen(folder, 80, 24, '--cgroup', job.name) as s:
        check('80x24: the target, its bar and whose limit', s.shows(f'^ {job.name} ') and s.shows(r'[█░]  \d+ % of 256 MiB')
              and s.shows('headroom below its own limit'), s.text())
        check('kinds with sizes', s.shows(r'anon \d+ MiB +■ shmem .*■ file .*■ kernel .*■ other '), s.text())
        check('roles with counts and sizes', s.shows(r'▾ trainer +×1 +\d+M ') and s.shows(r'▾ dataloader_worker +×2 +\d+M ')
              and s.shows(r'▾ launcher +×1 '), s.text())
        check('the trainer grows, its trend rises', s.shows(r'▾ trainer .*\+[\d.]+M .*[▁▂▃▄▅▆▇█]{5}'), s.text())
        check('the process of the trainer is listed below its role', s.shows(r'▾ trainer .*\n   python'), s.text())
        check('a hostile name is shown harmless', s.shows(r'\\x1b\[2J\\n界'), s.text())
        check('the footer has keys and own cost', s.shows(r' q quit .*sort: size.*tick \d+\.\d ms +\d+ MiB$'), s.text())
        s.keys('Enter')
        check('Enter folds', s.shows(r'▸ trainer .*\n▾ dataloader'), s.text())
        s.keys('Space')
        check('... and unfolds', s.shows('▾ trainer'), s.text())
        s.keys('Down', 'Down', 'j', 'Left')
        check('a worker folds its role', s.shows('▸ dataloader_worker'), s.text())
        s.keys('Right')
        check('Right unfolds', s.shows('▾ dataloader_worker'), s.text())
        for name, first, second in ('growth', 'trainer', 'launcher'), ('name', 'launcher', 'trainer'), \
                ('pid', 'launcher', 'trainer'), ('size', 'trainer', 'launcher'):
            s.keys('s')
            check(f'sort by {name}', s.shows(rf'(?s)▾ {first} .*▾ {second} .*sort: {name}'), s.text())
        s.keys('/', 'W', 'O', 'R', 'K')
        check('a filter shows what matches', s.shows('/WORK▏') and s.hides('[▾▸] launcher') and s.shows('dataloader_worker'), s.text())
        s.keys('Enter')
        check('... and stays', s.shows('filter: WORK'), s.text())
        s.keys('Escape')
        check('... until Esc', s.shows('▾ launcher'), s.text())
        s.keys('?')
        check('help', s.shows('fold or unfold the role') and s.hides('▾ trainer'), s.text())
        s.keys('x')
        check('... closes with any key', s.shows('▾ trainer'), s.text())
        s.keys('g', 'g', 'g')
        check('growth of host tensors', s.shows('HOST TENSORS') and s.shows('no process has PyTorch mapped'), s.text())
        s.keys('Escape')
        check('... Esc closes it', s.shows('▾ trainer'), s.text())
        s.resize(120, 40)
        check('120x40 after a resize: more columns', s.shows(r'START +EXIT +TREND') and s.shows('tick .* MiB$'), s.text())
        s.resize(40, 10)
        check('40x10: the bar, roles and keys', s.shows(r'\d+ % of 256 MiB') and s.shows('trainer') and s.shows('q quit|job: '), s.text())
        for size in (1, 1), (3, 2), (200, 5), (7, 60):
            s.resize(*size)
            time.sleep(0.15)
        s.resize(80, 24)
        check('sizes down to 1x1 do no harm', s.shows(r'▾ trainer .*\d+M') and s.shows(r'^ q quit '), s.text())
        s.keys('C-s', 'C-l')
        before = s.text()
        check('Ctrl-S does not freeze it', wait_for(lambda: s.text() != before, PATIENCE), s.text())
        s.keys('q')
        check('q ends it with 0', s.ended() == '0', s.ended())
        check('... the terminal is as before', s.restored() is None, s.restored())
        check('... and what happened is printed in plain lines', s.shows(f'{job.name}: watching, '), s.text())


def between_ticks(folder, job):
    with Screen(folder, 80, 24, '--cgroup', job.name, '--interval', '1h', '--listen', f'127.0.0.1:{free_port()}') as s:
        s.shows('▾ trainer')
        s.resize(120, 40)
        check('a resize does not wait for the next tick', s.shows(r'START +EXIT +TREND'), s.text())
        s.keys('Enter')
        check('a key does not wait for the next tick', s.shows('▸ '), s.text())
        s.keys('q')
        check('q does not wait for the next tick', s.ended() == '0', s.ended())


def wide_with_two_targets(folder, job):
    with Cgroup(f'{ME}-calm', 64 * MIB) as calm, process(SLEEPER, cgroup=calm), \
            Screen(folder, 120, 40, '--cgroup', job.name, '--cgroup', calm.name) as s:
        check('120x40: both targets are listed with bars', s.shows(f'{job.name} .*% ') and s.shows(f'▸ {calm.name} .*% '), s.text())
        check('the verdict is beside the name', s.shows(f'^ {calm.name}  too early to tell'), s.text())
        s.keys('Tab')
        check('Tab selects the other one', s.shows(f'▸ {job.name}') and s.shows('▾ dataloader_worker'), s.text())
        s.keys('p')
        check('p goes back', s.shows(f'▸ {calm.name}') and s.hides('▾ dataloader_worker'), s.text())
        calm._remove()
        check('a removed target gives way', s.shows('▾ dataloader_worker') and s.hides(calm.name + ' .*% '), s.text())
        os.kill(s.child(), signal.SIGTERM)
        check('SIGTERM ends it with 0', s.ended() == '0', s.ended())
        check('... the terminal is as before', s.restored() is None, s.restored())
        # Checked here, because the view has one row for notices and shows only the latest of them.
        check('... and a plain line tells of the target that ended', s.shows(f'{calm.name}: ended'), s.text())


def a_death_stands_first(folder):
    with Cgroup(f'{ME}-dies', 64 * MIB) as dies, Screen(folder, 80, 24, '--cgroup', dies.name) as s:
        with process(SLEEPER, cgroup=dies) as sleeper:
            s.shows('▾ trainer')
            sleeper.kill()
            sleeper.wait(10)
        check('a death is in the first line', s.shows(rf'\A DEATH \d+ s ago in {dies.name}: python'), s.text())
        s.keys('Down')
        check('... and stays there', s.hides('▾ trainer') and s.shows(r'\A DEATH'), s.text())
        s.keys('x')
        check('... until it was seen', s.shows(rf'\A {dies.name}  '), s.text())
        s.keys('q')
        check('... and q ends it with 0', s.ended() == '0', s.ended())


def other_ends(folder, job):
    for number, status in (signal.SIGINT, '0'), (signal.SIGSEGV, '139'), (signal.SIGQUIT, '131'):
        with Screen(folder, 80, 24, '--cgroup', job.name, environment='ASAN_OPTIONS=handle_segv=0') as s:
            s.shows('▾ trainer')
            s.keys('C-c') if number == signal.SIGINT else os.kill(s.child(), number)
            check(f'{number.name}: exit status {status}', s.ended() == status, s.ended())
            check('... the terminal is as before', s.restored() is None, s.restored())
    with Cgroup(f'{ME}-short', 64 * MIB) as short, Screen(folder, 80, 24, '--cgroup', short.name, environment='') as s:
        check('an empty target says so', s.shows('no processes'), s.text())
        os.rmdir(short.path)
        check('the end of the target ends it with 0', s.ended() == '0' and s.restored() is None, (s.ended(), s.restored()))
        check('... and a plain line says why', s.shows(f'{short.name}: ended'), s.text())
    with Screen(folder, 80, 24, '--cgroup', job.name, '--duration', '1s') as s:
        check('--duration ends it with 0', s.ended() == '0' and s.restored() is None, (s.ended(), s.restored()))


def plain_lines_instead(folder, job):
    for environment in 'TERM=dumb', '-u TERM', 'TERM=no-such-terminal':
        with Screen(folder, 80, 24, '--cgroup', job.name, '--duration', '1s', environment=environment) as s:
            check(f'{environment}: plain lines', s.shows(f'^{job.name}: watching, ') and s.hides('ROLE / PROCESS', 1) and s.ended() == '0', s.text())
    with Screen(folder, 80, 24, '--cgroup', job.name, environment='NO_COLOR=1') as s:
        s.shows('▒ file')
        check('NO_COLOR: no colour, kinds differ by glyph', not re.search(r'\x1b\[3[0-7]m', s.tmux('capture-pane', '-pe').stdout) and
              s.shows('█ anon .*▒ file'), s.text())


def frozen_terminal(folder, job):
    """Nothing reads the output of the terminal: ticks continue, and q still ends the view."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack('HHHH', 60, 200, 0, 0))
    try:
        def own_terminal():
            os.setsid()
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        w = Watcher(MEMSCOPE, folder, '--cgroup', job.name)
        child = subprocess.Popen(w.argv, stdin=slave, stdout=slave, stderr=slave, preexec_fn=own_terminal,
                                 env={**os.environ, 'TERM': 'xterm-256color'})
        try:
            wait_for(lambda: w.get('/-/ready')[0] == 200, 10)
            for _ in range(60):  # each is a full picture of at least 10 KB; the terminal buffers 64 KB
                os.write(master, b'\x0c')
                time.sleep(0.02)
            time.sleep(0.3)
            before = w.value('memscope_last_tick_timestamp_seconds')
            check('a terminal that is not read: ticks go on',
                  wait_for(lambda: w.value('memscope_last_tick_timestamp_seconds') - before > 1, PATIENCE))
            os.write(master, b'q')
            check('... and q ends it', wait_for(lambda: child.poll() is not None, PATIENCE) and child.returncode == 0, child.returncode)
        finally:
            child.kill()
            child.wait()
    finally:
        os.close(master)
        os.close(slave)


def main():
    if not shutil.which('tmux'):
        raise GaveUp('this needs tmux')
    with tempfile.TemporaryDirectory() as folder, Cgroup(f'{ME}-job', 256 * MIB) as job, process(LAUNCHER, cgroup=job):
        narrow(folder, job)
        between_ticks(folder, job)
        wide_with_two_targets(folder, job)
        a_death_stands_first(folder)
        other_ends(folder, job)
        plain_lines_instead(folder, job)
        frozen_terminal(folder, job)


if __name__ == '__main__':
    run_as_root(check, main, MEMSCOPE, 150)
