#!/usr/bin/env python3
"""The capabilities that memscope needs and keeps: without root with exactly these capabilities, without each of them, and
those that root drops once it watches. This proves the table in docs/least-privilege.md. Needs root."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../support'))
from harness import Cgroup, Checks, Watcher, exit_on_signals, process, wait_for  # noqa: E402

SOURCE = pathlib.Path(__file__).resolve().parents[3]
MEMSCOPE = os.environ.get('MEMSCOPE', str(SOURCE / 'build' / 'memscope'))
ALL = ['bpf', 'perfmon', 'dac_read_search', 'sys_ptrace']
NUMBERS = {'bpf': 39, 'perfmon': 38, 'dac_read_search': 2, 'sys_ptrace': 19}
MASK = sum(1 << n for n in NUMBERS.values())
SOMEBODY, ANOTHER = 65533, 65532  # the job's user, and the watcher's

check = Checks()


def as_user(capabilities, *argv):
    caps = ','.join(['-all', *('+' + c for c in capabilities)])
    return ['setpriv', f'--reuid={ANOTHER}', f'--regid={ANOTHER}', '--clear-groups', f'--bounding-set={caps}', f'--inh-caps={caps}', f'--ambient-caps={caps}', *argv]


def watch(program, cgroup, capabilities, **kw):
    """Exit status, the last tick, standard error."""
    run = subprocess.run(as_user(capabilities, program, '--cgroup', cgroup.name, '--json', '--listen', 'none', '--duration', '500ms', '--interval', '100ms'),
                         capture_output=True, text=True, timeout=60, **kw)
    ticks = [json.loads(line) for line in run.stdout.splitlines()]
    return run.returncode, ticks[-1] if ticks else None, run.stderr


def seen(tick):
    """(resident memory is there, rank, /dev/shm is there) of the one process."""
    row = tick['processes'][0] if tick and tick['processes'] else None
    return row and (row['rss_anon_bytes'] > 0, row['rank'], bool(tick.get('shm')))


def without_root(program, cgroup):
    code, tick, err = watch(program, cgroup, ALL)
    check('with all four: everything is seen', code == 0 and seen(tick) == (True, 7, True), (code, seen(tick), err))
    dropped = [k for k, v in tick['self']['dropped'].items() if v]
    check('every hook is attached and no event is lost', all(tick['self']['probes'].values()) and not dropped, (tick['self']['probes'], dropped))
    for missing in 'bpf', 'perfmon':
        code, tick, err = watch(program, cgroup, [c for c in ALL if c != missing])
        check(f'without {missing}: 2, and one line that says so', code == 2 and tick is None and len(err.splitlines()) == 1 and f'CAP_{missing.upper()}' in err, (code, err))
    code, tick, err = watch(program, cgroup, ['bpf', 'perfmon', 'sys_ptrace'])
    check('without dac_read_search: no rank', code == 0 and seen(tick) == (True, None, True), (code, seen(tick), err))
    code, tick, err = watch(program, cgroup, ['bpf', 'perfmon', 'dac_read_search'])
    check('without sys_ptrace: no /dev/shm', code == 0 and seen(tick) and seen(tick)[0] and not seen(tick)[2], (code, seen(tick), err))


def doctor(program):
    for held in ALL, ['bpf', 'perfmon'], []:
        run = subprocess.run(as_user(held, program, 'doctor', '--json'), capture_output=True, text=True, timeout=60)
        told = {c['name']: c['held'] for c in json.loads(run.stdout)['capabilities']}
        check(f'doctor --json with {held or "none"}', told == {f'CAP_{c.upper()}': c in held for c in ALL}, told)
        check('the exit status of doctor is that of its capabilities', run.returncode == (0 if 'bpf' in held else 2), run.returncode)
    text = subprocess.run(as_user(['bpf', 'perfmon'], program, 'doctor'), capture_output=True, text=True, timeout=60).stdout
    check('doctor says what fails', re.search(r'-- +CAP_DAC_READ_SEARCH +no ranks', text) and re.search(r'ok +CAP_BPF', text), text)


def status_of(pid):
    """Of every thread: {'CapEff': number, ...}."""
    found = []
    for task in os.listdir(f'/proc/{pid}/task'):
        text = pathlib.Path(f'/proc/{pid}/task/{task}/status').read_text()
        found.append({k: int(v, 16) for k, v in re.findall(r'^(Cap\w+|NoNewPrivs):\s*([0-9a-f]+)$', text, re.M)})
    return found


def as_root(folder, cgroup):
    with Watcher(MEMSCOPE, folder, '--cgroup', cgroup.name) as watcher:
        wanted = {'CapInh': 0, 'CapPrm': MASK, 'CapEff': MASK, 'CapBnd': MASK, 'CapAmb': 0, 'NoNewPrivs': 1}
        threads = status_of(watcher.child.pid)
        check('root keeps the four and no more, in every thread', len(threads) > 1 and all(t == wanted for t in threads), threads)
        tick = json.loads(subprocess.run([MEMSCOPE, 'status', '--json', '--target', cgroup.name], capture_output=True, timeout=20).stdout)
        check('a watcher with few capabilities sees the job', seen(tick) == (True, 7, True), seen(tick))
    script = 'grep -E "^(CapBnd|NoNewPrivs)" /proc/self/status; trap "exit 9" TERM; echo ready; while :; do sleep 0.05; done'
    mine = status_of('self')[0]
    with process([MEMSCOPE, '--listen', 'none', '--quiet', '--', 'sh', '-c', script], stdout=subprocess.PIPE, text=True, env={**os.environ, 'SUDO_UID': '65534'}) as running:
        told = [running.stdout.readline() for _ in range(3)]
        check('a command keeps what it had', told[:2] == [f'CapBnd:\t{mine["CapBnd"]:016x}\n', f'NoNewPrivs:\t{mine["NoNewPrivs"]}\n'], told)
        check('the watcher may send signals to the command and remove its cgroup', status_of(running.pid)[0]['CapEff'] == MASK | 1 << 5 | 1 << 1, status_of(running.pid))
        running.terminate()
        check('which arrive, although it runs as another user', running.wait(15) == 9, running.returncode)


def as_a_service(program, cgroup):
    """Runs the watcher with a directory for its socket, as systemd makes it. /run/memscope itself still belongs to root."""
    own = '/run/memscope/e2e-service'
    os.makedirs(own)
    os.chown(own, ANOTHER, ANOTHER)
    try:
        argv = as_user(ALL, program, '--cgroup', cgroup.name, '--listen', 'none', '--interval', '100ms')
        with process(argv, stdout=subprocess.DEVNULL, env={**os.environ, 'RUNTIME_DIRECTORY': own}) as running:
            check('the socket is in the directory of the service', wait_for(lambda: os.listdir(own) == [f'{running.pid}.sock'], 10), os.listdir(own))
            run = subprocess.run([MEMSCOPE, 'status', '--json', '--target', cgroup.name], capture_output=True, timeout=20)
            check('root finds it there', run.returncode == 0 and seen(json.loads(run.stdout)) == (True, 7, True), run)
        check('the socket is removed at the end', os.listdir(own) == [], os.listdir(own))
    finally:
        shutil.rmtree(own)


# Grows a little, then far beyond its limit in one step. In small steps it would spend its time reading the pages of its own
# program back from disk.
GROWS = """import sys
sys.stdin.readline()
kept = [b'x' * (1 << 20) for _ in range(64)]
print('grown', flush=True)
sys.stdin.readline()
kept.append(b'x' * (1 << 30))
"""


def growth_and_death(program, folder, capabilities):
    """What a watcher without root reports about the growth and the death of another user's job: (call site, lines)."""
    script, told = pathlib.Path(folder, 'grows.py'), pathlib.Path(folder, 'told')
    script.write_text(GROWS)
    own = tempfile.mkdtemp(dir='/run/memscope', prefix='e2e-')
    os.chown(own, ANOTHER, ANOTHER)
    job = ['setpriv', f'--reuid={SOMEBODY}', f'--regid={SOMEBODY}', '--clear-groups', '/usr/bin/python3', str(script)]
    try:
        with Cgroup(f'ms-privilege-grows-{os.getpid()}', 256 << 20) as cgroup, open(told, 'wb') as out, \
                process(job, cgroup, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as grows, \
                process(as_user(capabilities, program, '--cgroup', cgroup.name, '--listen', 'none', '--interval', '100ms', '--report-dir', 'none'),
                        stdout=out, env={**os.environ, 'RUNTIME_DIRECTORY': own}):
            def largest():
                run = subprocess.run([MEMSCOPE, 'growth', '--target', cgroup.name, '--format', 'json'], capture_output=True, timeout=20)
                sites = json.loads(run.stdout)['resident'] if run.returncode == 0 else []
                return sites[0] if sites and sites[0]['bytes'] > 48 << 20 else None
            wait_for(lambda: os.listdir(own), 10)
            wait_for(lambda: False, 1)  # until the watcher has recognized the interpreter
            grows.stdin.write('\n')
            grows.stdin.flush()
            grows.stdout.readline()
            wait_for(largest, 5)
            site = largest()
            grows.stdin.write('\n')
            grows.stdin.flush()
            wait_for(lambda: 'death:' in told.read_text(), 30)
            return site, told.read_text()
    finally:
        shutil.rmtree(own)


def of_others(program, folder):
    site, told = growth_and_death(program, folder, ALL)
    check('with all four: the line of Python that grew', site and site['python'] and site['python'][0]['line'] == 3, site)
    check('with all four capabilities: the OOM kill is explained', "the kernel's OOM killer killed python3" in told and 'its own limit of 256 MiB' in told, told)
    site, told = growth_and_death(program, folder, [c for c in ALL if c != 'sys_ptrace'])
    check('without sys_ptrace: no line of Python, but the native stack', site and not site['python'] and site['native'], site)
    check('without sys_ptrace: the OOM kill is explained', "the kernel's OOM killer killed python3" in told and 'its own limit of 256 MiB' in told, told)


def main():
    exit_on_signals()
    job = ['setpriv', f'--reuid={SOMEBODY}', f'--regid={SOMEBODY}', '--clear-groups', 'sleep', '120']
    with tempfile.TemporaryDirectory() as folder, Cgroup(f'ms-privilege-{os.getpid()}', 256 << 20) as cgroup:
        os.chmod(folder, 0o755)
        program = shutil.copy(MEMSCOPE, folder)  # a copy that every user may run
        with process(job, cgroup, env={**os.environ, 'RANK': '7'}) as sleeper:
            wait_for(lambda: pathlib.Path(f'/proc/{sleeper.pid}/comm').read_text() == 'sleep\n', 5)
            without_root(program, cgroup)
            doctor(program)
            as_root(folder, cgroup)
            as_a_service(program, cgroup)
        of_others(program, folder)
    return check.finish()


if __name__ == '__main__':
    sys.exit(main())
