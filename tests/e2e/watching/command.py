#!/usr/bin/env python3
"""`memscope -- CMD`: its identity, its signals, its exit status, its cgroup; and --pid to its end."""
import json, os, resource, signal, socket, subprocess, sys, tempfile, threading, time, urllib.request
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../support'))
from harness import *

MEMSCOPE = os.environ.get('MEMSCOPE', 'build/memscope')
ROOT = '/sys/fs/cgroup' if os.path.exists('/sys/fs/cgroup/cgroup.controllers') else '/sys/fs/cgroup/memory'
checks = Checks()
check = checks


def run(*args, **kw):
    return subprocess.run([MEMSCOPE, '--listen', 'none', '--report-dir', 'none', *args], capture_output=True, text=True, timeout=60, **kw)


def left_behind():
    return [d for d in os.listdir(ROOT) if d.startswith('memscope-run-')]


def statuses():
    for what, argv, wanted in (('its own', ['sh', '-c', 'exit 7'], 7), ('killed by a signal', ['sh', '-c', 'kill -9 $$'], 137),
                               ('missing', ['/no/such/program'], 127), ('not executable', ['/etc/passwd'], 126), ('fine', ['true'], 0)):
        r = run('--', *argv)
        check(f'exit status: {what}', r.returncode == wanted, (r.returncode, r.stderr))
    r = run('--', '/no/such/program')
    check('a command that is missing: one line', len(r.stderr.splitlines()) == 1, r.stderr)
    r = run('--memory-max', '64M', '--', sys.executable, '-c', 'x = bytearray(300 << 20)')
    check('--memory-max holds', r.returncode == 137, (r.returncode, r.stderr))
    check('the kill is reported on standard error, not on standard output', r.stdout == '' and 'OOM' in r.stderr.upper(), (r.stdout, r.stderr))
    check('no cgroup is left', left_behind() == [], left_behind())


def identity():
    env = dict(os.environ, SUDO_UID='65534', SUDO_GID='65534', MARK='kept')
    r = run('--quiet', '--', 'sh', '-c', 'id -u; id -g; echo $MARK; pwd; echo $HOME', env=env, cwd='/')
    check('the command runs as the user who called sudo, environment and directory kept', r.stdout.split()[:4] == ['65534', '65534', 'kept', '/'], r.stdout)
    r = run('--quiet', '--user', 'root', '--', 'id', '-u', env=env)
    check('--user wins', r.stdout.split() == ['0'], (r.stdout, r.stderr))
    r = run('--user', 'nosuchuser', '--', 'true')
    check('an unknown user: 2, one line', r.returncode == 2 and len(r.stderr.splitlines()) == 1, r.stderr)
    r = run('--quiet', '--', 'cat', input='through standard input\n')
    check('standard input and output are the command\'s', r.stdout == 'through standard input\n', r.stdout)


def signals():
    script = 'trap "echo got USR1" USR1; trap "echo got TERM; exit 5" TERM; echo ready; while :; do sleep 0.1; done'
    p = subprocess.Popen([MEMSCOPE, '--listen', 'none', '--quiet', '--', 'sh', '-c', script], stdout=subprocess.PIPE, text=True)
    check('the command starts', p.stdout.readline() == 'ready\n')
    p.send_signal(signal.SIGUSR1)
    check('SIGUSR1 is passed on', p.stdout.readline() == 'got USR1\n')
    p.send_signal(signal.SIGTERM)
    check('SIGTERM is passed on', p.stdout.readline() == 'got TERM\n')
    check('memscope ends with the exit status of the command', p.wait(20) == 5, p.returncode)


