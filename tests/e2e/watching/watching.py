#!/usr/bin/env python3
"""A watcher from its start to its end: JSON, plain lines, /metrics, status, and all the ways in which watching ends.

Needs root; takes 15 s. MEMSCOPE names the binary (default: build/memscope below the source tree).
"""
import contextlib
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unicodedata

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../support'))
from harness import Cgroup, Checks, Watcher, process, run_as_root, tail, wait_for  # noqa: E402

SOURCE = pathlib.Path(__file__).resolve().parents[3]
MEMSCOPE = os.environ.get('MEMSCOPE', str(SOURCE / 'build' / 'memscope'))
ME = f'ms-watch-{os.getpid()}'
MIB = 1 << 20
LIMIT = 64 * MIB
CONTROL = re.compile('[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]')

SLEEPER = [sys.executable, '-c', 'import signal; signal.pause()']
HOG = 'import time; k = [b"x" * (40 << 20)]\nwhile True: k.append(b"x" * (1 << 20)); time.sleep(0.06)'
HOSTILE = (b'"\\\n\xff\x1b[31m\xe7\x95\x8c', b'a"b\\c\n\xff\xfe\x1b]0;evil\x07\xe2\x80\xae')  # comm, argument
RENAMED = f'import ctypes, signal; ctypes.CDLL(None).prctl(15, {HOSTILE[0]!r}); signal.pause()'
THOUSAND = 'i=0; while [ $i -lt 1000 ]; do sleep 1000 & i=$((i+1)); done; wait'

check = Checks()


def group(name, limit=LIMIT):
    return Cgroup(f'{ME}-{name}', limit)


def status(*arguments):
    return subprocess.run([MEMSCOPE, 'status', *arguments], capture_output=True, timeout=10)


def width(line):
    return sum(2 if unicodedata.east_asian_width(c) in 'WF' else 0 if unicodedata.combining(c) else 1 for c in line)


def well_formed(tick):
    """None if the tick has the required keys with the right types, otherwise the fault."""
    size, absent = int, (int, type(None))
    shapes = [
        (tick, dict(time=float, target=dict, memory=dict, processes=list, roles=list, gpu=(list, type(None)), self=dict)),
        (tick['target'], dict(name=str, kind=str, cgroup_version=int)),
        (tick['memory'], dict(usage_bytes=size, peak_bytes=absent, limit_bytes=absent, effective_limit_bytes=absent, limit_owner=(str, type(None)),
                              unreclaimable_bytes=size, swap_bytes=size, by_kind=dict)),
        (tick['memory']['by_kind'], dict(anon=size, shmem=size, file=size, kernel=size, other=size))]
    for one in tick['processes']:
        shapes.append((one, dict(pid=int, parent_pid=int, start_time=float, comm=str, role=str, rank=absent, rss_anon_bytes=absent,
                                 rss_file_bytes=absent, rss_shmem_bytes=absent, swap_bytes=absent, virtual_bytes=absent,
                                 minor_faults=int, major_faults=int, threads=int)))
    return next((f'{key}: {thing.get(key)!r}' for thing, shape in shapes for key, kind in shape.items()
                 if key not in thing or not isinstance(thing[key], kind) or isinstance(thing[key], bool)), None)


