#!/usr/bin/env python3
"""The portable tarball on a machine that trains: unpacked, not installed, against a real PyTorch job.

    real_machine.py [--without-compile] TARBALL [RESULT.json]

Needs root, cgroup v2 (or v1) and a Python with PyTorch; nothing of what memscope is built with. The job has DataLoader
workers and compiles its model, which takes a C compiler: roles must be right, and numbers must agree with /proc and the
cgroup's own files. A machine without a compiler fails unless --without-compile says that the roles of compile workers
need not be seen.
"""
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / 'support'))
from harness import Cgroup, Checks, GaveUp, exit_on_signals, process, tail, wait_for  # noqa: E402

SECONDS = 90
WORKERS = 3
JOB = f'''
import os, sys, time, torch
from torch.utils.data import DataLoader, Dataset

class Noise(Dataset):
    def __len__(self): return 1 << 20
    def __getitem__(self, i): return torch.randn(256), i % 10

def main():
    device = 'cuda' if torch.cuda.is_available() else 'cpu'
    model = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.ReLU(), torch.nn.Linear(512, 10)).to(device)
    step_of = torch.compile(model) if '--compile' in sys.argv else model
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    said = False
    ballast = torch.ones(64 << 20, dtype=torch.uint8)  # anonymous memory that stays
    until = time.monotonic() + {SECONDS}
    for x, y in DataLoader(Noise(), batch_size=64, num_workers={WORKERS}):
        loss = torch.nn.functional.cross_entropy(step_of(x.to(device)), y.to(device))
        loss.backward(); optimizer.step(); optimizer.zero_grad()
        if not said:
            print('first step', device, flush=True)
            said = True
        if time.monotonic() > until: break
        time.sleep(0.05)

if __name__ == '__main__': main()
'''


def unpack(tarball, folder):
    with tarfile.open(tarball) as archive:
        archive.extractall(folder)
    found = [p for p in Path(folder).rglob('memscope') if p.is_file() and os.access(p, os.X_OK)]
    if len(found) != 1:
        raise GaveUp(f'{tarball} holds {len(found)} programs called memscope')
    return found[0]


