#!/usr/bin/env python3
"""kill -9 at any moment of a watcher or a demo: no process is left, and the next one starts and removes what was left behind.

Needs root; takes a minute. MEMSCOPE names the binary (default: build/memscope below the source tree), KILL9_ROUNDS how
often (default 20), KILL9_SEED repeats a run.
"""
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../support'))
from harness import Cgroup, Checks, GaveUp, Watcher, exit_on_signals, memory_hierarchy, process, wait_for  # noqa: E402

SOURCE = pathlib.Path(__file__).resolve().parents[3]
MEMSCOPE = os.environ.get('MEMSCOPE', str(SOURCE / 'build' / 'memscope'))
ROUNDS = int(os.environ.get('KILL9_ROUNDS', 20))
PATIENCE = 20  # seconds, for a busy machine
SEED = int(os.environ.get('KILL9_SEED', time.time_ns() % 1000000))
LATEST = 1.5  # seconds after its start
SLEEPER = [sys.executable, '-c', 'import signal; signal.pause()']
PROGRAMS = 'tree_', 'tasks_', 'memory_'  # the prefix of the names of our BPF programs
MAPS = (*PROGRAMS, 'tree.', 'tasks.', 'memory.', 'targets', 'losses', 'cpu_offsets')

check = Checks()


def session_members(leader):
    """Living processes of the session that `leader` began: itself and what it forked, wherever it moved to."""
    found = []
    for stat in pathlib.Path('/proc').glob('[0-9]*/stat'):
        try:
            text = stat.read_text(errors='replace')
        except OSError:
            continue
        fields = text.rpartition(')')[2].split()
        if int(fields[3]) == leader and fields[0] not in 'ZX':
            found.append(text[:40])
    return found


def own_things(pid):
    """The socket and the demo cgroup of a memscope with this pid, if they exist."""
    return [path for path in (f'/run/memscope/{pid}.sock', f'{memory_hierarchy()[0]}/memscope-demo-{pid}') if os.path.lexists(path)]


def kill_at(argv, seconds):
    """Starts argv, kills it after that time, returns its pid; None if it ended by itself, and that is a failure."""
    with process(argv, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True) as child:
        time.sleep(seconds)
        if child.poll() is not None:
            check(f'{argv[1]} runs until it is killed', False, (child.returncode, child.stderr.read()))
            return None
        child.kill()
        child.wait(PATIENCE)
        return child.pid


def starts_again(kind, folder, cgroup):
    """The next watcher or demo runs and ends normally."""
    if kind == 'watcher':
        with Watcher(MEMSCOPE, folder, '--cgroup', cgroup.name) as w:
            right = w.value('memscope_processes{') == len(cgroup.pids())
            w.child.terminate()
            return right and w.ends() == 0
    with process([MEMSCOPE, 'demo', 'steps'], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as demo:
        if not wait_for(lambda: os.path.exists(f'/run/memscope/{demo.pid}.sock'), 15, 0.02):
            return False
        demo.terminate()
        return demo.wait(PATIENCE) == 0 and not demo.stderr.read() and not own_things(demo.pid)


def bpf_objects():
    """{kind: {id}} of BPF objects with a name of memscope that no process holds. /proc/PID/fdinfo lists the objects of a process."""
    held = {'prog_id': set(), 'link_id': set(), 'map_id': set()}
    for info in pathlib.Path('/proc').glob('[0-9]*/fdinfo/*'):
        try:
            lines = info.read_text().splitlines()
        except OSError:
            continue
        for key, _, value in (line.partition(':') for line in lines):
            if key in held:
                held[key].add(int(value))

    def listed(kind):
        out = subprocess.run(['bpftool', '--json', kind, 'list'], capture_output=True, timeout=20,
                             env={**os.environ, 'PATH': os.environ['PATH'] + ':/usr/sbin:/sbin'})
        if out.returncode:
            raise GaveUp(f'bpftool {kind} list: {out.stderr.decode().strip()}')
        return json.loads(out.stdout or b'[]')
    programs = [p for p in listed('prog') if p.get('name', '').startswith(PROGRAMS)]
    alive = {p['id'] for p in programs if p['id'] in held['prog_id']}
    in_use = {m for p in programs if p['id'] in alive for m in p.get('map_ids', [])}
    ours = {p['id'] for p in programs}
    return {'programs': ours - alive,
            'links': {x['id'] for x in listed('link') if x.get('prog_id') in ours} - held['link_id'],
            'maps': {m['id'] for m in listed('map') if m.get('name', '').startswith(MAPS)} - held['map_id'] - in_use}


def one_round(number, dice, folder, cgroup):
    kind = 'demo' if number % 2 else 'watcher'
    moment = LATEST * dice.random() ** 2  # more kills during the start, because memscope is incomplete then
    name = f'round {number + 1}, a {kind} killed after {moment * 1000:.0f} ms'
    argv = [MEMSCOPE, 'demo', 'steps'] if kind == 'demo' else [MEMSCOPE, '--cgroup', cgroup.name, '--listen', 'none', '--interval', '50ms']
    pid = kill_at(argv, moment)
    if pid is None:
        return
    wait_for(lambda: not session_members(pid), PATIENCE, 0.02)
    living = session_members(pid)
    asked = subprocess.run([MEMSCOPE, 'status', '--target', cgroup.name], capture_output=True, timeout=10)
    again = starts_again(kind, folder, cgroup)
    left = own_things(pid)
    check(name, not living and asked.returncode and again and not left,
          f'living: {living}, status: {asked.returncode}, next starts: {again}, left behind: {left}')
    for member in living:  # so that the next round does not find them
        os.kill(int(member.split()[0]), signal.SIGKILL)


def main():
    exit_on_signals()
    if os.geteuid() != 0:
        raise GaveUp('needs root')
    dice = random.Random(SEED)
    print(f'KILL9_SEED={SEED}', flush=True)
    before = bpf_objects()
    with tempfile.TemporaryDirectory() as folder, Cgroup(f'ms-kill9-{os.getpid()}', 64 << 20) as cgroup, \
            process(SLEEPER, cgroup=cgroup), process(SLEEPER, cgroup=cgroup):
        for number in range(ROUNDS):
            one_round(number, dice, folder, cgroup)

    def left():
        return {kind: ids - before[kind] for kind, ids in bpf_objects().items() if ids - before[kind]}
    # The kernel frees programs and maps later, when no CPU can run them any more.
    check('no BPF program, link or map without an owner', wait_for(lambda: not left(), 10, 0.2), left())


if __name__ == '__main__':
    try:
        main()
    except GaveUp as e:
        check(str(e), False)
    sys.exit(check.finish())
