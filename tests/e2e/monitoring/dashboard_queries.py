#!/usr/bin/env python3
"""Every query of every dashboard, against a real Prometheus that scraped a real memscope while demos ran.

Four jobs are watched: the demos `leak` and `workers`, a small process tree in a limited cgroup, of which the OOM killer kills
one process at the end, and a job that leaks GPU memory until the driver refuses an allocation (support/gpu_job.py). Each panel,
variable and annotation must return data for one of these jobs, for the time that was scraped. Prometheus must evaluate every rule,
and the rules about GPUs must fire. Needs root, prometheus and promtool; takes 30 s. MEMSCOPE names the binary.
"""
import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../support'))
import dashboards as files  # noqa: E402
from gpu_job import OURS, GpuJob  # noqa: E402
from harness import Cgroup, Checks, GaveUp, Watcher, free_port, memory_hierarchy, process, run_as_root, wait_for  # noqa: E402
from monitoring import raised_by, start_prometheus  # noqa: E402

MEMSCOPE = os.environ.get('MEMSCOPE', str(files.SOURCE / 'build' / 'memscope'))
LIMIT = 96 << 20
ON_DEATH = 'sh -c "test $MEMSCOPE_CAUSE = oom_kill"'  # succeeds for one of the two deaths and fails for the other
SECONDS = 20  # of the demos

