#!/usr/bin/env python3
"""Deaths as a user sees them: the line and the block, the report on disk, `memscope report`; and failures to write it.

Needs root. MEMSCOPE names the binary."""
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../support'))
from harness import Cgroup, Checks, Watcher, process, run_as_root, wait_for  # noqa: E402

SOURCE = pathlib.Path(__file__).resolve().parents[3]
MEMSCOPE = os.environ.get('MEMSCOPE', str(SOURCE / 'build' / 'memscope'))
MIB = 1 << 20
LEAK = '''
import time
keep = []
def step():
    keep.append(bytearray(b'x') * (1 << 20))
while True:  # 200 MiB in ten seconds: long enough for the verdict `leaking`
    step(); time.sleep(0.05)
'''
BURST = '''
import time
keep = [bytearray(b'x') * (8 << 20)]  # from this growth on, memscope reads where the interpreter has its frames
time.sleep(1)
def burst():
    keep.append(bytearray(b'x') * (1 << 20))
while True:  # into the limit at once
    burst()
'''
HOLD = '''
import sys, time
keep = bytearray(b'x') * (int(sys.argv[1]) << 20)
print('ready', flush=True); time.sleep(60)
'''
# Seconds between two deaths that must be two events: deaths that are at most 2 s apart are one event.
APART = 2.2
check = Checks()


def reports(folder):
    return sorted(pathlib.Path(folder).glob('death-*.json'))


def read(folder, count=1):
    found = wait_for(lambda: len(reports(folder)) >= count and reports(folder), 10, 0.05) or []
    return [json.loads(path.read_text()) for path in found]


def report(*args):
    return subprocess.run([MEMSCOPE, 'report', *args], capture_output=True, text=True, timeout=20)


def counts(watcher, deaths):
    """Waits until the watcher has counted that many deaths. Their reports are written before they are counted."""
    return wait_for(lambda: watcher.value('memscope_deaths_total') >= deaths, 10, 0.02)


def oom_score(pid):
    return int(pathlib.Path(f'/proc/{pid}/oom_score_adj').read_text())


def may_lower_scores():
    """Whether this process has CAP_SYS_RESOURCE (number 24). Root in a container often lacks it."""
    return int(re.search(r'^CapEff:\s*(\w+)', pathlib.Path('/proc/self/status').read_text(), re.M)[1], 16) >> 24 & 1


