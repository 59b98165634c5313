#!/usr/bin/env python3
"""All counts are right while a process tree forks, execs, threads, moves between cgroups and dies as fast as it can.

storm_tree counts its own starts. The watched cgroups are the one around the storm and the two in it between which it moves.
During the second storm the watcher is stopped for some time. It must report exactly the events that it missed.
Needs root and a C++ compiler. STORM_SECONDS says how long (default 30: 20 s and 10 s), MEMSCOPE names the binary
(default: build/memscope below the source tree).
"""
import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../support'))
from harness import Cgroup, Checks, GaveUp, Watcher, exit_on_signals, process, wait_for  # noqa: E402

SOURCE = pathlib.Path(__file__).resolve().parents[3]
MEMSCOPE = os.environ.get('MEMSCOPE', str(SOURCE / 'build' / 'memscope'))
SECONDS = max(3, int(os.environ.get('STORM_SECONDS', 30)))
ME = f'ms-storm-{os.getpid()}'
INTERVAL = 0.2
LIMIT = 1 << 30

check = Checks()


class Target:
    """The values of one scrape for one target, summed over roles."""

    def __init__(self, metrics, name):
        def total(metric):
            return int(sum(v for k, v in metrics.items() if k.startswith(f'{metric}{{target="{name}"')))
        self.starts = total('memscope_process_starts_total')
        self.exits = total('memscope_process_exits_total')
        self.processes = total('memscope_processes')

    def balanced(self):
        return self.starts - self.exits == self.processes

    def __repr__(self):
        return f'{self.starts} starts - {self.exits} exits, {self.processes} processes'


def dropped(metrics):
    return {k.split('"')[1]: int(v) for k, v in metrics.items() if k.startswith('memscope_events_dropped_total') and v}


def anonymous(pid):
    with open(f'/proc/{pid}/smaps_rollup') as f:
        return next(int(line.split()[1]) << 10 for line in f if line.startswith('Anonymous:'))


@contextlib.contextmanager
def cgroups():
    """(outer, a, b, outside): a and b lie in outer."""
    with Cgroup(ME, LIMIT) as outer:
        if outer.version == 2:
            Cgroup._write(f'{outer.path}/cgroup.subtree_control', '+memory')
        with Cgroup(f'{ME}/a', LIMIT) as a, Cgroup(f'{ME}/b', LIMIT) as b, Cgroup(f'{ME}-outside', LIMIT) as outside:
            yield outer, a, b, outside


def scrape_until_over(watcher, storm, names, stop_after, stop_for):
    """All scrapes of the storm, until it has printed its counts; meanwhile the watcher is stopped once, if asked."""
    scrapes, began = [], time.monotonic()
    os.set_blocking(storm.stdout.fileno(), False)
    while True:
        line = storm.stdout.readline()
        if line or storm.poll() is not None:
            return scrapes, json.loads(line or b'null')
        if stop_for and time.monotonic() - began > stop_after:
            watcher.child.send_signal(signal.SIGSTOP)
            time.sleep(stop_for)
            watcher.child.send_signal(signal.SIGCONT)
            stop_for = 0
        metrics = watcher.metrics()
        scrapes.append({name: Target(metrics, name) for name in names})
        time.sleep(INTERVAL / 4)