def killed():
    p = subprocess.Popen([MEMSCOPE, '--listen', 'none', '--quiet', '--', 'sleep', '30'])
    members = lambda: [int(x) for d in left_behind() for x in open(f'{ROOT}/{d}/cgroup.procs').read().split()]
    wait_for(lambda: any(open(f'/proc/{pid}/comm').read() == 'sleep\n' for pid in members()), 10)
    p.kill(); p.wait()
    survivors = members()
    check('kill -9 of memscope does not kill the job', len(survivors) == 1, survivors)
    for pid in survivors: os.kill(pid, signal.SIGKILL)
    wait_for(lambda: not any(os.path.exists(f'/proc/{pid}') for pid in survivors), 5)
    run('--quiet', '--', 'true')
    check('the next start removes its cgroup', wait_for(lambda: left_behind() == [], 5), left_behind())
    # Processes that a command leaves running are killed with its cgroup.
    run('--quiet', '--', 'sh', '-c', 'sleep 31 & exit 0')
    check('processes that the command leaves running end with its cgroup', left_behind() == [] and not subprocess.run(['pgrep', '-fx', 'sleep 31'], capture_output=True).stdout)
    inside = f'c={ROOT}$(sed -n "s/^[0-9]*:\\(memory\\)*://p" /proc/self/cgroup | grep memscope-run); mkdir -p $c/a/b; echo $$ >$c/a/b/cgroup.procs; sleep 32 & exit 3'
    r = run('--quiet', '--', 'sh', '-c', inside)
    check('also in cgroups that the command has made', r.returncode == 3 and left_behind() == [] and not subprocess.run(['pgrep', '-fx', 'sleep 32'], capture_output=True).stdout, (r, left_behind()))


def readers():
    """The job continues if the reader of memscope's output closes the pipe."""
    job = 'exec 2>/dev/null; sh -c "kill -9 \\$\\$"; sleep 0.5; sh -c "kill -9 \\$\\$"; sleep 0.5; exit 5'
    for what, to in (('standard error', 'stderr'), ('standard output', 'stdout')):
        p = subprocess.Popen([MEMSCOPE, '--listen', 'none', '--report-dir', 'none', *(['--json', '--interval', '100ms'] if to == 'stdout' else []), '--', 'sh', '-c', job],
                             **{'stdout': subprocess.DEVNULL, 'stderr': subprocess.DEVNULL, to: subprocess.PIPE})
        getattr(p, to).close()
        check(f'its {what} is not read any more: the job goes on', p.wait(20) == 5, p.returncode)


def full_disk():
    with open('/dev/full', 'w') as full:
        r = subprocess.run([MEMSCOPE, '--listen', 'none', '--json', '--interval', '100ms', '--pid', str(os.getpid()), '--duration', '1s'],
                           stdout=full, stderr=subprocess.PIPE, text=True, timeout=30)
    check('a full disk has one line', r.returncode == 0 and r.stderr.count('No space left') == 1 and len(r.stderr.splitlines()) == 1, r)


def name_of(*argv):
    """The name of the target of a watcher that runs a command."""
    out = subprocess.run([MEMSCOPE, '--listen', 'none', '--json', '--interval', '200ms', *argv], stdout=subprocess.PIPE, text=True, timeout=30).stdout
    return json.loads(out.splitlines()[0])['target']['name']


def names():
    with tempfile.TemporaryDirectory() as folder:
        script = f'{folder}/train.py'
        with open(script, 'w') as file:
            file.write('import time; time.sleep(1)')
        check('a command is named by its script', name_of('--', 'nice', '-n', '1', sys.executable, script) == 'cmd:train.py')
        with subprocess.Popen([sys.executable, '-u', script]) as job:
            check('a process is named by its script', name_of('--pid', str(job.pid)) == 'pid:train.py')


