"""Code that the jobs of owner_lines.py share: the dialogue with the test, and the exact size of the memory that a job keeps.

A job prints one line of JSON when it is ready, waits for the line "go", works until it has kept what it wants to keep,
or until it gets another line, prints the truth as one line of JSON and waits. Another line, or the end of standard input,
ends it.

The line that allocates most of what the job keeps has the mark "KEEPS", another line that allocates some of it "ALSO
KEEPS". Where a function allocates it for its caller, the line in the function has the mark "MAKES", the line of the
caller "KEEPS".
"""
import json
import os
import re
import select
import sys
import time

SECONDS = 40  # the longest time for which a job works
MIB = 1 << 20


def anonymous():
    """Anonymous memory of this process, swapped memory included, in bytes."""
    with open('/proc/self/smaps_rollup') as rollup:  # exact; the counters in status lack the per-CPU parts
        return sum(int(line.split()[1]) << 10 for line in rollup if line.startswith(('Anonymous:', 'Swap:')))


def marked_lines(script):
    with open(script) as source:
        return {m.group(1): number for number, line in enumerate(source, 1) for m in [re.search(r'# (KEEPS|ALSO KEEPS|MAKES)$', line)] if m}


class Stage:
    def __init__(self, script, maker=None):
        """`maker`: the file that allocates the memory that the job keeps, if it is not the file of the job."""
        marks = marked_lines(script)
        self.truth = {'script': os.path.realpath(script), 'line': marks.get('KEEPS'), 'also_line': marks.get('ALSO KEEPS'),
                      'caller': None, 'pid': os.getpid()}
        if maker:
            self.truth.update(script=os.path.realpath(maker), line=marked_lines(maker)['MAKES'],
                              caller=[os.path.basename(script), marks['KEEPS']])
        self.until = self.next_step = None
        self.at_fork = 0
        # A forked process begins with the pages of its parent: only memory beyond that is its own growth.
        self.forks, self.forked = os.pipe()
        os.set_blocking(self.forks, False)
        os.register_at_fork(before=self._before_fork, after_in_child=self._in_child)

    def _before_fork(self):
        self.at_fork = anonymous()

    def _in_child(self):
        os.write(self.forked, f'{os.getpid()} {self.at_fork}\n'.encode())  # short writes to a pipe are not mixed

    def ready(self):
        self._say({'ready': os.getpid()})
        if sys.stdin.readline().strip() != 'go':
            sys.exit(0)
        self.began = time.monotonic()
        self.until = self.began + SECONDS

    def goes_on(self):
        """False when the time is over or the test ends the job."""
        if select.select([sys.stdin], [], [], 0)[0]:
            sys.stdin.readline()
            return False
        return time.monotonic() < self.until

    def pace(self, seconds):
        """Waits until the step has taken that long, as a trainer waits for its GPU."""
        now = time.monotonic()
        if self.next_step:
            time.sleep(max(0.0, self.next_step - now))
        self.next_step = max(now, self.next_step or now) + seconds

    def note(self, **facts):
        """Prints a line while the job works."""
        self._say(facts)

    def grown(self, kept_bytes, **more):
        """Prints the exact figures and waits for the end."""
        self.truth.update(bytes=kept_bytes, seconds=round(time.monotonic() - self.began, 2), **more)
        self.truth['forked'] = dict(line.split() for line in self._read_forks().splitlines())
        self._say(self.truth)
        sys.stdin.readline()
        sys.stdout.flush()
        os._exit(0)  # the processes of a DataLoader end with their parent

    def _read_forks(self):
        try:
            return os.read(self.forks, 65536).decode()
        except BlockingIOError:
            return ''

    @staticmethod
    def _say(what):
        print(json.dumps(what), flush=True)