def leak_to_the_end(folder):
    """A job that leaks into its own limit: the line, the block and the report are there a moment later."""
    state = f'{folder}/leak'
    with Cgroup(f'ms-e2e-deaths-{os.getpid()}', 200 * MIB) as cgroup, \
            Watcher(MEMSCOPE, folder, '--cgroup', cgroup.name, '--report-dir', state, '--warmup', '2s') as w:
        wanted = -900 if may_lower_scores() else oom_score('self')
        check('a watcher lowers its OOM score where it may', oom_score(w.child.pid) == wanted, (oom_score(w.child.pid), wanted))
        helpers = [int(p) for p in pathlib.Path(f'/proc/{w.child.pid}/task/{w.child.pid}/children').read_text().split()]
        check('the process that starts helpers has the OOM score of the watcher', helpers and all(oom_score(p) == wanted for p in helpers),
              [(p, oom_score(p)) for p in helpers])
        doctor = subprocess.run([MEMSCOPE, 'doctor', '--json'], capture_output=True, text=True, timeout=60)
        finding = next(f for f in json.loads(doctor.stdout)['findings'] if f['name'] == 'OOM protection')
        check('doctor says whether the OOM score can be lowered', finding['present'] == bool(may_lower_scores()), finding)
        with process([sys.executable, '-c', LEAK], cgroup=cgroup) as job:
            job.wait(30)
        check('a leak runs into its limit', job.returncode == -9, job.returncode)
        found = read(state)
        check('one death, one report', len(found) == 1, [p.name for p in reports(state)])
        check('the death has one line', w.says(f'{cgroup.name}: death: the kernel'))
        check('the verdict and the advice are printed below the line of the death', w.says('  to do ') and w.says('  verdict '), w.lines())
        check('only once', sum(': death: ' in line for line in w.lines()) == 1, w.lines())
        r = wait_for(lambda: read(state)[0]['growth'] and read(state)[0], 5) or found[0]
        d = r['deaths'][0]
        check('the victim, its limit and the process that triggered the kill', (d['pid'], d['cause'], d['limit_bytes'], d['triggered_by_pid']) == (job.pid, 'oom_kill', 200 * MIB, job.pid), d)
        held = [p for p in r['then']['processes'] if p['pid'] == job.pid]
        check('the report has the memory of the process at the tick before', held and held[0]['rss_anon_bytes'] > 150 * MIB, held)
        check('the report has the verdict of the tick before', r['then']['verdicts'][0]['verdict'] == 'leaking', r['then']['verdicts'])
        check('the series of before', len(r['series']) > 10 and max(p['held_bytes'] for p in r['series']) > 150 * MIB, r['series'][-3:])
        check('the line that grew', any(f['function'] == 'step' for f in r['growth']['resident'][0]['python']), r['growth']['resident'][:1])
        check('the advice names it', 'step' in r['advice'][0], r['advice'])
        check('when it was called a leak', any(e['text'] == 'called leaking' for e in r['events']), r['events'])
        mode = reports(state)[0].stat().st_mode & 0o777
        check('only its owner and group may read it', mode == 0o640, oct(mode))
        check('the directory contains only the report', os.listdir(state) == [reports(state)[0].name], os.listdir(state))
    shown = report('--report-dir', state)
    story = shown.stdout
    check('memscope report shows the last death', shown.returncode == 0 and story.startswith('The kernel') and all(w in story for w in ('TIMELINE', 'called leaking', 'MEMORY OF THE JOB', 'WHAT GREW', 'WHAT TO DO')), story or shown.stderr)
    check('in 80 columns', max(map(len, story.splitlines())) <= 80, max(story.splitlines(), key=len))
    written = json.loads(reports(state)[0].read_text())
    check('the record is the last key', list(written)[-1] == 'record' and len(written.pop('record')) > 500, list(written))
    check('memscope report --json prints the named report without the record', json.loads(report('--json', str(reports(state)[0])).stdout) == written)


def several(folder):
    """If a whole tree is killed, that is one event. Teardown is no event."""
    state = f'{folder}/several'
    tree = 'sleep 60 & sleep 60 & sleep 60 & wait'
    with Cgroup(f'ms-e2e-tree-{os.getpid()}', 200 * MIB) as cgroup, \
            Watcher(MEMSCOPE, folder, '--cgroup', cgroup.name, '--report-dir', state) as w:
        with process(['sh', '-c', tree], cgroup=cgroup):
            check('the whole tree is seen', wait_for(lambda: w.value('memscope_processes') == 4, 10, 0.02), w.value('memscope_processes'))
            for pid in cgroup.pids():
                os.kill(pid, 9)
        found = read(state)
        wait_for(lambda: len(read(state)[0]['deaths']) == 4, 3)
        found = read(state)
        check('a tree that is killed is one report with all its deaths', len(found) == 1 and len(found[0]['deaths']) == 4, [(r['target'], len(r['deaths'])) for r in found])
        with process(['sh', '-c', 'sleep 60 & sleep 0.5; kill -9 $!; exit 0'], cgroup=cgroup) as job:
            job.wait(10)
        check('the child that it kills is counted', counts(w, 5), w.value('memscope_deaths_total'))
        check('a job that kills its own child makes none', len(reports(state)) == 1, os.listdir(state))
        check('no report failed', w.value('memscope_events_dropped_total{reason="report_failed"}') == 0)


