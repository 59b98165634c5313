#!/usr/bin/env python3
"""Actions: a job is signalled to save its work before the kernel kills it, a command runs at deaths, and no command delays the watcher.

Needs root. MEMSCOPE names the binary."""
import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../support'))
from harness import Cgroup, Checks, Watcher, process, run_as_root, wait_for  # noqa: E402

SOURCE = pathlib.Path(__file__).resolve().parents[3]
MEMSCOPE = os.environ.get('MEMSCOPE', str(SOURCE / 'build' / 'memscope'))
MIB = 1 << 20
JOB = '''
import os, signal, sys, time
keep, wanted = [], False
def save(*_):
    global wanted
    wanted = True
signal.signal(signal.SIGUSR1, save)
while True:
    keep.append(bytearray(b'x') * (1 << 20))
    time.sleep(0.05)
    if wanted:
        with open(sys.argv[1] + '.part', 'w') as f:
            f.write(f'{os.getpid()} {len(keep)}')
        os.rename(sys.argv[1] + '.part', sys.argv[1])
        wanted = False
'''
check = Checks()


def actions(w, event, outcome):
    return w.metrics().get(f'memscope_actions_total{{event="{event}",outcome="{outcome}"}}')


def children_of(pid):
    return [int(p) for p in pathlib.Path(f'/proc/{pid}/task/{pid}/children').read_text().split()]


def action_helpers_of(pid):
    # By name, because the watcher has another child, which starts the helpers that read watched processes.
    return [child for child in children_of(pid) if pathlib.Path(f'/proc/{child}/comm').read_text() == 'memscope-act\n']


def alive(pid):
    with contextlib.suppress(OSError):
        return pathlib.Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()[0] not in 'ZX'
    return False


def status(pid, key):
    return next(line.split()[1:] for line in pathlib.Path(f'/proc/{pid}/status').read_text().splitlines() if line.startswith(key + ':'))


def pids_in(path):
    return [int(p) for p in pathlib.Path(path).read_text().split()]


def saved_in_time(folder):
    """The whole sequence: the job leaks, is signalled, saves its work and dies, and the command for deaths runs."""
    saved, facts, state = f'{folder}/checkpoint', f'{folder}/facts', f'{folder}/reports'
    tell = f'sh -c "cat >> {facts}; echo >> {facts}; kill -USR1 $MEMSCOPE_PID"'
    with Cgroup(f'ms-e2e-act-{os.getpid()}', 200 * MIB) as cgroup, \
            Watcher(MEMSCOPE, folder, '--cgroup', cgroup.name, '--warmup', '2s', '--report-dir', state, '--on-precursor', tell,
                    '--on-death', f'sh -c "cat > {folder}/death; env > {folder}/env"') as w:
        check('all outcomes of actions are 0 at the first scrape', [actions(w, e, o) for e in ('precursor', 'death') for o in ('ok', 'failed', 'timeout', 'dropped')] == [0] * 8)
        with process([sys.executable, '-c', JOB, saved], cgroup=cgroup) as job:
            job.wait(40)
        check('a job that leaks is killed by the kernel', job.returncode == -9, job.returncode)
        check('the job has saved its work before its death', os.path.exists(saved))
        pid, held = (int(n) for n in (pathlib.Path(saved).read_text() if os.path.exists(saved) else '0 0').split())
        check('the command gets the pid of the job before the limit is reached', pid == job.pid and 0 < held < 199, (pid, job.pid, held))
        first = json.loads(pathlib.Path(facts).read_text().splitlines()[0])
        check('the command gets the reason and the process that grows', first['event'] == 'precursor' and first['target']['name'] == cgroup.name and first['process']['pid'] == job.pid and first['oom_eta_seconds'] > 0, first)
        check('the command of --on-precursor has a line', w.says('--on-precursor was run: '), w.lines())
        wait_for(lambda: actions(w, 'death', 'ok'), 10)
        death = json.loads(pathlib.Path(f'{folder}/death').read_text())
        d = death['deaths'][0]
        check('the death arrives as JSON', (d['pid'], d['cause'], d['limit_bytes']) == (job.pid, 'oom_kill', 200 * MIB), d)
        env = dict(line.split('=', 1) for line in pathlib.Path(f'{folder}/env').read_text().splitlines() if line.startswith('MEMSCOPE_'))
        check('the environment of the command has the death', (env['MEMSCOPE_EVENT'], env['MEMSCOPE_PID'], env['MEMSCOPE_CAUSE'], env['MEMSCOPE_TARGET']) == ('death', str(job.pid), 'oom_kill', cgroup.name), env)
        report = json.loads(pathlib.Path(env['MEMSCOPE_REPORT']).read_text())
        check('the report that it names is whole', report['deaths'][0]['pid'] == job.pid and report['growth'], env)
        check('the commands that were run are counted', actions(w, 'precursor', 'ok') >= 1 and actions(w, 'death', 'ok') == 1 and not any(actions(w, e, o) for e in ('precursor', 'death') for o in ('failed', 'timeout', 'dropped')), w.metrics())


