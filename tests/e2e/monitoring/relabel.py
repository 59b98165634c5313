#!/usr/bin/env python3
"""Pod, container and job from the names of targets, as a real Prometheus relabels them. No root, no memscope; takes 5 s."""
import contextlib
import http.server
import os
import sys
import tempfile
import threading

import yaml

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../support'))
import dashboards as files  # noqa: E402
from harness import Checks, GaveUp  # noqa: E402
from monitoring import start_prometheus  # noqa: E402

RELABEL = files.PROMETHEUS / 'relabel.example.yml'
UID, ID = '0f3a4b5c-1d2e-4f60-8a9b-0c1d2e3f4a5b', '0123456789ab' + 'cdef' * 13
POD = UID.replace('-', '_')
# Target to the labels it must get, and no others.
EXPECTED = {
    f'kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{POD}.slice/cri-containerd-{ID}.scope': {'pod_uid': UID, 'container_id': ID[:12]},
    f'kubepods.slice/kubepods-pod{POD}.slice/crio-{ID}.scope': {'pod_uid': UID, 'container_id': ID[:12]},
    f'kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod{POD}.slice': {'pod_uid': UID},
    f'kubepods/burstable/pod{UID}/{ID}': {'pod_uid': UID, 'container_id': ID[:12]},
    f'kubepods/pod{UID}': {'pod_uid': UID},
    f'system.slice/docker-{ID}.scope': {'container_id': ID[:12]},
    f'machine.slice/libpod-{ID}.scope': {'container_id': ID[:12]},
    f'docker/{ID}': {'container_id': ID[:12]},
    'system.slice/slurmstepd.scope/job_4711': {'slurm_job': '4711'},
    'system.slice/slurmstepd.scope/job_4711/step_0': {'slurm_job': '4711', 'slurm_step': '0'},
    'system.slice/slurmstepd.scope/job_4711/step_batch/user/task_0': {'slurm_job': '4711', 'slurm_step': 'batch'},
    'slurm/uid_1000/job_12/step_extern': {'slurm_job': '12', 'slurm_step': 'extern'},
    'job_7': {'slurm_job': '7'},
    'system.slice/jupyter.service': {'unit': 'jupyter'},
    'train': {},
    'my_job_4711': {},
    'job_x': {},
    f'kubepods.slice/kubepods-burstable-pod{POD[:-1]}.slice': {},
    'pid:python': {},
}
OWN = {'__name__', 'job', 'instance', 'target'}


def page():
    """The page that memscope would serve for these targets. A metric without a target must not be changed."""
    lines = ['# TYPE memscope_target_up gauge', *(f'memscope_target_up{{target="{t}"}} 1' for t in EXPECTED)]
    return '\n'.join([*lines, '# TYPE memscope_build_info gauge', 'memscope_build_info{version="1"} 1', '']).encode()


class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header('Content-Type', 'text/plain; version=0.0.4')
        self.end_headers()
        self.wfile.write(page())

    def log_message(self, *_):
        pass


def run(check):
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(http.server.ThreadingHTTPServer(('127.0.0.1', 0), Page))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        stack.callback(server.shutdown)
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix='e2e-relabel-'))
        rules = yaml.safe_load(RELABEL.read_text())['metric_relabel_configs']
        api = start_prometheus(stack, folder, [server.server_port], relabel=rules)
        got = {s['metric']['target']: {k: v for k, v in s['metric'].items() if k not in OWN} for s in api.query('memscope_target_up')}
        for target, labels in EXPECTED.items():
            check(f'{target[:60]}: {labels or "nothing"}', got.get(target) == labels, got.get(target))
        own = [s['metric'] for s in api.query('memscope_build_info')]
        check('series without a target keep their labels', len(own) == 1 and set(own[0]) == OWN - {'target'} | {'version'}, own)
        added = {rule['target_label'] for rule in rules}
        used = {label for labels in EXPECTED.values() for label in labels}
        check('every rule has a target that it is for', added == used, added ^ used)


def main():
    check = Checks()
    try:
        run(check)
    except (GaveUp, OSError, ValueError) as e:
        check(f'the rest could run: {type(e).__name__}', False, e)
    return check.finish()


if __name__ == '__main__':
    sys.exit(main())
