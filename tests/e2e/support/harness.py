"""Tools for end-to-end scripts: named checks, bounded waits, and processes and cgroups that are removed at the end."""
import contextlib
import math
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

os.environ.setdefault('MEMSCOPE_RECORD', 'none')  # only record.py is about recordings
SAMPLE = re.compile(r'([a-z_]+)(?:\{((?:[a-z_]+="(?:[^"\\\n]|\\["\\n])*",?)*)\})? (\S+)')  # of the Prometheus text format


class Checks:
    """Prints one line per check; `finish` prints the totals and gives the exit status."""

    def __init__(self):
        self.passed = self.failed = 0

    def __call__(self, name, ok, detail=''):
        ok = bool(ok)
        self.passed += ok
        self.failed += not ok
        print(f'{"ok  " if ok else "FAIL"}  {name}' + (f'   [{detail}]' if detail and not ok else ''), flush=True)
        return ok

    def finish(self):
        print(f'{self.passed} passed, {self.failed} failed', flush=True)
        return 1 if self.failed else 0


class GaveUp(Exception):
    """Ends the script, because the rest depends on the check that failed."""


ENDINGS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGALRM)


def exit_on_signals():
    """Turns the first signal that ends the script into an exception, so that every `finally` runs."""
    def leave(number, _frame):
        for s in ENDINGS:
            signal.signal(s, signal.SIG_IGN)
        print(f'FAIL  ended by {signal.Signals(number).name}', flush=True)
        sys.exit(128 + number)
    for s in ENDINGS:
        signal.signal(s, leave)


def run_as_root(check, main, memscope, seconds):
    """Runs main() of a script that needs root and the program, with a timeout; exits the script."""
    try:
        exit_on_signals()
        signal.alarm(seconds)
        if os.geteuid() != 0:
            raise GaveUp('this needs root')
        if not os.access(memscope, os.X_OK):
            raise GaveUp(f'no memscope at {memscope}: build it, or name it in MEMSCOPE')
        main()
    except GaveUp as e:
        check(str(e), False)
    sys.exit(check.finish())


def wait_for(probe, seconds, pause=0.1):
    """The first true result of probe(), or its last result after the timeout. OSError means not yet."""
    until, answer = time.monotonic() + seconds, None
    while True:
        with contextlib.suppress(OSError):
            answer = probe()
        if answer or time.monotonic() >= until:
            return answer
        time.sleep(pause)


def free_port():
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        return s.getsockname()[1]


@contextlib.contextmanager
def process(argv, cgroup=None, **popen):
    """A child that is ended with the block: first with SIGTERM, then with SIGKILL."""
    def prepare():
        for s in ENDINGS:  # a shell starts background jobs with SIGINT ignored, and that would be inherited
            signal.signal(s, signal.SIG_DFL)
        if cgroup:
            cgroup.add(os.getpid())
    child = subprocess.Popen(argv, preexec_fn=prepare, **popen)
    try:
        yield child
    finally:
        if child.poll() is None:
            child.terminate()
            try:
                child.wait(3)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait(3)
        for pipe in (child.stdin, child.stdout, child.stderr):
            if pipe:
                pipe.close()


def tail(path, characters=400):
    with contextlib.suppress(OSError), open(path, errors='replace') as f:
        return f.read()[-characters:].strip()
    return ''


def memory_hierarchy():
    """(mount point, version) of the hierarchy that has the memory controller."""
    v2 = None
    with open('/proc/mounts') as mounts:
        for line in mounts:
            _, where, kind, options, *_ = line.split()
            if kind == 'cgroup' and 'memory' in options.split(','):
                return where, 1
            if kind == 'cgroup2':
                v2 = v2 or where
    if v2:
        with open(f'{v2}/cgroup.controllers') as f:
            if 'memory' in f.read().split():
                return v2, 2
    raise GaveUp('no cgroup hierarchy with a memory controller is mounted')


