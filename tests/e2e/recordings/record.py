#!/usr/bin/env python3
"""Recordings under adverse conditions: 20 kill -9 of the watcher, a full disk, a read-only directory, two watchers in one
directory, a reader that is another user. Also a death, a heap census, all exports, and a comparison of two commands.

Needs root and promtool; takes two minutes. MEMSCOPE names the binary."""
import contextlib
import glob
import json
import os
import pathlib
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / 'support'))
from harness import Cgroup, Checks, process, run_as_root, wait_for  # noqa: E402

SOURCE = pathlib.Path(__file__).resolve().parents[3]
MEMSCOPE = os.environ.get('MEMSCOPE', str(SOURCE / 'build' / 'memscope'))
NOBODY = 65534
check = Checks()


def watcher(cgroup, where, *options, **kw):
    return process([MEMSCOPE, '--cgroup', cgroup.name, '--record', str(where), '--listen', 'none', '--report-dir', 'none',
                    '--interval', '100ms', *options], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, **kw)


def recordings(folder):
    return sorted(glob.glob(f'{folder}/**/*.memscope', recursive=True), key=os.path.getmtime)


def rows(path, table='ticks'):
    """The number of rows that a reader sees; -1 if the file cannot be read yet."""
    try:
        with contextlib.closing(sqlite3.connect(f'file:{path}?mode=ro', uri=True)) as database:
            return database.execute(f'select count(*) from {table}').fetchone()[0]
    except sqlite3.Error:
        return -1


def run(*argv, **kw):
    return subprocess.run([MEMSCOPE, *argv], capture_output=True, text=True, timeout=60, **kw)


def end(child):
    child.send_signal(signal.SIGINT)
    return child.wait(30), child.stderr.read()


def killed(folder, cgroup):
    """20 times: the file is not damaged, and contains everything that was committed."""
    whole = readable = kept = 0
    for k in range(20):
        known = set(recordings(folder))
        with watcher(cgroup, folder) as child:
            new = wait_for(lambda: [f for f in recordings(folder) if f not in known and rows(f) > 0], 15)
            if not new:
                return check(f'watcher {k + 1} records', False)
            time.sleep(0.05 * (k % 7))  # during a write, at a different moment each time
            latest = new[0]
            before = rows(latest)
            child.kill()
            child.wait()
        with contextlib.closing(sqlite3.connect(f'file:{latest}?mode=ro', uri=True)) as database:
            whole += database.execute('pragma integrity_check').fetchone()[0] == 'ok'
        kept += rows(latest) >= before > 0
        readable += run('export', latest, '--format', 'json').returncode == 0
    check('20 kill -9: every file is whole', whole == 20, whole)
    check('each of the 20 recordings has all ticks that a reader saw before kill -9', kept == 20, kept)
    check('each of the 20 recordings can be exported', readable == 20, readable)


def full_disk(folder, cgroup):
    mount = pathlib.Path(folder) / 'small'
    mount.mkdir()
    subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', mount], check=True)
    try:
        with watcher(cgroup, mount) as child:
            check('a small disk: it records', wait_for(lambda: recordings(mount) and rows(recordings(mount)[0]) > 0, 15))
            filler = os.open(mount / 'filler', os.O_WRONLY | os.O_CREAT)
            with contextlib.suppress(OSError):
                while os.write(filler, b'x' * 4096):
                    pass
            os.close(filler)
            time.sleep(6)
            check('a full disk: it watches on', child.poll() is None)
            status, error = end(child)
            lines = [line for line in error.splitlines() if 'recording' in line]
            check('a full disk is reported in one line', status == 0 and len(lines) == 1, error)
        os.unlink(mount / 'filler')
        for file in recordings(mount):
            with contextlib.closing(sqlite3.connect(f'file:{file}?mode=ro', uri=True)) as database:
                check('the recording is not damaged', database.execute('pragma integrity_check').fetchone()[0] == 'ok')
    finally:
        subprocess.run(['umount', mount], check=True)


