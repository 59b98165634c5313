#!/usr/bin/env python3
"""The first commands of a new user: memscope alone, memscope with a command but without `--`, help, series of other tools."""
import contextlib, os, pty, select, subprocess, sys, tempfile, time
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../support'))
from harness import *
from monitoring import start_prometheus

MEMSCOPE = os.environ.get('MEMSCOPE', 'build/memscope')
checks = Checks()
check = checks
NOBODY = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups', '--inh-caps=-all']


def run(*args, **kw):
    return subprocess.run([MEMSCOPE, *args], capture_output=True, text=True, timeout=60, **kw)


def on_terminal(argv):
    """(exit status, output on a terminal)"""
    ours, theirs = pty.openpty()
    job = subprocess.Popen(argv, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    text, end = b'', time.time() + 60
    while time.time() < end:
        if not select.select([ours], [], [], 0.2)[0]:
            if job.poll() is not None: break
            continue
        try:
            text += os.read(ours, 65536)
        except OSError:
            break
    os.close(ours)
    return job.wait(10), text.decode().replace('\r', '')


def alone():
    r = run()
    check('alone, not on a terminal: 2 and one line', r.returncode == 2 and r.stdout == '' and len(r.stderr.splitlines()) == 1 and 'nothing to watch' in r.stderr, r)
    with tempfile.TemporaryDirectory() as folder, Cgroup('memscope-first-hour', 400 << 20) as cgroup:
        script = f'{folder}/train.py'
        with open(script, 'w') as file:
            file.write('import time; kept = bytearray(150 << 20); print("ready", flush=True); time.sleep(60)')
        with process([sys.executable, script], cgroup, stdout=subprocess.PIPE) as job:
            job.stdout.readline()
            for who, prefix in (('root', []), ('a user without rights', NOBODY)):
                status, text = on_terminal([*prefix, MEMSCOPE])
                sudo = '' if who == 'root' else 'sudo '
                lines = text.splitlines()
                row = next((i for i, line in enumerate(lines) if line.endswith('  train.py')), None)
                check(f'{who}: alone on a terminal lists the job', status == 0 and row is not None, (status, text))
                if row is not None:
                    check(f'{who}: with its limit', '400 MiB' in lines[row], lines[row])
                    check(f'{who}: with the command that watches its cgroup', lines[row + 1].strip() == f'{sudo}memscope --cgroup /{cgroup.name}', lines[row + 1])
                check(f'{who}: and how to go on', f'{sudo}memscope -- python train.py' in text, text)


def without_dashes():
    r = run('python3', 'train.py', '--lr', '0.1')
    check('a command without dashes: 2, and how to write it', r.returncode == 2 and len(r.stderr.splitlines()) == 1 and 'memscope -- python3 train.py --lr 0.1' in r.stderr, r)


def helps():
    r = run('growth', '--help')
    check('the help of a command is about the command', r.returncode == 0 and r.stdout.startswith('memscope growth:') and 'Examples:' in r.stdout, r.stdout[:200])


def real_series():
    """The output of the sysstat that is installed here, not only samples of it."""
    me = ['-p', str(os.getpid()), '1', '2']
    forms = [['sar', options, '1', '2'] for options in ('-r', '-ru', '-rS', '-rh')]
    forms += [['pidstat', *options, *me] for options in (['-r'], ['-ru'], ['-rh'], ['-rH'], ['-rhH'], ['-r', '--human'])]
    plain, iso = dict(os.environ, LC_ALL='C'), dict(os.environ, LC_ALL='C', S_TIME_FORMAT='ISO')
    started = [(argv, subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, env=env))
               for argv, env in [(argv, plain) for argv in forms] + [(forms[0], iso), (['pidstat', '-r', *me], iso)]]
    for argv, program in started:
        made, name = program.communicate(timeout=30)[0], ' '.join(argv[:-2])
        r = run('verdict', '-', '--json', input=made)
        check(f'{name} is read', program.returncode == 0 and r.returncode == 0 and '"verdict":"insufficient"' in r.stdout, (made, r))
        shown = run('verdict', '-', input=made)
        check(f'{name}: two samples are too early to tell', shown.returncode == 0 and shown.stdout.startswith('too early to tell: the series has 2 samples'), shown)
    r = run('verdict', '-', input='hello\n')
    check('something else: 2, and where to look', r.returncode == 2 and len(r.stderr.splitlines()) == 1 and 'memscope verdict --help' in r.stderr, r)


def real_ranges():
    """Ranges of a real Prometheus, which has the history of two jobs."""
    now = int(time.time())
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        with open(f'{folder}/history', 'w') as history:
            history.write('# TYPE job_memory_bytes gauge\n')
            for job, rate in (('leaks', 1 << 18), ('rests', 0)):
                for t in range(0, 5400, 15):
                    history.write(f'job_memory_bytes{{job="{job}"}} {(4 << 30) + rate * t + t * 7919 % 1000 * 1000} {now - 6000 + t}\n')
            history.write('# EOF\n')
        subprocess.run(['promtool', 'tsdb', 'create-blocks-from', 'openmetrics', f'{folder}/history', f'{folder}/data'],
                       check=True, capture_output=True, timeout=60)
        api = start_prometheus(stack, folder, [free_port()])

        def query(expression, *options):
            return subprocess.run(['promtool', 'query', 'range', *options, f'--start={now - 6000}', f'--end={now - 600}', '--step=15s',
                                   api.base, expression], capture_output=True, text=True, timeout=30).stdout

        one = query('job_memory_bytes{job="leaks"}', '-o', 'json')
        r = run('verdict', '-', input=one)
        check('promtool query range: the leak', r.returncode == 0 and r.stdout.startswith('leaking: ') and
              'leaks since the start' in r.stdout, (one[:200], r))
        both = query('job_memory_bytes', '-o', 'json')
        r = run('verdict', '-', input=both)
        check('two series are listed', r.returncode == 2 and 'job="leaks"' in r.stderr and 'job="rests"' in r.stderr, r)
        r = run('verdict', '-', '--value', 'rests', input=both)
        check('one of them is judged', r.returncode == 0 and r.stdout.startswith('stable: '), r)
        r = run('verdict', '-', '--unit', 'MiB', input=query('job_memory_bytes{job="leaks"} / 1024 ^ 2', '-o', 'json'))
        check('in another unit', r.returncode == 0 and r.stdout.startswith('leaking: ') and 'GiB' in r.stdout, r)
        r = run('verdict', '-', input=query('job_memory_bytes{job="nobody"}', '-o', 'json'))
        check('a query without samples is an error that says so', r.returncode == 2 and 'the query found no samples' in r.stderr, r)
        r = run('verdict', '-', input=query('job_memory_bytes{job="leaks"}'))
        check('without -o json: 2, and how to have it', r.returncode == 2 and 'promtool query range -o json' in r.stderr, r)


for part in (alone, without_dashes, helps, real_series, real_ranges):
    part()
sys.exit(checks.finish())
