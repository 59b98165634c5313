#!/usr/bin/env python3
"""Separate processes attach, hold and detach user probes. A process that holds its mmap_lock, or a failure of these separate
processes, must stop neither the watcher nor fork() on this machine.

The driver is the one of tests/fake_cuda (FAKE_CUDA names the file). Needs root and a compiler; takes a minute. MEMSCOPE
names the binary.
"""
import contextlib
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../support'))
from growing import MEMSCOPE, MIB, SOURCE  # noqa: E402
from harness import Cgroup, Checks, Watcher, process, run_as_root, wait_for  # noqa: E402

LIBRARY = os.environ['FAKE_CUDA']
CAP_BPF, CAP_PERFMON = 1 << 39, 1 << 38
SCRIPT = '''
import ctypes, sys
print('started', flush=True)
sys.stdin.readline()
cuda = ctypes.CDLL(sys.argv[1])
print('loaded', flush=True)
context = ctypes.c_void_p()
for line in sys.stdin:
    cuda.cuDeviceGetUuid_v2(ctypes.create_string_buffer(16), 1)
    cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 1)
    cuda.cuCtxSetCurrent(context)
    cuda.cuMemAlloc_v2(ctypes.byref(ctypes.c_uint64()), ctypes.c_size_t(10 << 20))
    print('taken', flush=True)
'''

check = Checks()


def stat_of(pid):
    """(parent, state, name). None: the process has ended."""
    with contextlib.suppress(OSError):
        name, _, rest = pathlib.Path(f'/proc/{pid}/stat').read_text().partition('(')[2].rpartition(')')
        state, parent, *_ = rest.split()
        return (int(parent), state, name) if state not in 'ZX' else None
    return None


def children(pid):
    found = {}
    for entry in os.listdir('/proc'):
        if entry.isdigit() and (stat := stat_of(entry)) and stat[0] == pid:
            found[int(entry)] = stat[2]
    return found


def helpers(watcher):
    """{pid: name} of the spawner and its children."""
    spawners = {pid: name for pid, name in children(watcher.child.pid).items() if name == 'memscope-spawn'}
    return {**spawners, **{pid: name for spawner in spawners for pid, name in children(spawner).items()}}


def named(watcher, name):
    return [pid for pid, its in helpers(watcher).items() if its == name]


def is_probe(pid, fd):
    """A link of many user probes at once, or the perf event of a single one."""
    with contextlib.suppress(OSError):
        info = pathlib.Path(f'/proc/{pid}/fdinfo/{fd}').read_text()
        single = os.readlink(f'/proc/{pid}/fd/{fd}') == 'anon_inode:[perf_event]'
        return single or bool(re.search(r'^link_type:\s*uprobe', info, re.M))
    return False


def probes_of(pid):
    """The number of descriptors of user probes that a process holds. 0 if it has ended."""
    with contextlib.suppress(FileNotFoundError):
        return sum(is_probe(pid, fd) for fd in os.listdir(f'/proc/{pid}/fd'))
    return 0


def holders(watcher):
    return [pid for pid in named(watcher, 'memscope-probes') if probes_of(pid) > 0]


def follows(watcher):
    return watcher.metrics().get('memscope_probe_attached{probe="gpu"}') == 1


def refused(watcher):
    return watcher.value('memscope_events_dropped_total{reason="cuda_library_refused"}')


def reserved(watcher):
    return watcher.value('memscope_gpu_reserved_bytes')


def ticks_go_on(watcher, times=5):
    """Each call waits for a tick that is later than the tick of the call before."""
    def last():
        return watcher.value('memscope_last_tick_timestamp_seconds')
    for _ in range(times):
        before = last()
        if not wait_for(lambda: last() > before, 10, 0.05):
            return False
    return True


def said(watcher):
    return watcher.child.stderr.read().decode()


def end(watcher):
    """The exit status after SIGTERM. None: the process still runs."""
    watcher.child.send_signal(signal.SIGTERM)
    with contextlib.suppress(subprocess.TimeoutExpired):
        return watcher.child.wait(10)
    return None


def all_gone(pids):
    return wait_for(lambda: not any(stat_of(pid) for pid in pids), 20)