def read_only(folder, cgroup):
    mount = pathlib.Path(folder) / 'fixed'
    mount.mkdir()
    subprocess.run(['mount', '-t', 'tmpfs', '-o', 'ro,size=1m', 'tmpfs', mount], check=True)
    try:
        with watcher(cgroup, mount, '--duration', '1s') as child:
            status, error = child.wait(20), child.stderr.read()
        check('a read-only directory: it watches, and says so once', status == 0 and error.count('nothing is recorded') == 1, error)
    finally:
        subprocess.run(['umount', mount], check=True)


def two_watchers(folder, cgroup):
    with watcher(cgroup, folder) as first, watcher(cgroup, folder) as second:
        ready = wait_for(lambda: len(recordings(folder)) == 2 and all(rows(f) > 5 for f in recordings(folder)), 20)
        check('two watchers in one directory write a file each', ready, recordings(folder))
        problems = [end(child)[1] for child in (first, second)]
    check('two watchers of one directory report no problem of a recording', not any('recording' in text for text in problems), problems)


def other_user(folder, cgroup):
    """A user who may read a recording, but not write to its directory, reads it while it is written and afterwards."""
    os.chmod(folder, 0o755)
    program = shutil.copy(MEMSCOPE, folder)

    def report(path):
        return subprocess.run(['setpriv', f'--reuid={NOBODY}', f'--regid={NOBODY}', '--clear-groups', program, 'report', path],
                              capture_output=True, text=True, timeout=60)

    with watcher(cgroup, folder) as child:
        wait_for(lambda: recordings(folder) and rows(recordings(folder)[0]) > 0, 15)
        path = recordings(folder)[0]
        check('only its user and group can read it', os.stat(path).st_mode & 0o777 == 0o640, oct(os.stat(path).st_mode))
        refused = report(path)
        check('another user cannot', refused.returncode == 2 and 'ermission' in refused.stderr, refused.stderr)
        for file in glob.glob(path + '*'):
            os.chown(file, -1, NOBODY)  # a group that may read, like the group memscope
        live = report(path)
        check('a member of the group reads it while it is written', live.returncode == 0, live.stderr)
        end(child)
    closed = report(path)
    check('the report works after the recording is closed', closed.returncode == 0 and not os.path.exists(path + '-wal'), closed.stderr)


def death(folder, cgroup):
    """The whole report of a death is in the recording."""
    with watcher(cgroup, folder) as child:
        wait_for(lambda: recordings(folder) and rows(recordings(folder)[0]) > 0, 15)
        path = recordings(folder)[0]
        with process([sys.executable, '-c', 'import os, time; x = bytearray(30 << 20); time.sleep(1); os.abort()'], cgroup) as victim:
            victim.wait(20)
        check('a death report is recorded', wait_for(lambda: rows(path, 'reports') == 1, 15), rows(path, 'reports'))
        check('the death is recorded as an event', wait_for(lambda: rows(path, "events where kind = 'death'") == 1, 15))
        end(child)


def census(folder, cgroup):
    """The heap census of a leak is in the recording."""
    leak = 'import time\nkept = []\nwhile True:\n    kept.append(bytearray(1 << 20))\n    time.sleep(0.1)'
    with process([sys.executable, '-c', leak], cgroup), watcher(cgroup, folder, '--warmup', '3s') as child:
        found = wait_for(lambda: recordings(folder) and rows(recordings(folder)[0], 'heap') > 0, 40)
        check('a heap census is recorded', found, recordings(folder))
        end(child)


