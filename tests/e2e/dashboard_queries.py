#!/usr/bin/env python3
"""Every query of every dashboard, and the alert rules, against a real Prometheus that scrapes a real memscope.

A small tree runs in a limited cgroup, memscope watches it, Prometheus scrapes it. Each panel and variable has to return
data; then a process is killed for memory, and MemscopeOomKill has to fire. Needs root, prometheus and promtool; takes 20 s.
MEMSCOPE names the binary (default: build/memscope below the source tree).
"""
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
import urllib.error
import urllib.parse
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), 'support'))
import dashboards as files  # noqa: E402
from harness import Cgroup, Checks, GaveUp, exit_on_signals, finite, free_port, process, tail, wait_for  # noqa: E402

MEMSCOPE = os.environ.get('MEMSCOPE', str(files.SOURCE / 'build' / 'memscope'))
LIMIT = 96 << 20
SCRAPES = 6  # samples every panel can count on, one a second

# Metrics that some machines do not have. Where the condition holds there must be data, elsewhere there must be none.
CONDITIONAL = {
    'memscope_pressure_stalled_seconds_total':
        ('the cgroup has PSI', lambda cgroup: cgroup.has_pressure(), "v1 has no memory.pressure, and the host's is never put under a target"),
}

# A parent, two forked workers that touch memory, 4 MiB in /dev/shm (unlinked: nothing to clean up), ten short lives a second.
TREE = textwrap.dedent('''
    import os, subprocess, tempfile, time
    def touch(mib):
        keep = bytearray(mib << 20)
        for i in range(0, len(keep), 4096): keep[i] = 1
        return keep
    parent = os.getpid()
    for mib in (6, 10):
        if os.fork() == 0:
            open('/proc/self/comm', 'w').write('pt_data_worker')
            keep = touch(mib)
            while os.getppid() == parent: touch(1); time.sleep(0.2)
            os._exit(0)
    keep, shm = touch(12), tempfile.TemporaryFile(dir='/dev/shm')
    shm.write(bytes(4 << 20)); shm.flush()
    print('READY', flush=True)
    while True: subprocess.run(['/bin/true']); time.sleep(0.1)
''')

# Wants twice the limit, and asks to be the victim so that the tree survives it.
HOG = textwrap.dedent(f'''
    open('/proc/self/oom_score_adj', 'w').write('1000')
    keep = []
    for _ in range({2 * LIMIT} >> 20): keep.append(b'x' * (1 << 20))
''')


class Prometheus:
    """The HTTP API of a Prometheus on loopback."""

    def __init__(self, port):
        self.base = f'http://127.0.0.1:{port}'

    def get(self, path, **parameters):
        url = f'{self.base}{path}?{urllib.parse.urlencode(parameters)}'
        try:
            with urllib.request.urlopen(url, timeout=5) as reply:
                return json.load(reply)['data']
        except urllib.error.HTTPError as e:  # a refused query: the reason is in the body
            if e.code == 503:
                raise  # still starting; an OSError, so wait_for asks again
            raise ValueError(e.read().decode(errors='replace')[:300]) from e

    def query(self, expression):
        return self.get('/api/v1/query', query=expression)['result']

    def series(self, selector):
        return self.get('/api/v1/series', **{'match[]': selector})

    def rules(self):
        return [r for g in self.get('/api/v1/rules')['groups'] for r in g['rules']]

    def firing(self):
        return {a['labels']['alertname']: a for a in self.get('/api/v1/alerts')['alerts'] if a['state'] == 'firing'}


def scrape(port):
    with urllib.request.urlopen(f'http://127.0.0.1:{port}/metrics', timeout=5) as reply:
        return reply.read().decode()


def promtool(check, name, *arguments, text=None):
    try:
        run = subprocess.run(['promtool', *map(str, arguments)], input=text, capture_output=True, text=True, timeout=20)
        check(name, run.returncode == 0, (run.stdout + run.stderr).strip()[-500:])
    except (OSError, subprocess.TimeoutExpired) as e:
        check(name, False, e)


def check_files(check):
    promtool(check, 'promtool check rules', 'check', 'rules', files.RULES)
    promtool(check, 'promtool test rules', 'test', 'rules', files.RULE_TESTS)
    promtool(check, 'promtool check config of the example', 'check', 'config', files.EXAMPLE)


def start(check, stack, cgroup, folder):
    """The tree, memscope and Prometheus; (port of memscope, API of Prometheus) once both have what the queries need."""
    tree = stack.enter_context(process([sys.executable, '-c', TREE], cgroup, stdout=subprocess.PIPE, text=True))
    port, api_port = free_port(), free_port()
    config = f'{folder}/prometheus.yml'
    with open(config, 'w') as f:
        json.dump({  # JSON is YAML
            'global': {'scrape_interval': '1s', 'scrape_timeout': '1s', 'evaluation_interval': '1s'},
            'rule_files': [str(files.RULES)],
            'scrape_configs': [{'job_name': 'memscope', 'static_configs': [{'targets': [f'127.0.0.1:{port}']}]}],
        }, f)
    if tree.stdout.readline().strip() != 'READY':
        raise GaveUp(f'the tree did not start in {cgroup.path}')

    logs = {name: stack.enter_context(open(f'{folder}/{name}.log', 'w')) for name in ('memscope', 'prometheus')}
    watcher = stack.enter_context(process(
        [MEMSCOPE, '--cgroup', cgroup.name, '--interval', '500ms', '--listen', f'127.0.0.1:{port}'],
        stdin=subprocess.DEVNULL, stdout=logs['memscope'], stderr=logs['memscope']))
    if not check('memscope answers', wait_for(lambda: watcher.poll() is not None or scrape(port), 10) and watcher.poll() is None,
                 f'status {watcher.poll()}: {tail(logs["memscope"].name)}'):
        raise GaveUp('no memscope to scrape')
    server = stack.enter_context(process(
        ['prometheus', f'--config.file={config}', f'--storage.tsdb.path={folder}/data', f'--web.listen-address=127.0.0.1:{api_port}', '--log.level=warn'],
        stdin=subprocess.DEVNULL, stdout=logs['prometheus'], stderr=logs['prometheus'], cwd=folder))
    api = Prometheus(api_port)

    def scraped():
        return server.poll() is not None or finite(api.query(f'sum_over_time(up[1m]) >= {SCRAPES}'))
    if not check(f'Prometheus has scraped memscope {SCRAPES} times', wait_for(scraped, 15, 0.3) and server.poll() is None,
                 f'status {server.poll()}: {tail(logs["prometheus"].name)}'):
        raise GaveUp('nothing to query')
    return port, api