class Job:
    """A process that loads the driver on a command, and allocates 10 MiB on each further command."""

    def __init__(self, stack, folder, group):
        script = f'{folder}/train.py'
        with open(script, 'w') as f:
            f.write(SCRIPT)
        self.child = stack.enter_context(process([sys.executable, script, LIBRARY], cgroup=group, text=True,
                                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE))
        self.child.stdout.readline()

    def go(self):
        self.child.stdin.write('\n')
        self.child.stdin.flush()
        return self.child.stdout.readline().strip()


class Blocker:
    """A process that maps the driver and holds its own mmap_lock: for 30 s at most, because fork() of the whole machine
    would wait for it if memscope attached probes meanwhile."""

    def __init__(self, program, folder, group):
        self.group = group
        self.child = subprocess.Popen([program, 'mmap_lock', f'{folder}/mount', LIBRARY], stdout=subprocess.PIPE,
                                      text=True, preexec_fn=lambda: group.add(os.getpid()))
        self.answer = self.child.stdout.readline().strip()
        self.blocks = self.answer == 'blocks' and wait_for(self.is_held, 10, 0.02)

    def is_held(self):
        """The process prints a line just before it takes the lock. A blocked read of its command line proves that it holds the lock."""
        reader = subprocess.Popen(['cat', f'/proc/{self.child.pid}/cmdline'], stdout=subprocess.DEVNULL)
        try:
            reader.wait(0.5)
            return False
        except subprocess.TimeoutExpired:
            return True
        finally:
            reader.kill()
            reader.wait()

    def forks_go_on(self):
        """A fork that has to wait for the lock would return only when the lock is released. Tries several times, because the
        kernel lets forks pass for a moment before it begins to detach."""
        for _ in range(20):
            child = os.fork()  # not subprocess, whose vfork() does not wait
            if child == 0:
                os._exit(0)
            os.waitpid(child, 0)
            time.sleep(0.05)
        return self.is_held()

    def end(self):
        for pid in self.group.pids():  # also kills the FUSE server of the process, because the process waits for its server
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.child.wait(20)
        self.child.stdout.close()


def who_owns_them(folder, group):
    with contextlib.ExitStack() as stack:
        job = Job(stack, folder, group)
        watcher = stack.enter_context(Watcher(MEMSCOPE, folder, '--cgroup', group.name))
        faults = probes_of(watcher.child.pid)  # perf events, too: those of page faults
        job.go()
        check('the driver is followed', wait_for(lambda: follows(watcher), 15))
        holding = holders(watcher)
        check('one process holds its probes', len(holding) == 1, helpers(watcher))
        others = [pid for pid in helpers(watcher) if pid not in holding]
        check('no other process of memscope has one',
              others and not any(map(probes_of, others)) and probes_of(watcher.child.pid) == faults,
              {pid: probes_of(pid) for pid in [watcher.child.pid, *others]})
        status = pathlib.Path(f'/proc/{holding[0]}/status').read_text()
        capabilities = int(re.search(r'^CapPrm:\s*(\w+)', status, re.M)[1], 16)
        check('the probe holder has two capabilities', capabilities == CAP_BPF | CAP_PERFMON, hex(capabilities))
        job.go()
        check('calls are seen', wait_for(lambda: reserved(watcher) == 10 * MIB, 10), reserved(watcher))

        os.kill(holding[0], signal.SIGKILL)
        check('killed, it is replaced', wait_for(lambda: follows(watcher) and holders(watcher) not in ([], holding), 15),
              helpers(watcher))
        job.go()
        check('calls are seen again', wait_for(lambda: reserved(watcher) == 20 * MIB, 10), reserved(watcher))
        os.kill(holders(watcher)[0], signal.SIGKILL)
        check('killed again, it is replaced again', wait_for(lambda: follows(watcher) and holders(watcher), 15))
        left = list(helpers(watcher))
        check('SIGTERM ends the watcher', end(watcher) == 0)
        check('no helper is left, and so no probe', all_gone(left), [stat_of(pid) for pid in left])
        words = said(watcher)
        check('the loss has one line', words.count('holds the probes of one of the copies of the CUDA driver') == 1, words)