def exports(folder, cgroup):
    """Exports of a recording that is being written: a copy, a trace, and metrics that Prometheus accepts."""
    with watcher(cgroup, folder) as child:
        wait_for(lambda: recordings(folder) and rows(recordings(folder)[0]) > 20, 20)
        path, copy = recordings(folder)[0], f'{folder}/copy/copy.memscope'
        os.mkdir(f'{folder}/copy')
        with open(copy, 'wb') as out:
            status = subprocess.run([MEMSCOPE, 'export', path, '--format', 'recording'], stdout=out, timeout=60).returncode
        check('a recording that is written can be copied', status == 0 and rows(copy) > 20, (status, rows(copy)))
        with contextlib.closing(sqlite3.connect(f'file:{copy}?mode=ro', uri=True)) as database:
            mode, whole = (database.execute(f'pragma {each}').fetchone()[0] for each in ('journal_mode', 'integrity_check'))
        check('the copy is one whole file', (mode, whole) == ('delete', 'ok') and os.listdir(f'{folder}/copy') == ['copy.memscope'], (mode, whole, os.listdir(f'{folder}/copy')))
        r = run('export', path, '--format', 'recording', '--output', f'{folder}/copy/other.memscope')
        check('also to a named file', r.returncode == 0 and rows(f'{folder}/copy/other.memscope') > 20, r.stderr)
        before = rows(path)
        check('the recording is still written', wait_for(lambda: rows(path) > before, 10), rows(path))
        end(child)
    r = run('export', copy, '--format', 'perfetto', '--output', f'{folder}/trace.pftrace')
    trace = pathlib.Path(f'{folder}/trace.pftrace').read_bytes() if r.returncode == 0 else b''
    check('a trace for Perfetto has counters, processes and the verdict', all(each in trace for each in (b'judged memory', b'sleep', b'verdict')), (r.stderr, trace[:300]))
    metrics = f'{folder}/metrics.txt'
    r = run('export', copy, '--format', 'openmetrics', '--output', metrics)
    check('metrics are exported', r.returncode == 0, r.stderr)
    if shutil.which('promtool') is None:
        check('promtool is there: ./dev deps', False)
        return
    r = subprocess.run(['promtool', 'tsdb', 'create-blocks-from', 'openmetrics', metrics, f'{folder}/blocks'],
                       capture_output=True, text=True, timeout=60)
    check('promtool makes blocks from them', r.returncode == 0, (r.stdout + r.stderr)[-500:])
    os.makedirs(f'{folder}/blocks/wal', exist_ok=True)  # promtool dump needs this directory
    r = subprocess.run(['promtool', 'tsdb', 'dump', '--match={__name__="memscope_memory_usage_bytes"}', f'{folder}/blocks'],
                       capture_output=True, text=True, timeout=60)
    samples = [line for line in r.stdout.splitlines() if line.startswith('{')]
    check('which have a sample for each tick', len(samples) == rows(copy), (len(samples), rows(copy), r.stderr[-300:]))


def gate(folder, cgroup):
    """`memscope -- CMD --record FILE` is all that a CI job needs."""
    job = 'import time; x = bytearray(b"x") * (int({}) << 20); time.sleep(3)'
    for name, mib in (('base', 60), ('head', 120)):
        r = run('--record', f'{folder}/{name}.memscope', '--interval', '100ms', '--listen', 'none', '--report-dir', 'none',
                '--quiet', '--', sys.executable, '-c', job.format(mib))
        check(f'a command is recorded in the file {name}', r.returncode == 0 and os.path.exists(f'{folder}/{name}.memscope'), (r.returncode, r.stderr))
    r = run('compare', f'{folder}/base.memscope', f'{folder}/head.memscope', '--fail-on', 'peak>5%', '--format', 'json')
    broken = r.returncode == 3 and json.loads(r.stdout)['rules'][0]['broken']
    check('more memory breaks the rule', broken, (r.returncode, r.stdout[:300], r.stderr))
    check('less memory does not', run('compare', f'{folder}/head.memscope', f'{folder}/base.memscope', '--fail-on', 'peak>5%').returncode == 0)


def main():
    with Cgroup(f'ms-e2e-record-{os.getpid()}', 200 << 20) as cgroup, process(['sleep', '900'], cgroup):
        for part in (killed, full_disk, read_only, two_watchers, other_user, death, census, exports, gate):
            with tempfile.TemporaryDirectory() as folder:
                part(folder, cgroup)


run_as_root(check, main, MEMSCOPE, 240)