def check_variables(check, api, name, dashboard, values):
    """Each variable offers the value that the panels are then asked with."""
    for variable, query in files.variables(dashboard):
        selector, label = files.label_values(files.substitute(query, values))
        offered = sorted({s[label] for s in api.series(selector) if label in s})
        check(f'{name}: ${variable} offers {values[variable]}', values[variable] in offered, offered)


def check_query(check, api, what, expression, cgroup):
    """Data where it is due; none where this machine cannot have any."""
    due = True
    for metric in files.metric_names(expression) & CONDITIONAL.keys():
        condition, holds, reason = CONDITIONAL[metric]
        due = due and holds(cgroup)
        what += f', {condition}' if due else f': none, since not "{condition}" ({reason})'
    try:
        result = api.query(expression)
    except ValueError as e:
        return check(what, False, e)
    return check(what, finite(result) if due else not result, f'{expression} -> {result}')


def check_rules(check, api):
    expected = sorted(name for name, _ in files.alerts(files.RULES.read_text()))
    wait_for(lambda: all(r['health'] != 'unknown' for r in api.rules()), 5)
    rules = api.rules()
    check('Prometheus has loaded every rule', sorted(r['name'] for r in rules) == expected, [r['name'] for r in rules])
    for r in rules:
        check(f'rule {r["name"]} {r["labels"].get("reason", "")}'.rstrip() + ' evaluates', r['health'] == 'ok', r.get('lastError', r['health']))
    check('no alert fires on a healthy job', not api.firing(), api.firing())


def check_oom_kill(check, api, cgroup):
    """A real kill in the limited cgroup, and the alert that follows it."""
    before = cgroup.oom_kills()
    with process([sys.executable, '-c', HOG], cgroup, stderr=subprocess.DEVNULL) as hog:
        with contextlib.suppress(subprocess.TimeoutExpired):
            hog.wait(10)
        killed = hog.poll() == -9 and cgroup.oom_kills() > before
    if not check('the kernel killed a process of the cgroup for memory', killed, f'status {hog.returncode}, oom_kill {cgroup.oom_kills()}'):
        return
    alert = wait_for(lambda: api.firing().get('MemscopeOomKill'), 8, 0.3)
    if not check('MemscopeOomKill fires', alert, api.query('memscope_memory_events_total{event="oom_kill"}')):
        return
    check('MemscopeOomKill names the job', alert['labels'].get('target') == cgroup.name, alert['labels'])
    summary, description = alert['annotations']['summary'], alert['annotations']['description']
    check('MemscopeOomKill says how many and against which limit', 'killed 1 ' in summary and 'limit is 96MiB' in description, (summary, description))


def run(check):
    check_files(check)
    for tool in ('prometheus', MEMSCOPE):
        if not shutil.which(tool):
            raise GaveUp(f'{tool} is missing')
    cgroup = Cgroup(f'e2e-dashboards-{os.getpid()}', LIMIT)
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix='e2e-dashboards-'))
        stack.enter_context(cgroup)
        port, api = start(check, stack, cgroup, folder)
        promtool(check, 'promtool check metrics', 'check', 'metrics', text=scrape(port))
        values = {'datasource': 'prometheus', 'instance': f'127.0.0.1:{port}', 'target': cgroup.name,
                  '__rate_interval': '5s', '__interval': '1s', '__range': '30s'}
        found = files.dashboards()
        for name, dashboard in found.items():
            check_variables(check, api, name, dashboard, values)
            for title, ref, expression in files.queries(dashboard):
                check_query(check, api, f'{name}: "{title}" {ref}', files.substitute(expression, values), cgroup)
        lives = finite(api.query(f'sum(increase(memscope_process_starts_total{{target="{cgroup.name}"}}[10s])) > 0'))
        check('the short-lived processes of the tree are counted', lives, lives)
        check_rules(check, api)
        check_oom_kill(check, api, cgroup)
        for name, dashboard in found.items():  # annotations mark what happened: asked for after it has
            for title, expression in files.annotation_queries(dashboard):
                check_query(check, api, f'{name}: annotation "{title}"', files.substitute(expression, values), cgroup)
    check('nothing is left behind', not os.path.exists(cgroup.path) and not os.path.exists(folder), (cgroup.path, folder))


def main():
    exit_on_signals()
    signal.alarm(90)  # the waits are bounded one by one; this bounds what nobody thought of
    check, began = Checks(), time.monotonic()
    try:
        run(check)
    except (GaveUp, OSError, ValueError, KeyError) as e:
        check(f'the rest could run: {type(e).__name__}', False, e)
    took = time.monotonic() - began
    check('all of it took less than 40 s', took < 40, f'{took:.1f} s')
    return check.finish()


if __name__ == '__main__':
    sys.exit(main())