def job_output():
    """With --json, standard output has JSON only. The output of the job goes to standard error, or to a file of its user."""
    job = ['sh', '-c', 'echo from the job; sleep 0.5']
    r = run('--json', '--interval', '200ms', '--', *job)
    ticks = [json.loads(line) for line in r.stdout.splitlines()]
    check('--json: every line of standard output is JSON', len(ticks) > 0, r.stdout[:200])
    check('the output of the job goes to standard error', 'from the job' in r.stderr.splitlines(), r.stderr)
    check('the pid of the command is in JSON', isinstance(ticks[-1]['target'].get('pid'), int), ticks[-1]['target'])
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o777)
        env = dict(os.environ, SUDO_UID='65534', SUDO_GID='65534')
        file = f'{folder}/job.log'
        with open(file, 'w') as earlier:
            earlier.write('an earlier run\n' * 9)
        os.chmod(file, 0o666)
        r = run('--json', '--job-output', file, '--', *job, env=env)
        check('--job-output replaces the file', r.returncode == 0 and open(file).read() == 'from the job\n', (r.stderr, open(file).read()))
        check('--job-output: no output of the job is elsewhere', all(json.loads(line)['target'] for line in r.stdout.splitlines()) and 'from the job' not in r.stderr, (r.stdout[:200], r.stderr))
        new = f'{folder}/new.log'
        r = run('--job-output', new, '--', *job, env=env)
        check('a new file belongs to the user of the job', os.stat(new).st_uid == 65534 and open(new).read() == 'from the job\n', os.stat(new))
        secret = f'{folder}/secret'
        with open(secret, 'w') as kept:
            kept.write('kept')
        os.chmod(secret, 0o600)
        os.symlink(secret, f'{folder}/link')
        for what in (secret, f'{folder}/link', f'{folder}/no/such.log'):
            r = run('--job-output', what, '--', *job, env=env)
            check(f'{os.path.basename(what)}: what the user may not write is an error, one line', r.returncode == 2 and len(r.stderr.splitlines()) == 1 and '--job-output' in r.stderr, r)
        check('the file is not changed by root either', open(secret).read() == 'kept')
        os.mkfifo(f'{folder}/pipe', 0o666)
        r = run('--job-output', f'{folder}/pipe', '--', *job)
        check('a pipe that nobody reads is an error, not a wait', r.returncode == 2 and '--job-output' in r.stderr, r)


def stop_before_start(watcher):
    """The pid of the process of a command, stopped before it executes the command; None if it was too late."""
    def members():
        return [int(pid) for d in left_behind() for pid in open(f'{ROOT}/{d}/cgroup.procs').read().split()]
    for pid in wait_for(members, 10, pause=0.001) or []:
        os.kill(pid, signal.SIGSTOP)
        if os.readlink(f'/proc/{pid}/exe') == os.readlink(f'/proc/{watcher.pid}/exe'):
            return pid
        os.kill(pid, signal.SIGCONT)
    return None


def continue_late(_watcher, pid, _messages):
    os.kill(pid, signal.SIGCONT)


def kill_late(_watcher, pid, _messages):
    os.kill(pid, signal.SIGKILL)


def terminate_both(watcher, pid, _messages):
    """SIGTERM to the watcher, which passes it on; then the process of the command goes on."""
    watcher.terminate()
    wait_for(lambda: int(next(line for line in open(f'/proc/{pid}/status') if line.startswith('ShdPnd')).split()[1], 16) >> signal.SIGTERM - 1 & 1, 10)
    os.kill(pid, signal.SIGCONT)


def without_descriptors(watcher, pid, messages):
    """No file descriptor is free until a tick was skipped; then the process of the command goes on."""
    most = resource.prlimit(watcher.pid, resource.RLIMIT_NOFILE)
    resource.prlimit(watcher.pid, resource.RLIMIT_NOFILE, (3, most[1]))
    wait_for(lambda: 'ticks are skipped' in messages() or watcher.poll() is not None, 10)
    check('a lack of file descriptors does not end a watcher whose command cannot start', watcher.poll() is None, watcher.returncode)
    resource.prlimit(watcher.pid, resource.RLIMIT_NOFILE, most)
    os.kill(pid, signal.SIGCONT)


def slow_start():
    """Ticks continue while the command cannot start, as with a network file system that does not answer."""
    job = ['sh', '-c', 'trap "exit 9" TERM; echo started; sleep 0.5; exit 4']
    def tick():
        with urllib.request.urlopen(f'http://127.0.0.1:{port}/metrics', timeout=5) as reply:
            values = dict(line.rsplit(' ', 1) for line in reply.read().decode().splitlines() if not line.startswith('#'))
            return float(values['memscope_last_tick_timestamp_seconds'])
    for what, argv, go_on, wanted, lines in (
            ('starts', job, continue_late, ('started\n', 4), 0),
            ('starts after ticks were skipped', job, without_descriptors, ('started\n', 4), 2),
            ('is killed', job, kill_late, ('', 137), 0),
            ('is not found', ['/no/such/program'], continue_late, ('', 127), 1),
            ('gets SIGTERM', job, terminate_both, ('', 143), 0)):
        with tempfile.TemporaryFile('w+') as err:
            def messages():
                return os.pread(err.fileno(), 1 << 16, 0).decode()
            for _ in range(10):
                port = free_port()
                p = subprocess.Popen([MEMSCOPE, '--listen', f'127.0.0.1:{port}', '--report-dir', 'none', '--record', 'none', '--quiet', '--interval', '100ms',
                                      '--duration', '3s', '--', *argv], stdout=subprocess.PIPE, stderr=err, text=True)
                pid = stop_before_start(p)
                if pid:
                    break
                p.communicate(timeout=30)
                os.ftruncate(err.fileno(), 0)
                os.lseek(err.fileno(), 0, os.SEEK_SET)
            check('the command is stopped before it starts', pid)
            first = wait_for(tick, 10)
            check('ticks continue while the command cannot start', first and wait_for(lambda: tick() > first + 4, 10), first)
            check('--duration does not end a command that has not started', p.poll() is None, p.returncode)
            go_on(p, pid, messages)
            out, _ = p.communicate(timeout=30)
            check(f'a command that {what}, but late, has its exit status', (out, p.returncode) == wanted, (out, p.returncode, messages()))
            check(f'lines on standard error: {lines}', len(messages().splitlines()) == lines, messages())