def crash_loop(folder):
    """A job that dies again and again has a line for each death, and does not fill the disk."""
    state = f'{folder}/loop'
    with Cgroup(f'ms-e2e-loop-{os.getpid()}', 200 * MIB) as cgroup, \
            Watcher(MEMSCOPE, folder, '--cgroup', cgroup.name, '--report-dir', state) as w:
        for run in range(12):
            with process(['sh', '-c', 'kill -SEGV $$'], cgroup=cgroup) as job:
                job.wait(10)
            if not counts(w, run + 1):
                check(f'death {run + 1} is counted', False, w.value('memscope_deaths_total'))
            time.sleep(APART)
        left_out = wait_for(lambda: w.value('memscope_events_dropped_total{reason="death_unreported"}'), 5)
        check('the first five are written, the others counted', len(reports(state)) == 5 and left_out == 7, (len(reports(state)), left_out))
        check('each of them has a line', sum(': death: ' in line for line in w.lines()) == 12, w.lines())


def far_from_a_tick(folder):
    """Deaths are reported at once if ticks are an hour apart: shortly after another death, and when a signal ends memscope."""
    state = f'{folder}/far'
    names = [f'ms-e2e-far-{os.getpid()}-{n}' for n in range(3)]
    with Cgroup(names[0], 200 * MIB) as first, Cgroup(names[1], 200 * MIB) as second, Cgroup(names[2], 200 * MIB) as third, \
            Watcher(MEMSCOPE, folder, *(word for name in names for word in ('--cgroup', name)), '--interval', '1h', '--report-dir', state) as w:
        for cgroup in first, second, third:
            with process(['sh', '-c', 'kill -SEGV $$'], cgroup=cgroup) as job:
                job.wait(10)
            if cgroup is third:
                w.child.send_signal(signal.SIGTERM)
                check('SIGTERM ends memscope', w.ends(5) == 0)
            check('the death of the job is reported', w.says(f'{cgroup.name}: death: ', 3), (cgroup.name, w.lines()))
        check('each has a report', len(reports(state)) == 3, os.listdir(state))


def grown_at(entries, function):
    """Bytes of growth at stacks that contain this Python function."""
    return sum(e['bytes'] for e in entries if any(f['function'] == function for f in e['python']))


def growth(cgroup):
    shown = subprocess.run([MEMSCOPE, 'growth', '--target', cgroup.name, '--format', 'json'], capture_output=True, text=True, timeout=20)
    return json.loads(shown.stdout)['resident'] if shown.returncode == 0 else []


def runs(folder):
    """A report is about the run that died, not about earlier runs or a removed cgroup of the same name."""
    state, name = f'{folder}/runs', f'ms-e2e-runs-{os.getpid()}'
    with Watcher(MEMSCOPE, folder, '--cgroup', f'{name}*', '--report-dir', state) as w:
        def die(cgroup, function):
            with process([sys.executable, '-c', BURST.replace('burst', function)], cgroup=cgroup) as job:
                job.wait(30)
            def reported_growth():
                found = (json.loads(path.read_text()) for path in reports(state))
                return [r['growth']['resident'] for r in found if r['deaths'][0]['pid'] == job.pid and r['growth']]
            has_report = check(f'the run of {function} has a report', wait_for(reported_growth, 10, 0.05), reports(state))
            time.sleep(APART)
            return reported_growth()[0] if has_report else []
        for made in range(2):
            with Cgroup(name, 200 * MIB) as cgroup:
                check('the cgroup is watched', wait_for(lambda: w.value(f'memscope_target_up{{target="{name}"}}') == 1, 10, 0.02))
                for run in range(2):
                    function = f'burst_{made}_{run}'
                    reported = die(cgroup, function)
                    grown = grown_at(reported, function)
                    everything = sum(e['bytes'] for e in reported)
                    check(f'run {run + 1} of cgroup {made + 1}: its line has most of what it grew', everything / 2 < grown < 210 * MIB, (grown, everything))
                    check('growth has no bytes of earlier runs', 150 * MIB < everything < 230 * MIB, everything)
                    check('`memscope growth` shows only what is held now', grown_at(growth(cgroup), function) == 0)
            check('the cgroup is gone', wait_for(lambda: not os.path.exists(cgroup.path), 5))


