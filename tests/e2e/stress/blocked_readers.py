#!/usr/bin/env python3
"""A watched process can block its readers for ever: with a userfaultfd behind the memory that is read, or by holding its
own mmap_lock. The watcher continues: ticks, deaths of other targets and health work, and SIGTERM ends it.

Needs root and a compiler; takes 30 s. MEMSCOPE names the binary.
"""
import contextlib
import os
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../support'))
from growing import MEMSCOPE, MIB, SOURCE  # noqa: E402
from harness import Cgroup, Checks, Watcher, process, run_as_root, wait_for  # noqa: E402

check = Checks()


def last_tick(watcher):
    return watcher.value('memscope_last_tick_timestamp_seconds')


def blocked_reads(watcher):
    return watcher.metrics().get('memscope_events_dropped_total{reason="read_blocked"}', 0)


def deaths(watcher, target):
    return sum(value for key, value in watcher.metrics().items()
               if key.startswith('memscope_deaths_total') and f'target="{target}"' in key)


def ticks_go_on(watcher, times=5):
    """Each call waits for a tick that is later than the tick of the call before."""
    for _ in range(times):
        before = last_tick(watcher)
        if not wait_for(lambda: last_tick(watcher) > before, 10, 0.05):
            return False
    return True


def kill_all(group):
    for pid in group.pids():
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def status_of(child):
    with contextlib.suppress(subprocess.TimeoutExpired):
        return child.wait(10)
    return None


def watch_one(how, program, folder, job, other, began_before):
    words = [program, how] + ([f'{folder}/mount'] if how == 'mmap_lock' else [])
    with contextlib.ExitStack() as stack:
        def block():
            child = stack.enter_context(process(words, cgroup=job, stdout=subprocess.PIPE, text=True))
            stack.callback(kill_all, job)  # also kills the FUSE server of the process, because the process waits for its server
            said = child.stdout.readline()
            if said.startswith('cannot'):
                print(f'      {how}: left out, this machine {said.strip()}', flush=True)
                return None
            check(f'{how}: it blocks', said == 'blocks\n', said)
            return child
        if began_before and not block():
            return
        watcher = stack.enter_context(
            Watcher(MEMSCOPE, folder, '--cgroup', job.name, '--cgroup', other.name))
        if not began_before and not block():
            return
        when = 'there before' if began_before else 'comes later'
        # The reader must block, otherwise this test would prove nothing.
        check(f'{how}, {when}: a helper was blocked', wait_for(lambda: blocked_reads(watcher) > 0, 30),
              blocked_reads(watcher))
        check(f'{how}, {when}: ticks go on', ticks_go_on(watcher))
        status, body = watcher.get('/-/healthy')
        check(f'{how}, {when}: it is healthy', status == 200, (status, body))
        with process([sys.executable, '-c', 'import time; time.sleep(600)'], cgroup=other) as victim:
            check(f'{how}, {when}: a process of another target is seen',
                  wait_for(lambda: watcher.metrics().get(
                      f'memscope_target_up{{target="{other.name}"}}') == 1 and any(
                          key.startswith('memscope_processes{') and other.name in key and value == 1
                          for key, value in watcher.metrics().items()), 10))
            os.kill(victim.pid, signal.SIGKILL)
            victim.wait()
            check(f'{how}, {when}: its death has a line', wait_for(lambda: deaths(watcher, other.name) > 0, 10))
        watcher.child.send_signal(signal.SIGTERM)
        check(f'{how}, {when}: SIGTERM ends it', status_of(watcher.child) == 0)
        said = watcher.child.stderr.read().decode()
        check(f'{how}, {when}: the blocking process is named', 'blocks its reader' in said, said)


def watch_by_pid(how, program, folder, job):
    """The name of a target of --pid comes from its command line, which is memory of the process."""
    words = [program, how] + ([f'{folder}/mount'] if how == 'mmap_lock' else [])
    with contextlib.ExitStack() as stack:
        child = stack.enter_context(process(words, cgroup=job, stdout=subprocess.PIPE, text=True))
        stack.callback(kill_all, job)
        said = child.stdout.readline()
        if said.startswith('cannot'):
            return  # watch_one() has printed that this machine does not allow it
        check(f'{how}, --pid: it blocks', said == 'blocks\n', said)
        watcher = stack.enter_context(Watcher(MEMSCOPE, folder, '--pid', str(child.pid)))
        check(f'{how}, --pid: ticks go on', ticks_go_on(watcher))
        watcher.child.send_signal(signal.SIGTERM)
        check(f'{how}, --pid: SIGTERM ends it', status_of(watcher.child) == 0)


def main():
    with tempfile.TemporaryDirectory() as folder, \
            Cgroup(f'ms-blocks-{os.getpid()}', 512 * MIB) as job, Cgroup(f'ms-other-{os.getpid()}', 512 * MIB) as other:
        os.mkdir(f'{folder}/mount')
        program = f'{folder}/python3-blocks'  # because of this name the watcher examines the process as CPython
        subprocess.run(['c++', '-std=c++20', '-O1', '-rdynamic', '-pthread', '-o', program,
                        str(SOURCE / 'tests/e2e/jobs/blocking_process.cpp')], check=True)
        for how in ('userfaultfd', 'mmap_lock'):
            for began_before in (True, False):
                watch_one(how, program, folder, job, other, began_before)
            watch_by_pid(how, program, folder, job)


if __name__ == '__main__':
    run_as_root(check, main, MEMSCOPE, 170)