def one_storm(folder, program, seconds, stopped):
    title = 'a stopped watcher' if stopped else 'a storm'
    with cgroups() as (outer, a, b, outside):
        watched = outer, a, b
        options = [word for g in watched for word in ('--cgroup', g.name)]
        with Watcher(MEMSCOPE, folder, *options, '--interval', f'{INTERVAL * 1000:.0f}ms') as w, \
                process([program, str(seconds), outside.path, a.path, b.path], cgroup=a, stdout=subprocess.PIPE) as storm:
            scrapes, counted = scrape_until_over(w, storm, [g.name for g in watched], 1, seconds - 2 if stopped else 0)
            if not counted:
                raise GaveUp(f'the storm ended early: {storm.returncode}')
            print(f'      {seconds} s: {counted}, {len(scrapes)} scrapes', flush=True)
            unbalanced = [s for s in scrapes if not all(t.balanced() for t in s.values())]
            check(f'{title}: processes = starts - exits in every scrape', scrapes and not unbalanced, unbalanced[:3])

            for _ in range(3):  # a tick that began during the storm may take seconds, and has old values
                tick = w.metrics()['memscope_last_tick_timestamp_seconds']
                wait_for(lambda: w.metrics()['memscope_last_tick_timestamp_seconds'] > tick, 20)
            metrics = w.metrics()
            lost = dropped(metrics)
            for g, expected in zip(watched, (counted['outer'], counted['a'], counted['b'])):
                seen = Target(metrics, g.name)
                short = g.name[len(ME):] or '(outer)'
                if not lost:
                    check(f'{title}: every start in {short} is counted', seen.starts == expected, f'{seen}, {expected} counted')
                else:  # only processes whose events were dropped are missing
                    check(f'{title}: what is missing in {short} is reported', expected - sum(lost.values()) <= seen.starts <= expected,
                          f'{seen}, {expected} counted, {lost}')
                check(f'{title}: the counts of {short} are consistent at the end', seen.balanced(), seen)
            print(f'      dropped: {lost or "nothing"}', flush=True)

            for g, pids in (outer, a.pids() + b.pids()), (a, a.pids()), (b, b.pids()):
                asked = subprocess.run([MEMSCOPE, 'status', '--json', '--target', g.name], capture_output=True, timeout=10)
                living = {p['pid']: p['rss_anon_bytes'] for p in json.loads(asked.stdout)['processes']}
                short = g.name[len(ME):] or '(outer)'
                check(f'{title}: the processes of {short} are those of cgroup.procs', sorted(living) == sorted(pids), (living, pids))
                wrong = {pid: (rss, anonymous(pid)) for pid, rss in living.items() if rss != anonymous(pid)}
                check(f'{title}: RssAnon of each is what smaps_rollup has', living and not wrong, wrong)


def targets_that_go(folder):
    """A watched cgroup inside another watched cgroup is removed together with its last process."""
    with Cgroup(ME, LIMIT) as outer, Watcher(MEMSCOPE, folder, '--cgroup', outer.name, '--cgroup', f'{outer.name}/*') as w:
        if outer.version == 2:
            Cgroup._write(f'{outer.path}/cgroup.subtree_control', '+memory')
        for i in range(3):
            with Cgroup(f'{ME}/job{i}', LIMIT) as job:
                wait_for(lambda: w.says(f'{job.name}: watching'), 5)
                with process(['sleep', '1000'], cgroup=job) as one:
                    wait_for(lambda: Target(w.metrics(), job.name).processes == 1, 5)
                    one.kill()
                    one.wait()
                    os.rmdir(job.path)
            w.says(f'{job.name}: ended')
        seen = Target(w.metrics(), outer.name)
        check('targets that go with their processes leave the books around them balanced', seen.balanced() and seen.starts == 3, seen)


def main():
    exit_on_signals()
    if os.geteuid() != 0:
        raise GaveUp('needs root')
    with tempfile.TemporaryDirectory() as folder:
        program = f'{folder}/storm_tree'
        os.chmod(folder, 0o755)
        subprocess.run(['c++', '-std=c++20', '-O2', '-pthread', '-o', program, str(SOURCE / 'tests/e2e/stress/storm_tree.cpp')], check=True)
        targets_that_go(folder)
        one_storm(folder, program, SECONDS - SECONDS // 3, stopped=False)
        one_storm(folder, program, max(3, SECONDS // 3), stopped=True)


if __name__ == '__main__':
    try:
        main()
    except GaveUp as e:
        check(str(e), False)
    sys.exit(check.finish())