def full_disk(folder):
    """If no report can be written, the lines about deaths are printed nevertheless."""
    disk = f'{folder}/disk'
    os.mkdir(disk)
    subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', disk], check=True)
    try:
        with open(f'{disk}/full', 'wb', buffering=0) as f, Cgroup(f'ms-e2e-full-{os.getpid()}', 200 * MIB) as cgroup, \
                Watcher(MEMSCOPE, folder, '--cgroup', cgroup.name, '--report-dir', f'{disk}/reports') as w:
            try:
                while True:
                    f.write(b'x' * 4096)
            except OSError:
                pass
            with process(['sh', '-c', 'kill -SEGV $$'], cgroup=cgroup) as job:
                job.wait(10)
            check('a full disk has a line', w.says('could not be written'), w.lines())
            check('the failed write is counted', wait_for(lambda: w.value('memscope_events_dropped_total{reason="report_failed"}') == 1, 5))
            check('the death has a line', w.says(': death: '), w.lines())
            check('no half of a report is left', os.listdir(f'{disk}/reports') == [], os.listdir(f'{disk}/reports'))
            f.truncate(0)
            time.sleep(APART)
            with process(['sh', '-c', 'kill -SEGV $$'], cgroup=cgroup) as job:
                job.wait(10)
            check('once there is room it goes on', len(read(f'{disk}/reports')) == 1)
            check('watching continues after the failed write', w.get('/-/healthy')[0] == 200)
    finally:
        subprocess.run(['umount', '-l', disk], check=True)


def inside(folder):
    """A watcher inside the cgroup that it watches says so."""
    with Cgroup(f'ms-e2e-inside-{os.getpid()}', 400 * MIB) as cgroup:
        with process([MEMSCOPE, '--cgroup', cgroup.name, '--listen', 'none', '--duration', '1s', '--report-dir', 'none'], cgroup=cgroup,
                     stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as w:
            _, err = w.communicate(timeout=20)
        check('a watcher inside its target says so in one line', err.count('\n') == 1 and 'memscope itself is inside' in err, err)


def errors(folder):
    empty = f'{folder}/empty'
    os.mkdir(empty)
    bad = pathlib.Path(folder) / 'bad.json'
    bad.write_text('{"report": "death", "version": 1, "deaths": [{"cause": "oom_kill", "comm": "\\u001b[2J\\u009b"}]}')
    shown = report(str(bad))
    check('a file without a record: 2, one line that says so', shown.returncode == 2 and not shown.stdout and 'has no record' in shown.stderr and shown.stderr.count('\n') == 1, shown)
    shown = report('--json', str(bad))
    check('names in a file steer no terminal', shown.returncode == 0 and 'oom_kill' in shown.stdout and not re.search('[\x00-\x09\x0b-\x1f\x7f-\x9f]', shown.stdout), shown.stdout)
    bad.write_text('{"report": "dea')
    for what, args in (('no report yet', ('--report-dir', empty)), ('no such directory', ('--report-dir', f'{folder}/no')),
                       ('a file that was cut', (str(bad),)), ('no such file', (f'{folder}/no.json',)), ('a device', ('/dev/zero',)),
                       ('a directory', (empty,)), ('one word too many', (str(bad), 'x'))):
        r = report(*args)
        check(f'{what}: 2, one line', r.returncode == 2 and not r.stdout and r.stderr.count('\n') == 1, (r.returncode, r.stderr))


def main():
    with tempfile.TemporaryDirectory() as folder:
        for part in (leak_to_the_end, several, runs, crash_loop, far_from_a_tick, full_disk, inside, errors):
            part(folder)


run_as_root(check, main, MEMSCOPE, 170)
