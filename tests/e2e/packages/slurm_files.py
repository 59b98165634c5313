#!/usr/bin/env python3
"""The Slurm scripts with fake Slurm commands: the list of nodes, the comment of a job that died. No root; takes 2 s.

MEMSCOPE names the binary: `memscope report` of the epilog is the real one.
"""
import base64
import http.server
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import zlib

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../support'))
from harness import Checks, free_port  # noqa: E402

SOURCE = pathlib.Path(__file__).resolve().parents[3]
SLURM = SOURCE / 'packaging' / 'slurm'
MEMSCOPE = os.environ.get('MEMSCOPE', str(SOURCE / 'build' / 'memscope'))
NODES = 'gpu-01 train\ngpu-02 train\ngpu-01 debug\nlogin login\n'
REPORT = SOURCE / 'tests' / 'fuzz' / 'corpus' / 'report' / 'oom_kill'
check = Checks()


class Node:
    """A folder at the front of PATH with fake programs that record their arguments."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        (self.folder / 'bin').mkdir()
        (self.folder / 'reports').mkdir()
        for name in ('scontrol', 'logger'):
            self.program(name, f'printf "%s\\n" "$@" >> {folder}/{name}.said')
        os.symlink(MEMSCOPE, self.folder / 'bin' / 'memscope')

    def program(self, name, script):
        path = self.folder / 'bin' / name
        path.write_text(f'#!/bin/sh\n{script}\n')
        path.chmod(0o755)

    def run(self, script, **environment):
        path = f'{self.folder}/bin:{os.environ["PATH"]}'
        return subprocess.run([SLURM / script], env={'PATH': path, 'MEMSCOPE_REPORTS': f'{self.folder}/reports', **environment},
                              capture_output=True, text=True, timeout=20)

    def said(self, name):
        path = self.folder / f'{name}.said'
        return path.read_text().splitlines() if path.exists() else []

    def report(self, name, comm='python3'):
        """A report of memscope about the death of a process with this name."""
        assert len(comm) == len('python3')  # the name has the same length, so that the lengths in the record stay correct
        content = json.loads(REPORT.read_text())
        record = base64.b64decode(content['record'])[:-4].replace(b'python3', comm.encode())
        content['record'] = base64.b64encode(record + zlib.crc32(record).to_bytes(4, 'little')).decode()
        (self.folder / 'reports' / name).write_text(json.dumps(content))


def targets(node):
    node.program('sinfo', f"printf '%s' '{NODES}'")
    run = node.run('memscope-targets')
    listed = json.loads(run.stdout)
    check('every node is listed once', [t['targets'] for t in listed] == [['gpu-01:9750'], ['gpu-02:9750'], ['login:9750']], listed)
    check('with its partitions', [t['labels'] for t in listed][0] == {'instance': 'gpu-01', 'partition': 'train,debug'}, listed)
    check('at another port', 'login:9000' in node.run('memscope-targets', MEMSCOPE_PORT='9000').stdout)
    for what, script in (('fails', 'exit 1'), ('says nothing', 'true'), ('says nonsense', "echo 'a\"b c'"), ('says an error', "echo 'slurm_load_node error: x'")):
        node.program('sinfo', script)
        run = node.run('memscope-targets')
        check(f'where sinfo {what}: an error, and no list', run.returncode != 0 and not run.stdout, run)


def prolog(node):
    run = node.run('prolog.sh', SLURM_JOB_ID='12', MEMSCOPE_PORT=str(free_port()))
    check('a node that is not watched is logged', run.returncode == 0 and 'job 12 starts on a node that memscope does not watch' in node.said('logger'), node.said('logger'))
    before = len(node.said('logger'))

    class Healthy(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200 if self.path == '/-/healthy' else 404)
            self.end_headers()

        def log_message(self, *_):
            pass
    with http.server.ThreadingHTTPServer(('127.0.0.1', 0), Healthy) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        run = node.run('prolog.sh', SLURM_JOB_ID='12', MEMSCOPE_PORT=str(server.server_port))
        server.shutdown()
    check('the prolog logs nothing on a watched node', run.returncode == 0 and len(node.said('logger')) == before, node.said('logger'))

    alone = {'PATH': f'{node.folder}/bin', 'SLURM_JOB_ID': '12'}
    subprocess.run([SLURM / 'prolog.sh'], env=alone, check=True, timeout=20)
    check('without curl nothing is claimed', node.said('logger')[before:][-1:] == ['job 12 starts on a node without curl: whether memscope watches it is not known'], node.said('logger'))


def epilog(node):
    for name in ('death-20261115T154846Z-system.slice_slurmstepd.scope_job_123-9.json', 'death-20261115T154847Z-train-4711.json'):
        node.report(name)
    run = node.run('epilog.sh', SLURM_JOB_ID='12')
    check('a job without a death has no comment', run.returncode == 0 and not node.said('scontrol'), node.said('scontrol'))
    node.report('death-20261115T154848Z-system.slice_slurmstepd.scope_job_12-4711.json', comm='py\x1b[2Jn')
    run = node.run('epilog.sh', SLURM_JOB_ID='12')
    said = node.said('scontrol')
    check('one with a death has', run.returncode == 0 and said[:2] == ['update', 'JobId=12'], (run, said))
    comment = said[2] if len(said) > 2 else ''
    check('the comment of the job says why it was killed', comment.startswith('AdminComment=The kernel') and 'limit of 512 MiB' in comment, comment)
    check('in plain text', comment.isascii() and comment.isprintable() and len(comment) <= 420, comment)
    check('the log has it, too', any(line.startswith('job 12: The kernel') for line in node.said('logger')), node.said('logger'))
    for odd in ('', '12; rm -rf /', '*'):
        before = len(node.said('scontrol'))
        run = node.run('epilog.sh', SLURM_JOB_ID=odd)
        check(f'a job called {odd!r} is none', run.returncode == 0 and len(node.said('scontrol')) == before, run)


def main():
    if not os.access(MEMSCOPE, os.X_OK):
        check(f'there is a memscope at {MEMSCOPE}', False)
        return check.finish()
    for part in (targets, prolog, epilog):
        with tempfile.TemporaryDirectory(prefix='e2e-slurm-') as folder:
            part(Node(folder))
    return check.finish()


if __name__ == '__main__':
    sys.exit(main())