def killed(folder, group):
    with contextlib.ExitStack() as stack:
        job = Job(stack, folder, group)
        watcher = stack.enter_context(Watcher(MEMSCOPE, folder, '--cgroup', group.name))
        job.go()
        check('kill -9: the driver is followed', wait_for(lambda: follows(watcher), 15))
        left = list(helpers(watcher))
        check('kill -9: there are helpers', len(left) >= 3, left)
        watcher.child.kill()
        watcher.child.wait(10)
        check('kill -9: no helper is left, and so no probe', all_gone(left), [stat_of(pid) for pid in left])


def nobody_answers(folder, group):
    with contextlib.ExitStack() as stack:
        job = Job(stack, folder, group)
        watcher = stack.enter_context(Watcher(MEMSCOPE, folder, '--cgroup', group.name))
        spawner = named(watcher, 'memscope-spawn')[0]
        os.kill(spawner, signal.SIGSTOP)
        job.go()
        check('no answer: that is counted', wait_for(lambda: refused(watcher) == 1, 20), refused(watcher))
        check('no answer: ticks go on', ticks_go_on(watcher))
        check('no answer: the driver is not followed', not follows(watcher))
        os.kill(spawner, signal.SIGCONT)
        check('a late answer is taken', wait_for(lambda: follows(watcher), 15))
        holder = holders(watcher)
        os.kill(holder[0], signal.SIGSTOP)
        check('a holder that hangs: ticks go on', ticks_go_on(watcher))
        check('a holder that hangs: SIGTERM ends the watcher', end(watcher) == 0)
        check('a holder that hangs holds its probes', probes_of(holder[0]) > 0)
        os.kill(holder[0], signal.SIGCONT)
        check('a probe holder that was stopped ends after SIGCONT', all_gone(holder), stat_of(holder[0]))
        words = said(watcher)
        check('no answer: there is one line about it', words.count('is not followed for now') == 1, words)


def locked(program, folder, group, other):
    with contextlib.ExitStack() as stack:
        def block():
            blocker = Blocker(program, folder, other)
            stack.callback(blocker.end)
            if not blocker.blocks:
                print(f'      mmap_lock: left out, this machine {blocker.answer}', flush=True)
            return blocker
        job = Job(stack, folder, group)
        watcher = stack.enter_context(Watcher(MEMSCOPE, folder, '--cgroup', group.name))
        blocker = block()
        if not blocker.blocks:
            return
        job.go()
        check('mmap_lock: not followed in time, which is counted', wait_for(lambda: refused(watcher) == 1, 20),
              refused(watcher))
        check('mmap_lock: ticks go on', ticks_go_on(watcher))
        check('mmap_lock: the driver is not followed', not follows(watcher))
        check('mmap_lock: forks go on', blocker.forks_go_on())
        blocker.end()
        check('mmap_lock: followed when it is free again', wait_for(lambda: follows(watcher), 15))

        holder = holders(watcher)
        blocker = block()
        check('mmap_lock at the end: SIGTERM ends the watcher', end(watcher) == 0)
        check('mmap_lock at the end: the holder waits', wait_for(lambda: stat_of(holder[0])[1] == 'D', 10),
              stat_of(holder[0]))
        check('mmap_lock at the end: forks go on', blocker.forks_go_on())
        check('mmap_lock at the end: so the probes are not detached yet', probes_of(holder[0]) > 0)
        blocker.end()
        check('mmap_lock at the end: then it ends', all_gone(holder), stat_of(holder[0]))
        words = said(watcher)
        check('mmap_lock: the process that holds it is named', re.search(r'process \d+ \([^)]+\) holds its mmap_lock', words), words)


def main():
    with tempfile.TemporaryDirectory() as folder, \
            Cgroup(f'ms-probes-{os.getpid()}', 512 * MIB) as group, Cgroup(f'ms-locks-{os.getpid()}', 512 * MIB) as other:
        os.mkdir(f'{folder}/mount')
        program = f'{folder}/blocks'
        subprocess.run(['c++', '-std=c++20', '-O1', '-rdynamic', '-pthread', '-o', program,
                        str(SOURCE / 'tests/e2e/jobs/blocking_process.cpp')], check=True)
        who_owns_them(folder, group)
        killed(folder, group)
        nobody_answers(folder, group)
        locked(program, folder, group, other)


if __name__ == '__main__':
    run_as_root(check, main, MEMSCOPE, 170)