def die(cgroup):
    with process(['sh', '-c', 'kill -SEGV $$'], cgroup=cgroup) as job:
        job.wait(10)


def hanging(folder):
    """A command that hangs is killed with all its children, and ticks go on meanwhile."""
    with Cgroup(f'ms-e2e-hang-{os.getpid()}', 200 * MIB) as cgroup, \
            Watcher(MEMSCOPE, folder, '--cgroup', cgroup.name, '--json', '--on-timeout', '1s', '--on-death',
                    f'sh -c "trap : TERM; echo $$ > {folder}/hung; sleep 999 & echo $! >> {folder}/hung; while :; do wait; done"') as w:
        die(cgroup)
        hung = wait_for(lambda: len(pids_in(f'{folder}/hung')) == 2 and pids_in(f'{folder}/hung'), 10) or []
        check('the command runs and hangs', len(hung) == 2 and all(map(alive, hung)), hung)
        check('the command is ended after --on-timeout', wait_for(lambda: actions(w, 'death', 'timeout') == 1, 10), w.metrics())
        check('with all that it started', wait_for(lambda: not any(map(alive, hung)), 3), hung)
        times = [json.loads(line)['time'] for line in w.lines()]
        gap = max(b - a for a, b in zip(times, times[1:]))
        check('ticks went on', gap < 0.7, gap)
        w.child.terminate()
        w.child.wait(5)
        check('the ended command has one line on standard error', w.child.stderr.read().decode() == 'memscope: --on-death: took longer than 1 s and was ended\n')


def missing(folder):
    with Cgroup(f'ms-e2e-miss-{os.getpid()}', 200 * MIB) as cgroup, \
            Watcher(MEMSCOPE, folder, '--cgroup', cgroup.name, '--on-death', '/no/such/program', '--quiet') as w:
        for count in (1, 2):
            die(cgroup)
            check(f'a program that is missing is counted ({count})', wait_for(lambda: actions(w, 'death', 'failed') == count, 10))
            time.sleep(2.2)  # deaths within 2 s are one event
        w.child.terminate()
        w.child.wait(5)
        err = w.child.stderr.read().decode()
        check('the missing program has one line', err == 'memscope: --on-death: program /no/such/program was not found; memscope continues to watch\n', err)


def helper(folder):
    """The process that runs commands holds few file descriptors, and ends when its watcher ends."""
    with Cgroup(f'ms-e2e-help-{os.getpid()}', 200 * MIB) as cgroup, \
            Watcher(MEMSCOPE, folder, '--cgroup', cgroup.name, '--on-death', f'sh -c "echo $$ $PPID > {folder}/pids; exec sleep 999"') as w:
        helpers = action_helpers_of(w.child.pid)
        check('the watcher has one helper for commands', len(helpers) == 1, helpers)
        pid = helpers[0]
        fds = {int(fd): os.readlink(f'/proc/{pid}/fd/{fd}') for fd in os.listdir(f'/proc/{pid}/fd')}
        others = [name for fd, name in fds.items() if fd > 2]
        check('the helper has a socket and a signalfd, and no other descriptor of the watcher', len(others) == 2 and sum('socket:' in name for name in others) == 1 and sum('signalfd' in name for name in others) == 1, fds)
        check('a session of its own', os.getsid(pid) == pid, os.getsid(pid))
        resident = int(status(pid, 'VmRSS')[0])
        check('the helper has less than 16 MiB', resident < 16 << 10, f'{resident} KiB')
        check('the watcher has given up what the helper keeps', int(status(w.child.pid, 'CapEff')[0], 16) < int(status(pid, 'CapEff')[0], 16))
        die(cgroup)
        command, parent = wait_for(lambda: len(pids_in(f'{folder}/pids')) == 2 and pids_in(f'{folder}/pids'), 10)
        check('commands are its children', parent == pid)
        w.child.kill()
        w.child.wait(5)
        check('kill -9 of memscope leaves no helper and no command', wait_for(lambda: not alive(pid) and not alive(command), 5), (alive(pid), alive(command)))
    with Cgroup(f'ms-e2e-end-{os.getpid()}', 200 * MIB) as cgroup, Watcher(MEMSCOPE, folder, '--cgroup', cgroup.name, '--on-death', 'sleep 999') as w:
        pid = action_helpers_of(w.child.pid)[0]
        die(cgroup)
        wait_for(lambda: children_of(pid), 10)
        command = children_of(pid)[0]
        began = time.monotonic()
        w.child.terminate()
        check('SIGTERM ends memscope at once', w.ends() == 0 and time.monotonic() - began < 2)
        check('the helper and its command end after the watcher', wait_for(lambda: not alive(pid) and not alive(command), 5))
    with Cgroup(f'ms-e2e-none-{os.getpid()}', 200 * MIB) as cgroup, Watcher(MEMSCOPE, folder, '--cgroup', cgroup.name) as w:
        check('without commands there is no helper', action_helpers_of(w.child.pid) == [], action_helpers_of(w.child.pid))


