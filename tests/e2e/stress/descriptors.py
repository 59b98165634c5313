#!/usr/bin/env python3
"""A watcher with more matching cgroups than file descriptors, and the limit of open files that a command gets.

Needs root; takes 15 s. MEMSCOPE names the binary (default: build/memscope below the source tree).
"""
import contextlib
import os
import pathlib
import resource
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../support'))
from harness import Cgroup, Checks, Watcher, run_as_root, wait_for  # noqa: E402

SOURCE = pathlib.Path(__file__).resolve().parents[3]
MEMSCOPE = os.environ.get('MEMSCOPE', str(SOURCE / 'build' / 'memscope'))
ME = f'ms-files-{os.getpid()}'
CGROUPS, LIMIT, ENOUGH = 400, 350, 4096
SHORT, AGAIN = 'are not watched, because memscope has no file descriptor left', 'enough file descriptors again'

check = Checks()


def limited(soft, hard):
    """Wraps a command so that it starts with these limits of open files."""
    return [sys.executable, '-c', f'import os, resource, sys; resource.setrlimit(resource.RLIMIT_NOFILE, ({soft}, {hard})); '
            'os.execv(sys.argv[1], sys.argv[1:])']


def targets(watcher):
    return sum(name.startswith('memscope_target_up') for name in watcher.metrics())


def at_next_tick(watcher):
    """Waits until a tick is shown that began after now."""
    first = watcher.value('memscope_last_tick_timestamp_seconds')
    second = wait_for(lambda: (t := watcher.value('memscope_last_tick_timestamp_seconds')) > first and t, 10)
    wait_for(lambda: watcher.value('memscope_last_tick_timestamp_seconds') > second, 10)


def refused_targets_are_counted_and_said(folder):
    with Cgroup(ME, 1 << 30) as parent:
        made = [f'{parent.path}/job-{i:04d}' for i in range(CGROUPS)]
        try:
            os.mkdir(made[0])
            binary, *options = limited(64, ENOUGH)
            with Watcher(binary, folder, *options, MEMSCOPE, '--cgroup', f'{parent.name}/*', '--interval', '500ms') as watcher:
                wait_for(lambda: targets(watcher) == 1, 10)
                check('the soft limit is raised to the hard one', watcher.value('process_max_fds') == ENOUGH, watcher.value('process_max_fds'))
                # Root without CAP_SYS_RESOURCE may lower the soft limit and raise it again, but cannot raise a hard limit.
                resource.prlimit(watcher.child.pid, resource.RLIMIT_NOFILE, (LIMIT, ENOUGH))
                for path in made[1:]:
                    os.mkdir(path)
                check('those that are not watched are a line', watcher.says(SHORT, 20))
                at_next_tick(watcher)
                seen = targets(watcher)
                check('some are watched, with one descriptor each', CGROUPS / 4 < seen < CGROUPS, seen)
                check('the others are a metric', watcher.value('memscope_unwatched_targets') == CGROUPS - seen,
                      watcher.value('memscope_unwatched_targets'))
                check('targets without a descriptor are counted as lost', watcher.value('memscope_events_dropped_total{reason="target_no_descriptor"}') >= CGROUPS - seen,
                      watcher.value('memscope_events_dropped_total{reason="target_no_descriptor"}'))
                at_next_tick(watcher)
                check('the line is printed once', sum(SHORT in line for line in watcher.lines()) == 1)
                now = targets(watcher)  # a descriptor that was needed for a moment can be free by now
                check('no watched target is gone', now >= seen, (seen, now))
                resource.prlimit(watcher.child.pid, resource.RLIMIT_NOFILE, (ENOUGH, ENOUGH))
                check('with a higher limit all are watched', wait_for(lambda: targets(watcher) == CGROUPS, 20), targets(watcher))
                check('which has a line', watcher.says(AGAIN))
                check('memscope_unwatched_targets is 0 afterwards', watcher.value('memscope_unwatched_targets') == 0)
        finally:
            for path in made:
                if os.path.isdir(path):
                    os.rmdir(path)


def first_free(pid):
    """The lowest number that is not a descriptor of the process. With this limit the process cannot open another file."""
    used = {int(name) for name in os.listdir(f'/proc/{pid}/fd')}
    return next(number for number in range(len(used) + 1) if number not in used)


class Errors:
    """Collects the lines that a watcher writes to standard error."""

    def __init__(self, watcher):
        self.pipe, self.text = watcher.child.stderr.fileno(), ''
        os.set_blocking(self.pipe, False)

    def has(self, words):
        with contextlib.suppress(BlockingIOError):
            self.text += os.read(self.pipe, 65536).decode()
        return words in self.text


def a_watcher_without_any_descriptor_goes_on(folder):
    with Cgroup(ME, 1 << 30) as group:
        with Watcher(MEMSCOPE, folder, '--cgroup', group.name) as watcher:
            wait_for(lambda: targets(watcher) == 1, 10)
            errors, pid = Errors(watcher), watcher.child.pid
            before = resource.prlimit(pid, resource.RLIMIT_NOFILE)

            def lacks_descriptors():  # the limit is set again each time, because a closed descriptor leaves room for another one
                resource.prlimit(pid, resource.RLIMIT_NOFILE, (first_free(pid), before[1]))
                return errors.has('ticks are skipped')
            check('ticks that are left out are an error', wait_for(lacks_descriptors, 20), errors.text)
            check('the watcher goes on', watcher.child.poll() is None, watcher.child.poll())
            resource.prlimit(pid, resource.RLIMIT_NOFILE, before)
            check('when descriptors are free again, that is said', wait_for(lambda: errors.has('ticks continue'), 20), errors.text)
            check('the error is said once', errors.text.count('ticks are skipped') == 1, errors.text)
            lost = 'memscope_events_dropped_total{reason="tick_no_descriptor"}'
            check('the ticks are counted', wait_for(lambda: watcher.value(lost) > 0, 10))
            check('the target is watched as before', wait_for(lambda: targets(watcher) == 1, 10), targets(watcher))


def a_command_gets_the_limit_of_its_caller():
    ran = subprocess.run([*limited(777, 4000), MEMSCOPE, '--quiet', '--', '/bin/sh', '-c', 'ulimit -Sn; ulimit -Hn'],
                         capture_output=True, text=True, timeout=30)
    check('a command has the limits that memscope was started with', ran.stdout.split() == ['777', '4000'], ran.stdout + ran.stderr)


def main():
    with tempfile.TemporaryDirectory() as folder:
        refused_targets_are_counted_and_said(folder)
        a_watcher_without_any_descriptor_goes_on(folder)
    a_command_gets_the_limit_of_its_caller()


if __name__ == '__main__':
    run_as_root(check, main, MEMSCOPE, 120)