def json_and_duration(folder):
    with group('a') as a, group('b') as b, process(SLEEPER, cgroup=a) as one:
        began = time.monotonic()
        done = subprocess.run([MEMSCOPE, '--cgroup', a.name, '--cgroup', b.name, '--json', '--interval', '100ms', '--duration', '1s',
                               '--listen', 'none'], capture_output=True, timeout=20)
        took = time.monotonic() - began
        ticks = [json.loads(line) for line in done.stdout.splitlines()]
        check('--duration ends it in time, with 0', done.returncode == 0 and not done.stderr and 1 <= took < 4, (done, took))
        names = [tick['target']['name'] for tick in ticks]
        check('--json: one line per tick and target', 16 <= len(names) <= 24 and names == [a.name, b.name] * (len(names) // 2), names)
        check('--json: keys and types', all(well_formed(t) is None for t in ticks), [well_formed(t) for t in ticks])
        members = {a.name: [one.pid], b.name: []}
        check('--json: every process is in its target', all([p['pid'] for p in t['processes']] == members[t['target']['name']] for t in ticks))
        check('--json: kinds sum to the usage', all(sum(t['memory']['by_kind'].values()) >= t['memory']['usage_bytes'] for t in ticks))


def thousand_and_a_reader_that_sleeps(folder):
    with group('many', 2048 * MIB) as many, process(['sh', '-c', THOUSAND], cgroup=many), \
            Watcher(MEMSCOPE, folder, '--cgroup', many.name, '--json', stdout=subprocess.PIPE) as w:
        skipped = 'memscope_events_dropped_total{reason="json_tick_skipped"}'
        present = wait_for(lambda: w.value('memscope_processes{') == 1001, 15)
        check('/metrics counts a thousand processes', present, w.value('memscope_processes{'))

        def listed():
            done = status('--json', '--target', many.name)
            return json.loads(done.stdout)['processes'] if done.returncode == 0 else []
        check('status lists all processes', wait_for(lambda: {p['pid'] for p in listed()} == set(many.pids()), 5), len(listed()))
        # The watcher needs several ticks, because per tick it reads at most 1,000 processes that are older than itself.
        check('their argv is known', wait_for(lambda: listed() and all(p['command'] for p in listed()), 5))
        text = status('--target', many.name).stdout.decode()
        check('status shows the first and counts the rest', '981 more' in text and max(map(width, text.splitlines())) <= 80, text[-200:])
        wait_for(lambda: w.value(skipped) > 0, 5)
        before = w.metrics()

        def since(name):
            return w.metrics()[name] - before[name]
        # Not within a second: on a busy machine a thousand processes may take longer than the interval.
        check('a reader that does not read: ticks go on', wait_for(lambda: since('memscope_last_tick_timestamp_seconds') > 0.7, 10))
        check('... whole ticks are skipped and counted', wait_for(lambda: since(skipped) >= 2, 10), w.value(skipped))
        lines = [w.child.stdout.readline() for _ in range(8)]  # more than the pipe held, so the watcher writes again
        ticks = [json.loads(line) for line in lines]
        times = [t['time'] for t in ticks]
        gap = max(b - a for a, b in zip(times, times[1:]))
        check('... and after it reads again every line is whole', times == sorted(times) and gap > 0.7, times)
        w.child.stdout.close()
        check('a reader that goes away ends it, with 0', w.ends() == 0)
        w.child.stdout = None


def signals_and_removal(folder):
    for number in signal.SIGINT, signal.SIGTERM:
        with group('sig') as g, Watcher(MEMSCOPE, folder, '--cgroup', g.name, '--interval', '1h') as w:
            w.child.send_signal(number)
            check(f'{number.name} ends it at once, with 0', w.ends(1) == 0)
    with group('gone') as g, process(SLEEPER, cgroup=g) as one, Watcher(MEMSCOPE, folder, '--cgroup', g.name, '--linger', '1500ms') as w:
        check('a plain line says what is watched', w.says(f'{g.name}: watching, ') and w.says('1 process'), w.lines())
        one.kill()
        one.wait()
        check('an empty cgroup is no end', w.says('empty: all processes have ended') and w.ends(0.5) is None, w.lines())
        before = w.metrics()
        os.rmdir(g.path)
        up = f'memscope_target_up{{target="{g.name}"}}'
        check('the removal of the cgroup ends the target with a line', w.says(f'{g.name}: ended'), w.lines())
        last = w.metrics()
        check('... /metrics stays, target_up is 0', last.get(up) == 0, last.get(up))
        changed = [k for k in before if g.name in k and k != up and abs(last.get(k, -MIB) - before[k]) >= MIB / 2]
        check('... with the final values', not changed, changed)
        check('... status says ended', b', ended' in status('--target', g.name).stdout)
        check('... and it ends with 0 after --linger', w.ends(4) == 0)
    for options, name in (['--linger', '0s'], '--linger 0s: it ends with the cgroup'), (['--linger', '1h'], 'SIGTERM while lingering'):
        with group('gone') as g, Watcher(MEMSCOPE, folder, '--cgroup', g.name, *options) as w:
            os.rmdir(g.path)
            if '1h' in options:
                check('the watcher lingers after the end of its target', w.says('ended') and w.ends(0.5) is None)
                w.child.terminate()
            check(name, w.ends(2) == 0)
    with Watcher(MEMSCOPE, folder, '--cgroup', f'{ME}-late', '--wait', '--linger', '0s') as w:
        check('--wait: ready, and no target yet', w.value('memscope_target_up') == 0 and w.ends(0.3) is None)
        check('--wait: a line says so', w.says(' yet: waiting for it'), w.lines())
        with group('late') as late:
            check('--wait: it appears', w.says(f'{late.name}: watching') and w.value('memscope_target_up') == 1, w.lines())
        check('--wait: its removal is the end', w.ends() == 0)


def plain_lines(folder, calm):
    with group('oom') as g, Watcher(MEMSCOPE, folder, '--cgroup', g.name, '--interval', '50ms') as w, \
            Watcher(MEMSCOPE, folder, '--cgroup', g.name, '--quiet') as quiet, process([sys.executable, '-c', HOG], cgroup=g):
        check('a line: above 90 %', w.says('above 90 % of its own limit (64 MiB)', 10), w.lines())
        check('a line: the oom kill', w.says('OOM killer killed python', 10), w.lines())
        kills = f'memscope_memory_events_total{{target="{g.name}",event="oom_kill"}}'
        check('two watchers side by side see the same', wait_for(lambda: w.value(kills) == quiet.value(kills) == 1, 3))
        done = status('--target', g.name)
        check('status works with two of them', done.returncode == 0 and b'oom_kill 1' in done.stdout, done)
        done = status()
        listed = all(name.encode() in done.stderr for name in (g.name, calm.name, '--target'))
        check('status without a name lists the targets', listed and done.returncode == 2 and done.stderr.count(b'\n') == 1, done)
        check('no line has a control character', not CONTROL.search('\n'.join(w.lines())), w.lines())
        check('--quiet prints nothing', quiet.lines() == [], quiet.lines())
        quiet.child.kill()
        quiet.child.wait()
        check('kill -9 leaves its socket', os.path.exists(quiet.socket()))
        check('status still finds the other one', status('--target', g.name).returncode == 0)
        with Watcher(MEMSCOPE, folder, '--cgroup', g.name) as third:
            check('the next start works and removes it', third.value('memscope_target_up') == 1 and not os.path.exists(quiet.socket()))


def config_and_globs(folder):
    config = pathlib.Path(folder) / 'memscope.toml'
    with group('conf') as g, process(SLEEPER, cgroup=g):
        w = Watcher(MEMSCOPE, folder, '--config', str(config), defaults=False)
        config.write_text(f'cgroup = ["{g.name}"]\ninterval = "200ms"\nlisten = "127.0.0.1:{w.port}"\njson = true\nhttp-status = true\n'
                          f'[[role]]\nrole = "helper"\nprogram = "{os.path.basename(sys.executable)}*"\n')
        with w:
            ticks = wait_for(lambda: len(w.lines()) > 3 and [json.loads(line) for line in w.lines()[:4]], 5)
            steps = [b['time'] - a['time'] for a, b in zip(ticks, ticks[1:])]
            named = ticks[0]['target']['name'] == g.name
            check('a config file gives cgroup, json and interval', named and 0.15 < sum(steps) / len(steps) < 0.35, steps)
            check('... listen and http-status', w.get('/api/v1/status')[0] == 200)
            roles = {p['role'] for t in ticks[1:] for p in t['processes']}
            counted = [k for k, v in w.metrics().items() if k.startswith('memscope_processes{') and 'role="helper"' in k and v == 1]
            check('a role rule takes effect in JSON and /metrics', roles == {'helper'} and len(counted) == 1, (roles, counted))
    with Watcher(MEMSCOPE, folder, '--cgroup', f'{ME}-glob-*') as w, group('glob-1') as one:
        with group('glob-2') as two:
            both = [f'memscope_target_up{{target="{g.name}"}}' for g in (one, two)]
            check('a glob takes what appears later', wait_for(lambda: all(w.metrics().get(k) == 1 for k in both), 3), w.lines())
        gone = wait_for(lambda: not any(two.name in k for k in w.metrics()), 3)
        check('... and the series of what is removed are gone', gone and w.metrics().get(both[0]) == 1)
        check('... and a line says so', w.says(f'{two.name}: ended'), w.lines())


def answer(client, request):
    """The status of the answer, or None."""
    with contextlib.suppress(OSError):
        client.sendall(request)
        return client.recv(12)[9:]
    return b''


def http(folder):
    with group('http') as g, process(SLEEPER, cgroup=g), Watcher(MEMSCOPE, folder, '--cgroup', g.name) as w:
        for path, wanted in {'/metrics': 200, '/-/healthy': 200, '/-/ready': 200, '/nosuch': 404, '/': 404, '/metrics/': 404,
                             '/api/v1/status': 404, '/api/v1/targets': 404, '/api/v1/record': 404, '/../metrics': 404, '/' + 'x' * 100_000: 414}.items():
            code = w.get(path)[0]
            check(f'GET {path[:30]}: {wanted}', code == wanted, code)
        for method in 'POST', 'PUT', 'DELETE', 'BREW':
            code = w.get('/metrics', method)[0]
            check(f'{method} /metrics: 405', code == 405, code)
        with contextlib.ExitStack() as held:  # all connections are open before the first request
            clients = [held.enter_context(socket.create_connection(('127.0.0.1', w.port), 3)) for _ in range(100)]
            check('100 scrapes at once', [answer(c, b'GET /metrics HTTP/1.0\r\n\r\n') for c in clients] == [b'200'] * 100,
                  'connections over the limit of one address are closed without an answer')
        for count in 40, 100:
            with contextlib.ExitStack() as held:
                for _ in range(count):
                    slow = held.enter_context(socket.create_connection(('127.0.0.1', w.port), 3))
                    with contextlib.suppress(OSError):
                        slow.sendall(b'GET /metrics HTTP/1.1\r\nHost: x\r\nX-')
                began, codes = time.monotonic(), []
                with contextlib.suppress(OSError):
                    codes = [w.get('/metrics')[0] for _ in range(10)]
                check(f'{count} slow clients delay no other client', codes == [200] * 10 and time.monotonic() - began < 2, codes)
        check('the watcher still answers', wait_for(lambda: w.get('/-/healthy')[0] == 200, 5) and w.ends(0.1) is None)
    with group('http') as g, Watcher(MEMSCOPE, folder, '--cgroup', g.name, '--http-status', '--http-host', 'node7') as w:
        code, body = w.get('/api/v1/status')
        check('/api/v1/status with --http-status', code == 200 and well_formed(json.loads(body)) is None, (code, body[:200]))
        check('... and of a target that is not watched: 404', w.get('/api/v1/status?target=nosuch')[0] == 404)
        check('/api/v1/record is on the unix socket alone', w.get(f'/api/v1/record?target={g.name}')[0] == 404)
        for host, wanted in {'evil.example': 421, f'evil.example:{w.port}': 421, f'localhost:{w.port}': 200, f'NODE7:{w.port}': 200}.items():
            for path in '/api/v1/status', '/metrics':
                code, body = w.get(path, headers={'Host': host})
                check(f'{path} asked of {host}: {wanted}', code == wanted and (code == 200 or b'--http-host' in body), (code, body[:200]))


def hostile_names(folder):
    target = os.fsdecode(f'{ME}-"\\\\'.encode() + b'\xff\xe7\x95\x8c' * 30)
    with Cgroup(target, LIMIT) as g, process([sys.executable, '-c', RENAMED, HOSTILE[1]], cgroup=g) as one, \
            Watcher(MEMSCOPE, folder, '--cgroup', target, '--json') as w:
        spelt = os.fsencode(target).decode(errors='replace')
        comm = HOSTILE[0].decode(errors='replace')
        ticks = wait_for(lambda: [t for t in map(json.loads, w.lines()) if [p['comm'] for p in t['processes']] == [comm]], 5)
        check('a hostile comm in JSON, unchanged where it can be', ticks, tail(w.out))
        check('... and argv', ticks and HOSTILE[1].decode(errors='replace') in ticks[-1]['processes'][0]['command'], tail(w.out))
        check('... and the name of the target', ticks and ticks[-1]['target']['name'] == spelt, tail(w.out))
        check('... and no raw control character', not re.search(b'[\x00-\x09\x0b-\x1f]', pathlib.Path(w.out).read_bytes()))
        label = spelt.replace('\\', '\\\\').replace('"', '\\"')
        check('hostile names in /metrics: every line is a sample', w.metrics().get(f'memscope_target_up{{target="{label}"}}') == 1)
        done = status('--target', spelt)
        text = done.stdout.decode()
        check('... in status', done.returncode == 0 and str(one.pid) in text and not CONTROL.search(text), done)
        check('... which fits 80 columns', max(map(width, text.splitlines()), default=99) <= 80, [*map(width, text.splitlines())])
        check('status takes the name as it was given to --cgroup', status('--target', target).returncode == 0)


def resident(pid):
    return next(int(line.split()[1]) << 10 for line in open(f'/proc/{pid}/status') if line.startswith('VmRSS'))


def main():
    with tempfile.TemporaryDirectory() as folder, group('calm') as calm, process(SLEEPER, cgroup=calm), \
            Watcher(MEMSCOPE, folder, '--cgroup', calm.name, '--interval', '50ms') as steady:
        json_and_duration(folder)
        warm, began = resident(steady.child.pid), time.monotonic()
        signals_and_removal(folder)
        plain_lines(folder, calm)
        config_and_globs(folder)
        http(folder)
        hostile_names(folder)
        time.sleep(max(0, began + 6 - time.monotonic()))
        grown = resident(steady.child.pid) - warm
        check('more than 100 ticks cost less than 1 MiB of its own memory', grown < MIB and steady.ends(0.1) is None, grown)
        thousand_and_a_reader_that_sleeps(folder)


if __name__ == '__main__':
    run_as_root(check, main, MEMSCOPE, 150)