def of_a_command(folder):
    """`-- CMD`: the command for its death is not killed when memscope ends."""
    out = f'{folder}/of-command'
    argv = [MEMSCOPE, '--listen', 'none', '--report-dir', 'none', '--quiet']
    env = dict(os.environ, SUDO_UID='65534', SUDO_GID='65534')
    r = subprocess.run([*argv, '--memory-max', '64M', '--on-death', f'sh -c "sleep 1; echo $MEMSCOPE_CAUSE $(id -u) > {out}"', '--',
                        'tail', '/dev/zero'], capture_output=True, text=True, timeout=60, env=env)
    told = pathlib.Path(out).read_text() if os.path.exists(out) else ''
    check('the command of --on-death runs to its end as the user of memscope', r.returncode == 137 and told == 'oom_kill 0\n', (r, told))
    os.chmod(folder, 0o777)
    r = subprocess.run([*argv, '--user', 'nobody', '--on-death', f'sh -c "id -un > {folder}/who"', '--', 'sh', '-c', 'kill -SEGV $$'],
                       capture_output=True, text=True, timeout=60)
    told = pathlib.Path(f'{folder}/who').read_text() if os.path.exists(f'{folder}/who') else ''
    check('the command of --on-death runs as the user of --user', r.returncode == 139 and told == 'nobody\n', (r, told))


def without_root(folder):
    """With the capabilities of the service: commands get only the capabilities that were added for commands, not those of the watcher."""
    os.chmod(folder, 0o777)
    caps = '+bpf,+perfmon,+dac_read_search,+sys_ptrace,+kill'
    argv = ['setpriv', '--reuid', 'nobody', '--regid', 'nogroup', '--clear-groups', '--no-new-privs', f'--bounding-set=-all,{caps}',
            f'--inh-caps=-all,{caps}', f'--ambient-caps=-all,{caps}', shutil.copy(MEMSCOPE, folder)]  # every user may run it there
    with Cgroup(f'ms-e2e-caps-{os.getpid()}', 200 * MIB) as cgroup, \
            process([*argv, '--cgroup', cgroup.name, '--listen', 'none', '--report-dir', 'none', '--interval', '100ms',
                     '--on-death', f'sh -c "cat /proc/self/status > {folder}/status.part; mv {folder}/status.part {folder}/status"'],
                    stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as w:
        w.stdout.readline()
        die(cgroup)
        text = wait_for(lambda: pathlib.Path(f'{folder}/status').read_text(), 10) or ''
        held = next((int(line.split()[1], 16) for line in text.splitlines() if line.startswith('CapEff')), None)
        check('without root a command holds CAP_KILL, if that was given, and nothing else', held == 1 << 5, held)
        own = int(status(w.pid, 'CapEff')[0], 16)
        check('which the watcher itself has given up', own and not own & 1 << 5, hex(own))


def usage():
    for line, words in (('kill -USR1 $MEMSCOPE_PID', 'run it in a shell'), ("sh -c 'x", 'not closed'), ('  ', 'names no command')):
        r = subprocess.run([MEMSCOPE, '--cgroup', 'x', '--on-precursor', line], capture_output=True, text=True, timeout=20)
        check(f'refused: {line!r}', r.returncode == 2 and words in r.stderr and r.stderr.count('\n') == 1, r)


def main():
    for part in (saved_in_time, hanging, missing, helper, of_a_command, without_root):
        with tempfile.TemporaryDirectory() as folder:
            part(folder)
    usage()


run_as_root(check, main, MEMSCOPE, 170)