def last_tick(program, *options):
    """The last object of a short watch, and the seconds from start to the first one."""
    began, first, line = time.monotonic(), None, None
    with process([str(program), *options, '--json', '--listen', 'none', '--linger', '0s', '--interval', '500ms',
                  '--duration', '4s'], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as watcher:
        for text in watcher.stdout:
            first = first or time.monotonic() - began
            line = text
        watcher.wait(20)
        if not line:
            raise GaveUp('memscope printed no tick: ' + watcher.stderr.read()[-400:])
    return json.loads(line), first


def status_bytes(pid, key):
    with open(f'/proc/{pid}/status') as f:
        for line in f:
            if line.startswith(key + ':'):
                return int(line.split()[1]) * 1024
    return None


def close(a, b, share=0.05, slack=4 << 20):
    return abs(a - b) <= max(share * max(a, b), slack)


def check_numbers(check, tick, cgroup):
    current = int(Path(cgroup.path, 'memory.current' if cgroup.version == 2 else 'memory.usage_in_bytes').read_text())
    check('usage is the cgroup\'s own', close(tick['memory']['usage_bytes'], current), (tick['memory'], current))
    kinds = tick['memory']['by_kind']
    check('kinds add up to usage', close(sum(kinds.values()), tick['memory']['usage_bytes'], 0.02), kinds)
    for p in tick['processes']:
        try:
            anon, file, shmem, size = (status_bytes(p['pid'], k) for k in ('RssAnon', 'RssFile', 'RssShmem', 'VmSize'))
        except OSError:
            continue  # gone meanwhile
        name = f'{p["role"]} {p["pid"]}'
        check(f'{name}: anonymous memory is that of /proc', close(p['rss_anon_bytes'], anon), (p['rss_anon_bytes'], anon))
        check(f'{name}: file memory is that of /proc', close(p['rss_file_bytes'], file), (p['rss_file_bytes'], file))
        check(f'{name}: shared memory is that of /proc', close(p['rss_shmem_bytes'], shmem), (p['rss_shmem_bytes'], shmem))
        check(f'{name}: virtual size is that of /proc', close(p['virtual_bytes'], size, 0.01), (p['virtual_bytes'], size))


def check_processes(check, tick, before, after):
    """Compares the tick with the processes of the cgroup before and after it. A process that started or ended meanwhile may be in it or not."""
    seen = {p['pid'] for p in tick['processes']}
    pids = [sorted(some) for some in (before, seen, after)]
    check('every process that stayed in the cgroup is there', before & after <= seen and len(seen) >= WORKERS + 1, pids)
    check('no process outside of the cgroup is listed', seen <= before | after, pids)


def check_roles(check, tick, compiled):
    roles = {}
    for p in tick['processes']:
        roles.setdefault(p['role'], []).append((p['pid'], p['comm']))
    print('     roles', {role: len(who) for role, who in roles.items()}, flush=True)
    check('one trainer', len(roles.get('trainer', [])) == 1, roles)
    check(f'{WORKERS} DataLoader workers', len(roles.get('dataloader_worker', [])) == WORKERS, roles)
    if compiled:
        check('compile workers are seen as such', roles.get('compile_worker'), roles)
    check('no process has the role "other"', not roles.get('other'), roles)
    return {role: len(who) for role, who in roles.items()}


def run(check, tarball, folder, compiles=True):
    program = unpack(tarball, folder)
    linked = subprocess.run(['ldd', str(program)], capture_output=True, text=True).stdout
    check('every library is found', 'not found' not in linked, linked)
    doctor = subprocess.run([str(program), 'doctor', '--json'], capture_output=True, text=True)
    check('doctor says that watching works', doctor.returncode == 0, doctor.stdout[-600:] + doctor.stderr[-600:])
    print(subprocess.run([str(program), 'doctor'], capture_output=True, text=True).stdout, flush=True)
    result = {'machine': os.uname().machine, 'kernel': os.uname().release, 'doctor': json.loads(doctor.stdout)}

    job = Path(folder, 'train.py')
    job.write_text(JOB)
    compiled = compiles and check('a C compiler is there to compile the model, else say --without-compile',
                                  shutil.which('cc') or shutil.which('gcc'))
    print('     the model is', 'compiled' if compiled else 'not compiled', flush=True)
    argv = [sys.executable, str(job), *(['--compile'] if compiled else [])]
    environment = {**os.environ, 'TORCHINDUCTOR_COMPILE_THREADS': '4', 'HOME': folder, 'TMPDIR': folder}
    log = Path(folder, 'job.log')
    with Cgroup(f'ms-real-{os.getpid()}', 32 << 30) as cgroup, log.open('w') as out, \
            process(argv, cgroup, stdout=out, stderr=out, env=environment) as trainer:
        stepped = wait_for(lambda: 'first step' in tail(log, 4000) or trainer.poll() is not None, SECONDS)
        if not check('the job trains', stepped and trainer.poll() is None, tail(log, 1500)):
            return result
        print('     ' + tail(log, 60).splitlines()[-1], flush=True)
        time.sleep(3)
        before = set(cgroup.pids())
        tick, first = last_tick(program, '--cgroup', cgroup.name)
        after = set(cgroup.pids())
        result.update(first_tick_seconds=round(first, 3), roles=check_roles(check, tick, compiled), self=tick['self'])
        check('the first tick comes within a second', first < 1, first)
        check_processes(check, tick, before, after)
        check_numbers(check, tick, cgroup)
        dropped = {k: v for k, v in tick['self'].get('dropped', {}).items() if v}
        check('no event of the watcher was lost', not dropped, dropped)
        by_pid, _ = last_tick(program, '--pid', str(trainer.pid))
        check('--pid sees the same tree', {p['pid'] for p in by_pid['processes']} >= {trainer.pid} and
              len(by_pid['processes']) >= WORKERS + 1, [p['comm'] for p in by_pid['processes']])
    return result


def try_here(run, usage):
    """Runs the checks of a script for a real machine, and writes their figures into a file if one is named."""
    if len(sys.argv) not in (2, 3):
        print(usage, file=sys.stderr)
        return 2
    exit_on_signals()
    check = Checks()
    with tempfile.TemporaryDirectory(prefix='memscope-real-') as folder:
        try:
            result = run(check, sys.argv[1], folder)
        except GaveUp as gave_up:
            check(str(gave_up), False)
            result = {}
    result.update(passed=check.passed, failed=check.failed)
    if len(sys.argv) == 3:
        Path(sys.argv[2]).write_text(json.dumps(result, indent=2) + '\n')
    return check.finish()


def main():
    compiles = '--without-compile' not in sys.argv
    if not compiles:
        sys.argv.remove('--without-compile')
    return try_here(lambda *given: run(*given, compiles), __doc__)


if __name__ == '__main__':
    sys.exit(main())