# Metrics that this machine may not have. If the condition holds, there must be data; otherwise there must be none. Metrics
# that are not listed must always have data.
CONDITIONAL = {
    'memscope_pressure_stalled_seconds_total':
        ('the cgroup has PSI', lambda cgroup: cgroup.has_pressure(), "v1 has no memory.pressure, and the host's is never put under a target"),
}
# The alerts that the job on GPUs must raise, and the words that their texts must contain.
GPU_ALERTS = {
    'MemscopeGpuNearlyFull': ('GPU 0 of', 'is 96.88% full', '62GiB of 64GiB are in use'),
    'MemscopeGpuLeak': ('leaks', 'of GPU memory', f'on {OURS} keeps rising', 'the GPU is full in'),
    'MemscopePinnedGrowth': ('The pinned host memory of', 'grows by', 'are pinned'),
    'MemscopeGpuAllocFailed': ('The CUDA driver refused', '1 allocation(s)', f'on {OURS}'),
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

# Allocates twice the limit, and raises its oom_score_adj so that the kernel kills it and not the tree.
HOG = textwrap.dedent(f'''
    open('/proc/self/oom_score_adj', 'w').write('1000')
    keep = []
    for _ in range({2 * LIMIT} >> 20): keep.append(b'x' * (1 << 20))
''')

check = Checks()


def start_demo(stack, scenario):
    """The name of the cgroup of a demo that runs."""
    environment = {**os.environ, 'MEMSCOPE_DEMO_SECONDS': str(SECONDS)}
    demo = stack.enter_context(process([MEMSCOPE, 'demo', scenario], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
    name = f'memscope-demo-{demo.pid}'
    if not wait_for(lambda: os.path.isdir(f'{memory_hierarchy()[0]}/{name}'), 60, 0.05):
        raise GaveUp(f'the demo {scenario} does not start')
    return name


def start_tree(stack, cgroup):
    tree = stack.enter_context(process([sys.executable, '-c', TREE], cgroup, stdout=subprocess.PIPE, text=True, env={**os.environ, 'RANK': '0'}))
    if tree.stdout.readline().strip() != 'READY':
        raise GaveUp(f'the tree did not start in {cgroup.path}')


def check_variables(api, name, dashboard, port, targets):
    """Each variable offers the values with which the panels are then queried."""
    known = {'instance': f'127.0.0.1:{port}', 'target': targets[-1]}
    wanted = {**known, 'role': 'dataloader_worker', 'rank': '0', 'gpu': OURS}
    for variable, query in files.variables(dashboard):
        selector, label = files.label_values(files.substitute(query, known))
        offered = sorted({s[label] for s in api.series(selector) if s.get(label)})
        check(f'{name}: ${variable} offers {wanted[variable]}', wanted[variable] in offered, offered)


def points(api, expression, port, targets, since):
    """The data that a panel could draw, for the target that has most data."""
    values = {'datasource': 'prometheus', 'instance': f'127.0.0.1:{port}', 'role': '.*', 'rank': '.*', 'gpu': '.*',
              '__rate_interval': '5s', '__interval': '1s', '__range': '60s'}
    return max(api.drawn(files.substitute(expression, {**values, 'target': target}), since, time.time()) for target in targets)


def check_query(api, name, title, ref, expression, port, targets, since, cgroup):
    """There is data if the machine can have it, and none otherwise."""
    what, due = f'{name}: "{title}" {ref}', True
    for metric in files.metric_names(expression) & CONDITIONAL.keys():
        condition, holds, reason = CONDITIONAL[metric]
        due = due and holds(cgroup)
        what += f', {condition}' if due else f': none, since not "{condition}" ({reason})'
    try:
        # The last step that is drawn may be older than the newest samples.
        drawn = wait_for(lambda: points(api, expression, port, targets, since), 4 if due else 0, 0.5)
    except ValueError as e:
        check(what, False, e)
        return
    check(what, drawn if due else not drawn, f'{expression} -> {drawn} points')


def check_tables(api, name, dashboard, port, target):
    """Results of several queries of a table are in one row only if their labels are equal."""
    values = {'instance': f'127.0.0.1:{port}', 'target': target}
    for panel in files.panels(dashboard):
        if panel['type'] == 'table' and len(panel['targets']) > 1:
            answers = [api.query(files.substitute(t['expr'], values)) for t in panel['targets']]
            rows = {json.dumps(sample['metric'], sort_keys=True) for answer in answers for sample in answer}
            check(f'{name}: "{panel["title"]}" has one row for one job', len(rows) == 1 and all(len(a) <= 1 for a in answers), rows)


def check_rules(api, tree):
    expected = sorted(r.get('alert') or r['record'] for path in (*files.ALERTS, files.RECORDING) for r in files.rules(path))
    rules = api.rules()
    check('Prometheus has loaded every rule', sorted(r['name'] for r in rules) == expected, [r['name'] for r in rules])
    sick = [(r['name'], r.get('lastError')) for r in rules if r['health'] != 'ok']
    check('every rule evaluates', not sick, sick)
    check('no alert fires on a healthy job', not raised_by(api, tree), raised_by(api, tree))


def check_oom_kill(api, cgroup):
    """A real kill in the limited cgroup, and the alert that follows it."""
    before = cgroup.oom_kills()
    with process([sys.executable, '-c', HOG], cgroup, stderr=subprocess.DEVNULL) as hog:
        with contextlib.suppress(subprocess.TimeoutExpired):
            hog.wait(10)
        killed = hog.poll() == -9 and cgroup.oom_kills() > before
    if not check('the kernel killed a process of the cgroup for memory', killed, f'status {hog.returncode}, oom_kill {cgroup.oom_kills()}'):
        return
    alert = wait_for(lambda: [a for a in api.firing() if a['labels']['alertname'] == 'MemscopeOomKill'], 8, 0.3)
    if not check('MemscopeOomKill fires', alert, api.query('memscope_memory_events_total{event="oom_kill"}')):
        return
    check('MemscopeOomKill names the job', alert[0]['labels'].get('target') == cgroup.name, alert[0]['labels'])
    summary, description = alert[0]['annotations']['summary'], alert[0]['annotations']['description']
    check('MemscopeOomKill says how many and against which limit', 'killed 1 ' in summary and 'The effective limit is ' in description, (summary, description))
    # Recording rules contain the death one evaluation later.
    check('the death is recorded', wait_for(lambda: api.query('increase(target:memscope_deaths_total:sum[1m]) > 0'), 8, 0.3))


def check_gpu_alerts(api, job):
    """The rules about GPUs with data of a live memscope; then the end of the job."""
    for name, words in GPU_ALERTS.items():
        alert = wait_for(lambda: [a for a in api.firing() if a['labels']['alertname'] == name], 10, 0.3)
        if check(f'{name} fires', alert, api.query('memscope_verdict{scope=~"gpu|pinned"} == 1')):
            said = f'{alert[0]["annotations"]["summary"]}. {alert[0]["annotations"]["description"]}'
            check(f'{name} says what it must', len(alert) == 1 and all(w in said for w in words), [a['annotations'] for a in alert])
    check('the job on GPUs ends for want of their memory', job.run_out_of_memory() == 1, job.child.returncode)
    dead = wait_for(lambda: [a for a in api.firing() if a['labels']['alertname'] == 'MemscopeCudaOom'], 8, 0.3)
    if check('MemscopeCudaOom fires', dead, api.query('memscope_deaths_total{cause="cuda_oom"}')):
        check('MemscopeCudaOom names the job', dead[0]['labels'].get('target') == job.cgroup.name, dead[0]['labels'])


def hurried(folder, path):
    """A copy of a rule file with two seconds for each `for:` of minutes: tests/*.test.yml test the real durations."""
    copy = os.path.join(folder, path.name)
    with open(copy, 'w') as f:
        f.write(re.sub(r'^( +for:) .*$', r'\1 2s', path.read_text(), flags=re.M))
    return copy


def main():
    for tool in ('prometheus', 'promtool'):
        if not shutil.which(tool):
            raise GaveUp(f'{tool} is missing')
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix='e2e-dashboards-'))
        cgroup = stack.enter_context(Cgroup(f'e2e-dashboards-{os.getpid()}', LIMIT))
        # Starts Prometheus first, because panels also show the verdict of the first seconds.
        port, since = free_port(), time.time()
        rules = [hurried(folder, p) if '.gpu.' in p.name else p for p in files.ALERTS]
        api = start_prometheus(stack, folder, [port], [*rules, files.RECORDING])
        start_tree(stack, cgroup)
        gpus = stack.enter_context(Cgroup(f'e2e-dashboards-{os.getpid()}-gpu', 1 << 30))
        job = stack.enter_context(GpuJob(folder, gpus))
        targets = [gpus.name, start_demo(stack, 'leak'), start_demo(stack, 'workers'), cgroup.name]
        began = time.time()
        watcher = stack.enter_context(Watcher(MEMSCOPE, folder, '--interval', '500ms', '--warmup', '3s', '--torch', '--report-dir', 'none',
                                              '--on-death', ON_DEATH, *(x for t in targets for x in ('--cgroup', t)), port=port,
                                              env=job.environment))
        pinned = f'memscope_pinned_host_bytes{{target="{gpus.name}"'
        followed = wait_for(lambda: any(line.startswith(pinned) for line in watcher.get('/metrics')[1].decode().splitlines()), 20)
        check('the driver of the job on GPUs is followed', followed)
        job.go_on()
        page = watcher.get('/metrics')[1].decode()
        run = subprocess.run(['promtool', 'check', 'metrics'], input=page, capture_output=True, text=True, timeout=20)
        check('promtool check metrics', run.returncode == 0, (run.stdout + run.stderr)[-500:])
        time.sleep(max(0, began + SECONDS - 1 - time.time()))
        check_rules(api, cgroup.name)
        check_oom_kill(api, cgroup)
        check_gpu_alerts(api, job)
        for name, dashboard in files.dashboards().items():
            check_variables(api, name, dashboard, watcher.port, targets)
            asked = [*files.queries(dashboard), *((title, 'as annotation', e) for title, e in files.annotation_queries(dashboard))]
            for title, ref, expression in asked:
                check_query(api, name, title, ref, expression, watcher.port, targets, since, cgroup)
            check_tables(api, name, dashboard, watcher.port, cgroup.name)
        lost = CONDITIONAL.keys() - {m for d in files.dashboards().values() for e in files.expressions(d) for m in files.metric_names(e)}
        check('every metric that may be missing is used by a dashboard', not lost, lost)
        watcher.child.terminate()
        check('the watcher ends', watcher.child.wait(30) == 0)  # the kernel takes a while to detach probes from a driver
    check('no cgroup and no folder are left behind', not os.path.exists(cgroup.path) and not os.path.exists(folder), (cgroup.path, folder))


if __name__ == '__main__':
    run_as_root(check, main, MEMSCOPE, 150)