class Cgroup:
    """A cgroup below the root of the memory hierarchy, limited, without swap by default. Removed with all that is in it."""

    def __init__(self, name, limit, swaps=False):
        self.name, self.limit, self.swaps = name, limit, swaps
        root, self.version = memory_hierarchy()
        self.path = f'{root}/{name}'
        self.root = root

    def __enter__(self):
        if self.version == 2:
            with contextlib.suppress(OSError):  # already on, or refused: then setting the limit below fails
                self._write(f'{self.root}/cgroup.subtree_control', '+memory')
        os.mkdir(self.path)
        try:
            if self.version == 2:
                self._write(f'{self.path}/memory.max', self.limit)
                swap = 'memory.swap.max', 0
            else:
                self._write(f'{self.path}/memory.limit_in_bytes', self.limit)
                swap = 'memory.memsw.limit_in_bytes', self.limit
            if not self.swaps:
                with contextlib.suppress(OSError):  # no swap accounting: no such file
                    self._write(f'{self.path}/{swap[0]}', swap[1])
        except BaseException:
            self._remove()
            raise
        return self

    def __exit__(self, *_):
        self._remove()

    @staticmethod
    def _write(path, value):
        # No O_CREAT: where the controller is missing, a plain open() would make a file on the tmpfs underneath.
        fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
        try:
            os.write(fd, str(value).encode())
        finally:
            os.close(fd)

    def add(self, pid):
        self._write(f'{self.path}/cgroup.procs', pid)

    def pids(self):
        with open(f'{self.path}/cgroup.procs') as f:
            return [int(line) for line in f]

    def oom_kills(self):
        with open(f'{self.path}/' + ('memory.events' if self.version == 2 else 'memory.oom_control')) as f:
            return next((int(v) for k, v in map(str.split, f) if k == 'oom_kill'), None)

    def has_pressure(self):
        """PSI of this very cgroup: the file can be there and still refuse to be read (PSI compiled in but off)."""
        with contextlib.suppress(OSError), open(f'{self.path}/memory.pressure') as f:
            return bool(f.read())
        return False

    def _remove(self):
        def gone():
            for pid in self.pids() if os.path.isdir(self.path) else []:
                if pid > 0:  # 0: a process of another PID namespace, and kill(0) would end this script
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
            with contextlib.suppress(FileNotFoundError):
                os.rmdir(self.path)
            return True
        wait_for(gone, 5, 0.05)


def finite(samples):
    """Samples of an instant query whose value a panel could draw."""
    return [s for s in samples if math.isfinite(float(s['value'][1]))]


class Watcher:
    """A memscope that watches, with its own port; standard output goes to a file by default."""

    def __init__(self, binary, folder, *options, stdout=None, defaults=True, port=None, env=None):
        self.port, self.out = port or free_port(), f'{folder}/out-{time.monotonic_ns()}'
        given = ['--listen', f'127.0.0.1:{self.port}', *([] if '--interval' in options else ['--interval', '100ms']),
                 *([] if '--report-dir' in options else ['--report-dir', 'none'])]
        self.argv = [binary, *options, *(given if defaults else [])]
        self.stdout, self.env = stdout, env

    def __enter__(self):
        with open(self.out, 'wb') as out:
            self.running = process(self.argv, stdout=self.stdout or out, stderr=subprocess.PIPE, env=self.env)
            self.child = self.running.__enter__()
        try:
            if not wait_for(lambda: self.get('/-/ready')[0] == 200 and os.path.exists(self.socket()), 15, 0.02):
                raise GaveUp(f'no watcher: {self.argv}')
        except BaseException:
            self.running.__exit__(*sys.exc_info())
            raise
        return self

    def __exit__(self, *how):
        self.running.__exit__(*how)

    def socket(self):
        return f'/run/memscope/{self.child.pid}.sock'

    def get(self, path, method='GET', headers={}):
        request = urllib.request.Request(f'http://127.0.0.1:{self.port}{path}', method=method, headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=5) as reply:
                return reply.status, reply.read()
        except urllib.error.HTTPError as e:
            return e.code, e.read()

    def metrics(self):
        """{'name{labels}': value}; a line that is no sample gives up."""
        samples = {}
        for line in self.get('/metrics')[1].decode().split('\n')[:-1]:
            if not line.startswith('#'):
                if not SAMPLE.fullmatch(line):
                    raise GaveUp(f'not a sample: {line!r}')
                name, value = line.rsplit(' ', 1)
                samples[name] = float(value)
        return samples

    def value(self, start):
        return sum(v for k, v in self.metrics().items() if k.startswith(start))

    def lines(self):
        return pathlib.Path(self.out).read_text().splitlines()

    def says(self, words, seconds=5):
        return wait_for(lambda: any(words in line for line in self.lines()), seconds, 0.02)

    def ends(self, seconds=3):
        """The exit status, None if it still runs. Checks that standard error is empty and no socket is left."""
        try:
            code = self.child.wait(seconds)
        except subprocess.TimeoutExpired:
            return None
        err = self.child.stderr.read()
        return code if not err and not os.path.exists(self.socket()) else (code, err, 'socket left')
