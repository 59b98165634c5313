#!/usr/bin/env python3
"""memscope in the environment of a pod of packaging/kubernetes: mount and cgroup namespaces of its own, the capabilities of the
manifest, the processes and cgroups of the host. It must find, name and measure a job outside. Needs root; takes 5 s.

MEMSCOPE names the binary."""
import json
import os
import pathlib
import subprocess
import sys

import yaml

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../support'))
from harness import Cgroup, Checks, process, run_as_root, wait_for  # noqa: E402

SOURCE = pathlib.Path(__file__).resolve().parents[3]
MEMSCOPE = os.environ.get('MEMSCOPE', str(SOURCE / 'build' / 'memscope'))
MANIFEST = SOURCE / 'packaging' / 'kubernetes' / 'memscope.yaml'
MIB = 1 << 20
HOLD = "import time; keep = bytearray(b'x') * (30 << 20); print('ready', flush=True); time.sleep(60)"
check = Checks()


def capabilities():
    daemon = next(d for d in yaml.safe_load_all(MANIFEST.read_text()) if d['kind'] == 'DaemonSet')
    return ','.join(f'+{c.lower()}' for c in daemon['spec']['template']['spec']['containers'][0]['securityContext']['capabilities']['add'])


def main():
    name = f'e2e-view-{os.getpid()}'
    with Cgroup(f'{name}-pod', 400 * MIB) as pod, Cgroup(f'{name}-job', 100 * MIB) as cgroup:
        with process([sys.executable, '-c', HOLD], cgroup, stdout=subprocess.PIPE, text=True, env={**os.environ, 'RANK': '3'}) as job:
            job.stdout.readline()
            # The namespaces are created inside the cgroup of the pod: the cgroup of the job is a sibling of it, not below.
            argv = ['unshare', '--cgroup', '--mount', 'setpriv', '--no-new-privs', f'--bounding-set=-all,{capabilities()}', '--inh-caps=-all',
                    MEMSCOPE, '--cgroup', f'{name}-j*', '--json', '--interval', '200ms', '--duration', '2s', '--linger', '0s', '--listen', 'none', '--report-dir', 'none']
            with process(argv, pod, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as watcher:
                out, err = watcher.communicate(timeout=30)
            wait_for(lambda: not pod.pids(), 5)
    check('the watcher runs in the container and ends with 0', watcher.returncode == 0 and not err, (watcher.returncode, err))
    ticks = [json.loads(line) for line in out.splitlines()]
    last = ticks[-1] if ticks else {'target': {}, 'memory': {}, 'processes': []}
    check('the target has the name it has outside', last['target'].get('name') == f'{name}-job', last['target'])
    check('the limit of the job is found', (last['memory'].get('limit_bytes'), last['memory'].get('limit_owner')) == (100 * MIB, 'own'), last['memory'])
    seen = next((p for p in last['processes'] if p['pid'] == job.pid), {})
    check('the process of the job is listed under its pid', seen.get('rss_anon_bytes', 0) > 30 * MIB, last['processes'])
    check('with its rank, which is read from /proc', seen.get('rank') == 3, seen)


run_as_root(check, main, MEMSCOPE, 60)
