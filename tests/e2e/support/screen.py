"""A terminal (tmux) in which memscope shows its live view or a replay, and a job to be shown."""
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

from harness import GaveUp, tail, wait_for

SOURCE = pathlib.Path(__file__).resolve().parents[3]
MEMSCOPE = os.environ.get('MEMSCOPE', str(SOURCE / 'build' / 'memscope'))
MIB = 1 << 20
# A launcher, a trainer that grows, two workers forked from it, the second of which has a hostile name.
TRAINER = r'''
import ctypes, os, time
for i in range(2):
    if os.fork() == 0:
        held = b"w" * ((20 - 4 * i) << 20)
        if i: ctypes.CDLL(None).prctl(15, b"\x1b[2J\n\xe7\x95\x8c\xff")
        time.sleep(1000)
held = [b"m" * (60 << 20)]
while True:
    held.append(b"g" * (1 << 18)); time.sleep(0.1)
    if len(held) > 400: time.sleep(1000)
'''
LAUNCHER = ['sh', '-c', f'{shlex.quote(sys.executable)} -c {shlex.quote(TRAINER)} train.py; exit']
# Prints the modes of the terminal before and after the program, and the exit status of the program.
SESSION = 'ulimit -c 0; stty -g >before; {environment} {program}; echo $? >rc; stty -g >after; echo "BACK IN THE SHELL"; sleep 1000'
PATIENCE = 15  # seconds. A busy machine may need long; only a check that fails waits for the whole time.


class Screen:
    """A terminal of its own with memscope in it."""

    def __init__(self, folder, width, height, *options, environment='LC_ALL=C'):
        self.folder = pathlib.Path(tempfile.mkdtemp(dir=folder))
        self.name = f'ms-view-{os.getpid()}-{self.folder.name}'
        usual = [] if '--interval' in options or options[0] == 'replay' else ['--interval', '100ms', '--listen', 'none']
        program = shlex.join([MEMSCOPE, *options, *usual])
        command = SESSION.format(program=program, environment=environment and f'env {environment}')
        self.start = ['-f', '/dev/null', 'new-session', '-d', '-x', str(width), '-y', str(height), '-c', str(self.folder), command]

    def tmux(self, *arguments):
        return subprocess.run(['tmux', '-u', '-L', self.name, *arguments], capture_output=True, timeout=10, text=True)

    def __enter__(self):
        started = self.tmux(*self.start)
        if started.returncode != 0:
            raise GaveUp(f'tmux: {started.stderr}')
        return self

    def __exit__(self, *_):
        self.tmux('kill-server')

    def text(self):
        return self.tmux('capture-pane', '-p').stdout

    def shows(self, pattern, seconds=PATIENCE):
        return wait_for(lambda: re.search(pattern, self.text(), re.M), seconds, 0.05)

    def hides(self, pattern, seconds=PATIENCE):
        return wait_for(lambda: not re.search(pattern, self.text(), re.M), seconds, 0.05)

    def keys(self, *names):
        self.tmux('send-keys', *names)

    def resize(self, width, height):
        self.tmux('resize-window', '-x', str(width), '-y', str(height))

    def child(self):
        shell = self.tmux('display', '-p', '#{pane_pid}').stdout.strip()
        return int(pathlib.Path(f'/proc/{shell}/task/{shell}/children').read_text().split()[0])

    def ended(self):
        """The exit status that the shell reports."""
        wait_for((self.folder / 'after').exists, PATIENCE, 0.05)
        return tail(self.folder / 'rc')

    def restored(self):
        """None if the terminal is as it was before, else what differs."""
        self.shows('BACK IN THE SHELL')
        flags = self.tmux('display', '-p', '#{alternate_on} #{cursor_flag}').stdout.split()
        modes = [tail(self.folder / when) for when in ('before', 'after')]
        return None if flags == ['0', '1'] and modes[0] == modes[1] != '' else (flags, modes)