def two_watchers():
    """The first watcher gets the default address. The second prints a message and continues without it. An address of --listen must be free."""
    start = lambda *options: subprocess.Popen([MEMSCOPE, '--report-dir', 'none', '--record', 'none', *options, '--', 'sleep', '8'],
                                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    taken = socket.socket()
    taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        taken.bind(('127.0.0.1', 9750))
        taken.listen()
    except OSError:
        pass  # another watcher has the address already, so it is in use as well
    first, second = start(), start()
    ask = lambda *words: subprocess.run([MEMSCOPE, *words], capture_output=True, text=True, timeout=20)
    try:
        def pids():
            shown = ask('status', '--target', 'cmd:sleep').stderr
            return [int(part.split(')')[0]) for part in shown.split('(pid ')[1:]]
        check('two watchers run although the default address is taken', wait_for(lambda: len(pids()) == 2, 10), ask('status', '--target', 'cmd:sleep'))
        found = pids()
        for pid in found[:2]:
            r = ask('status', '--target', str(pid))
            check('status shows the one whose pid was asked for', r.returncode == 0 and f'pid {pid}' in r.stdout.splitlines()[0], r)
        r = subprocess.run([MEMSCOPE, '--listen', '127.0.0.1:9750', '--report-dir', 'none', '--', 'true'], capture_output=True, text=True, timeout=30)
        check('an address that was asked for and is in use: 2, one line', r.returncode == 2 and len(r.stderr.splitlines()) == 1 and 'in use' in r.stderr, r)
    finally:
        for each in (first, second):
            each.terminate()
        said = [each.communicate(timeout=20)[1] for each in (first, second)]
        taken.close()
    check('each watcher without the address says so in one line', all(text.count('127.0.0.1:9750 is in use') == 1 for text in said), said)


def by_pid():
    target = subprocess.Popen(['sleep', '3'])
    start = time.time()
    p = subprocess.Popen([MEMSCOPE, '--pid', str(target.pid), '--listen', 'none', '--json', '--interval', '200ms'], stdout=subprocess.PIPE, text=True)
    target.wait()
    out, _ = p.communicate(timeout=20)
    check('--pid ends when the tree is empty, with 0', p.returncode == 0 and time.time() - start < 8, p.returncode)
    last = [json.loads(line) for line in out.splitlines()][-1]
    check('named by its process, with its pid', last['target']['name'] == 'pid:sleep' and last['target']['kind'] == 'pid' and last['target']['pid'] == target.pid, last['target'])
    check('the cgroup that was measured is named', 'cgroup' in last['memory'] and 'others_bytes' in last['memory'], last['memory'])
    r = run('--pid', '4194304')
    check('an unused pid: 2, one line', r.returncode == 2 and len(r.stderr.splitlines()) == 1, r.stderr)
    hold = threading.Event()
    thread = threading.Thread(target=hold.wait)
    thread.start()
    r = run('--pid', str(thread.native_id))
    hold.set()
    check('the id of a thread: 2, and whose it is', r.returncode == 2 and f'--pid {os.getpid()}' in r.stderr and len(r.stderr.splitlines()) == 1, r.stderr)


for part in (statuses, identity, signals, killed, readers, full_disk, names, job_output, slow_start, two_watchers, by_pid):
    part()
sys.exit(checks.finish())
