#!/usr/bin/env python3
"""From a leak to a webhook, with Debian's Prometheus and Alertmanager: the alert arrives before the kernel kills.

One memscope watches three jobs in limited cgroups: one leaks until it is killed, one warms up and stays flat, one has spikes.
The rules and the configuration of Alertmanager are those that are shipped, addresses aside. A webhook must receive the alert
about the leak in time, and no alert about the other two jobs. Needs root; takes 80 s, most of it the leak. MEMSCOPE names the
binary.
"""
import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import textwrap
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../support'))
import dashboards as files  # noqa: E402
from harness import Cgroup, Checks, GaveUp, Watcher, process, run_as_root, wait_for  # noqa: E402
from monitoring import Webhook, raised_by, start_alertmanager, start_prometheus  # noqa: E402

MEMSCOPE = os.environ.get('MEMSCOPE', str(files.SOURCE / 'build' / 'memscope'))
MIB = 1 << 20
ALERTMANAGER = files.PROMETHEUS / 'alertmanager.example.yml'
IN_TIME = 20  # seconds: the least time between the message and the kill, so that a person can still act

# Each job is one process that holds the given megabytes over time.
JOB = textwrap.dedent('''
    import math, sys, time
    curve = eval('lambda t: ' + sys.argv[1], {'math': math})
    began, held = time.monotonic(), []
    while True:
        wanted = int(curve(time.monotonic() - began))
        del held[wanted:]
        while len(held) < wanted: held.append(bytearray(b'x') * (1 << 20))
        time.sleep(0.1)
''')
JOBS = {  # name: (limit in MiB, curve in MiB)
    'leak': (230, '30 + 2.6 * t'),
    'warm': (260, '130 * (1 - math.exp(-t / 2.5))'),
    'spiky': (300, '60 + (110 if t % 7 > 6 else 0)'),
}

check = Checks()


def start_jobs(stack):
    """{name: (cgroup, process)}"""
    jobs = {}
    for name, (limit, curve) in JOBS.items():
        cgroup = stack.enter_context(Cgroup(f'e2e-alerting-{os.getpid()}-{name}', limit * MIB))
        jobs[name] = cgroup, stack.enter_context(process([sys.executable, '-c', JOB, curve], cgroup))
    return jobs


def wait_for_death(job, seconds):
    """The time at which the kernel killed the job."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        job.wait(seconds)
    return time.time() if job.poll() is not None else None


def check_in_time(hook, leak, died):
    """The alerts about the leak that the webhook had received when the job died."""
    heard = hook.of(leak.name)
    for when, name, alert in heard:
        print(f'      {died - when:6.1f} s before the kill: {name}: {alert["annotations"]["summary"]}')
    first = next((h for h in heard if h[1] == 'MemscopeOomImminent'), None)
    if not check('MemscopeOomImminent reached the webhook', first, [h[1] for h in heard]):
        return
    check(f'at least {IN_TIME} s before the kernel killed', died - first[0] >= IN_TIME, f'{died - first[0]:.1f} s')
    notes = first[2]['annotations']
    check('the alert says when the limit is reached and what is left', 'The limit is reached in' in notes['description'] and 'of 230MiB' in notes['description'], notes)
    check('the alert names its runbook section', notes['runbook'] == 'docs/alerts.md#memscopeoomimminent', notes)
    check('alerts that MemscopeOomImminent inhibits were not sent', not {h[1] for h in heard} & {'MemscopeLeak', 'MemscopeOomForetold'}, [h[1] for h in heard])
    paths = {path for _, path, alert in hook.received if alert['labels'].get('target') == leak.name and alert['labels']['severity'] == 'critical'}
    check('critical alerts go to the person on call', paths == {'/on-call'}, paths)


def check_after(api, hook, watcher, leak, died, reports):
    """The death is counted, raises an alert, and has a report."""
    killed = wait_for(lambda: hook.of(leak.name, 'MemscopeOomKill'), 20, 0.5)
    check('MemscopeOomKill reached the webhook', killed, [h[1] for h in hook.of(leak.name)])
    here = f'target="{leak.name}"'
    check('the death is counted', watcher.value(f'memscope_deaths_total{{{here},cause="oom_kill"') == 1)
    check('the constraint of the OOM kill is cgroup', watcher.value(f'memscope_oom_kills_total{{{here},constraint="cgroup"') == 1)
    at = watcher.value(f'memscope_last_death_timestamp_seconds{{{here},cause="oom_kill"')
    check('the time of the death is right within 3 s', abs(at - died) < 3, at - died)
    foretold = api.query(f'count_over_time(ALERTS{{alertname="MemscopeOomForetold",alertstate="firing",{here}}}[10m])')
    check('MemscopeOomForetold had fired in Prometheus', foretold, foretold)
    found = [json.loads(p.read_text()) for p in pathlib.Path(reports).glob('death-*.json')]
    check('the report is written', [r['target'] for r in found] == [leak.name], [r['target'] for r in found])
    if found:
        check('the report says that the job was leaking', found[0]['then']['verdicts'][0]['verdict'] == 'leaking', found[0]['then']['verdicts'][0])


def check_silence(api, hook, jobs):
    for name in ('warm', 'spiky'):
        cgroup, job = jobs[name]
        check(f'{name}: runs to the end', job.poll() is None, job.returncode)
        raised = raised_by(api, cgroup.name)
        check(f'{name}: no alert fired at any time', not raised, raised)
        called = [(alert_name, alert['annotations']['description']) for _, alert_name, alert in hook.of(cgroup.name)]
        check(f'{name}: no alert was sent', not called, called)
        judged = api.query(f'memscope_verdict{{target="{cgroup.name}",scope="target"}} == 1')
        print(f'      {name} is called {[j["metric"]["verdict"] for j in judged]}')


def main():
    for tool in ('prometheus', 'prometheus-alertmanager', 'amtool'):
        if not shutil.which(tool):
            raise GaveUp(f'{tool} is missing: packaging/install-deps.sh test e2e')
    checked = subprocess.run(['amtool', 'check-config', ALERTMANAGER], capture_output=True, text=True, timeout=20)
    check('amtool check-config of the example', checked.returncode == 0, checked.stdout + checked.stderr)
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix='e2e-alerting-'))
        hook = stack.enter_context(Webhook())
        manager = start_alertmanager(stack, folder, ALERTMANAGER.read_text().replace('127.0.0.1:9095', f'127.0.0.1:{hook.port}'))
        jobs = start_jobs(stack)
        began = time.time()
        reports = f'{folder}/reports'
        watcher = stack.enter_context(Watcher(MEMSCOPE, folder, '--cgroup', f'e2e-alerting-{os.getpid()}-*', '--interval', '250ms', '--warmup', '8s', '--report-dir', reports))
        api = start_prometheus(stack, folder, [watcher.port], [*files.ALERTS, files.RECORDING], alertmanager=manager)
        leak, job = jobs['leak']
        died = wait_for_death(job, 120)
        if check('the leak is killed', died and job.returncode == -9 and leak.oom_kills() == 1, (job.poll(), leak.oom_kills())):
            print(f'      after {died - began:.0f} s')
            check_in_time(hook, leak, died)
            check_after(api, hook, watcher, leak, died, reports)
        check_silence(api, hook, jobs)


if __name__ == '__main__':
    run_as_root(check, main, MEMSCOPE, 240)
