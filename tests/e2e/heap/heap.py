#!/usr/bin/env python3
"""`memscope heap` against the figures of the process itself: mallinfo2(), malloc_trim(0), sys._debugmallocstats().

Needs root and a compiler; takes a minute. heap.py [NAME]...: interpreters of tests/support/pythons, or `system`.
Without a name: the interpreters that are available within seconds. MEMSCOPE names the binary. BUSY=100: number of censuses of a
process that allocates all the time.
"""
import contextlib
import glob
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../support'))
from growing import MEMSCOPE, MIB, SOURCE, pythons  # noqa: E402
from harness import Checks, process, run_as_root  # noqa: E402

CHEAP = ['system', '3.13', '3.14']
LARGE = str(SOURCE / 'tests/e2e/support/large_census.py')
PARTS = ['malloc_live', 'malloc_free', 'python_live', 'python_free', 'mapped', 'stacks', 'other']

check = Checks()


def run_heap(pid, *words):
    return subprocess.run([MEMSCOPE, 'heap', '--pid', str(pid), *words], capture_output=True, text=True, timeout=60)


def heap(pid, *words):
    done = run_heap(pid, '--format', 'json', *words)
    if done.returncode:
        return None
    answer = json.loads(done.stdout)['processes'][0]
    answer['by'] = {part['part']: part['bytes'] for part in answer['parts']}
    return answer


def near(one, other, share, least=MIB):
    return abs(one - other) <= max(share * max(one, other), least)


class Job:
    """A process that reports the figures of its own malloc."""

    def __init__(self, *argv, **environment):
        self.running = process(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                               env={**os.environ, **environment})

    def __enter__(self):
        self.child = self.running.__enter__()
        self.pid = self.child.pid
        self.said = json.loads(self.child.stdout.readline())
        return self

    def __exit__(self, *how):
        self.child.kill()
        self.running.__exit__(*how)

    def ask(self, word='look'):
        self.child.stdin.write(word + '\n')
        self.child.stdin.flush()
        return json.loads(self.child.stdout.readline())


def sums(name, job, answer):
    if not check(f'{name}: there is an answer', answer):
        return False
    now = job.ask()['anon']
    check(f'{name}: the parts add up to the anonymous memory', near(sum(answer['by'].values()), now, 0.03, 64 << 10),
          (answer['by'], now))
    check(f'{name}: every part is there', list(answer['by']) == PARTS, list(answer['by']))
    return True


def malloc_figures(program):
    # mallinfo2() counts chunks in tcaches as used, so tcaches of many threads are switched off.
    for name in ('fragmented', 'scattered', 'pieces', 'small', 'mapped', 'arenas'):
        tunables = {'GLIBC_TUNABLES': 'glibc.malloc.tcache_count=0'} if name == 'arenas' else {}
        with Job(program, name, **tunables) as job:
            answer = heap(job.pid)
            if not sums(name, job, answer):
                continue
            said, by = job.ask(), answer['by']
            check(f'{name}: free bytes', near(by['malloc_free'], said['free'], 0.02), (by, said))
            check(f'{name}: live bytes', near(by['malloc_live'], said['used'] + said['mapped'], 0.02), (by, said))
            check(f'{name}: nothing was incomplete', answer['incomplete'] == {}, answer['incomplete'])
            allocator = answer['allocator']
            check(f'{name}: glibc with its version', allocator['name'] == 'glibc' and allocator['version'] == os.confstr(
                'CS_GNU_LIBC_VERSION').split()[1], allocator)
            if name == 'arenas':  # arenas are limited to 8 for each CPU
                check(f'{name}: several arenas', allocator['arenas'] >= min(24, 8 * os.cpu_count()), allocator)
            fell = job.ask()['anon'] - job.ask('trim')['anon']
            check(f'{name}: malloc_trim(0) returns what was foretold', near(allocator['trimmable_bytes'], fell, 0.05, 256 << 10),
                  (allocator, fell))


def tcaches(program):
    with Job(program, 'arenas') as job:
        answer, said = heap(job.pid), job.ask()
        # Each thread has freed more blocks than its tcache can hold: 7 of each size up to 1 KiB.
        cached = said['used'] - answer['by']['malloc_live']
        check('tcaches: their chunks are free', 24 * 50_000 < cached < 24 * 240_000, (cached, answer['by'], said))


PYTHON_JOB = r'''
import gc, json, os, sys
many = [(i, str(i), [i]) for i in range(400000)]
kept = many[::10]
del many
gc.collect()
def anon():
    return next(int(line.split()[1]) << 10 for line in open('/proc/self/status') if line.startswith('RssAnon'))
print(json.dumps({'anon': anon()}), flush=True)
for line in sys.stdin:
    if line.strip() == 'stats':
        sys._debugmallocstats()
        sys.stderr.flush()
    print(json.dumps({'anon': anon()}), flush=True)
'''


def python_figures(python):
    with tempfile.TemporaryFile('w+') as stats, contextlib.ExitStack() as stack:
        job = Job(python.program, '-B', '-c', PYTHON_JOB)
        job.running = process([python.program, '-B', '-c', PYTHON_JOB], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=stats, text=True)
        stack.enter_context(job)
        answer = heap(job.pid)
        name = f'Python {python.name}'
        if not sums(name, job, answer):
            return
        check(f'{name}: its version', python.version.startswith(str(answer['python'])), (python.version, answer['python']))
        job.ask('stats')
        stats.seek(0)
        text = stats.read()
        def counted(label):
            return int(re.search(rf'{label}\s+=\s+([\d,]+)', text)[1].replace(',', ''))
        live = counted('# bytes in allocated blocks')
        heads = counted('# bytes lost to pool headers')  # these blocks count as live
        check(f'{name}: live bytes', near(answer['by']['python_live'], live + heads, 0.03), (answer['by'], live, heads))
        free = counted('# bytes in available blocks')
        check(f'{name}: most of the memory is free', answer['by']['python_free'] > 2 * answer['by']['python_live'],
              answer['by'])
        check(f'{name}: free bytes', answer['by']['python_free'] <= free + counted(r'unused pools \* \d+ bytes') + MIB,
              (answer['by'], free))


def busy(program, times):
    with Job(program, 'busy') as job:
        good = said = silent = 0
        for _ in range(times):
            answer = heap(job.pid)
            right = answer and near(answer['by']['malloc_live'], 2000 * 52016, 0.10)
            good += bool(right)
            said += bool(answer and answer['incomplete'])
            silent += not right and not (answer and answer['incomplete'])
        check(f'busy: {times} answers, 95 % within 10 %, the others say incomplete', good >= 0.95 * times and silent == 0,
              (good, said, silent))
        print(f'      busy: {good} of {times} within 10 %, {said} say incomplete')


OTHERS = {'jemalloc': 'libjemalloc2', 'tcmalloc': 'libtcmalloc-minimal4', 'mimalloc': 'libmimalloc2.0'}  # Debian packages


def other_allocators(program):
    for name, package in OTHERS.items():
        found = sorted(glob.glob(f'/usr/lib/*/lib{name}*.so.*'))
        if not check(f'{name}: the package {package} is installed', found):
            continue
        for words in ([program, 'fragmented'], [program, 'arenas'], [sys.executable, '-B', '-c', PYTHON_JOB]):
            kind = words[1] if words[0] == program else 'Python'
            with Job(*words, LD_PRELOAD=found[0]) as job:
                answer = heap(job.pid)
                if sums(f'{name}, {kind}', job, answer):
                    without_figures(f'{name}, {kind}', name, job, answer)


def without_figures(label, name, job, answer):
    by, anon = answer['by'], job.ask()['anon']
    check(f'{label}: named, without figures', answer['allocator'] == {
        'name': name, 'version': None, 'arenas': None, 'trimmable_bytes': None}, answer['allocator'])
    check(f'{label}: nothing is invented', by['malloc_free'] + by['malloc_live'] < MIB, by)
    python = by['python_live'] + by['python_free']  # pymalloc maps its arenas itself
    if python == 0:  # in a Python process data of libraries is a large part of the rest
        check(f'{label}: most of it is memory of {name}', by['mapped'] > 0.75 * anon, (by, anon))
    text = run_heap(job.pid).stdout
    words = [f'malloc is served by {name}', 'cannot be read from outside', f'memory of {name}, live and free',
             f'of glibc only, but {name} serves malloc']
    check(f'{label}: the text says what is not known', all(each in ' '.join(text.split()) for each in words), text)


def changes(program):
    with Job(program, 'fragmented') as job:
        with process([MEMSCOPE, 'heap', '--pid', str(job.pid), '--format', 'json', '--again', '2s'],
                     stdout=subprocess.PIPE, text=True) as asked:
            time.sleep(1)  # between the two censuses
            job.ask('trim')
            answer = json.loads(asked.stdout.read())
        change = {part['part']: part['change_bytes'] for part in answer['processes'][0]['parts']}
        check('--again: the change of each part', change['malloc_free'] < -50 * MIB and abs(change['malloc_live']) < MIB, change)
        check('--again: the time between', 1.9 < answer['since_seconds'] < 20, answer['since_seconds'])
        text = run_heap(job.pid, '--again', '100ms').stdout
        check('--again: the text has a column', 'CHANGE' in text and 'changes: in the last' in text, text)


def dying(program):
    said = set()
    for i in range(8):
        with Job(program, 'arenas') as job, process([MEMSCOPE, 'heap', '--pid', str(job.pid), '--format', 'json'],
                                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as asked:
            time.sleep(0.05 * i)
            job.child.kill()
            out, error = asked.communicate(timeout=60)
            good = json.loads(out) if asked.returncode == 0 else len(error.splitlines()) == 1
            said.add(asked.returncode)
            check(f'killed after {50 * i} ms: an answer or one line', good, (asked.returncode, out, error))
    check('killed during a census: there is no such process', 2 in said, said)


def too_large(folder):
    """The helper process reaches its memory limit."""
    with Job(sys.executable, '-B', LARGE, f'{folder}/libc.so.9') as job:
        done = run_heap(job.pid, '--format', 'json')
        check('too large for the helper: 1 and one line that names the limit', done.returncode == 1 and done.stdout == '' and
              re.fullmatch(rf'memscope: .*heap census of process {job.pid} with the \d+ MiB .*\n', done.stderr), done)


def failures(folder):
    done = run_heap(4194303)
    check('no such process: 2 and one line', done.returncode == 2 and len(done.stderr.splitlines()) == 1, done)
    done = run_heap(2)  # kthreadd
    check('a kernel thread: one line', done.returncode != 0 and len(done.stderr.splitlines()) == 1, done)
    too_large(folder)
    program = f'{folder}/python3-blocks'
    subprocess.run(['c++', '-std=c++20', '-O1', '-rdynamic', '-pthread', '-o', program,
                    str(SOURCE / 'tests/e2e/jobs/blocking_process.cpp')], check=True)
    os.mkdir(f'{folder}/mount')
    for how in ('userfaultfd', 'mmap_lock'):
        words = [program, how] + ([f'{folder}/mount'] if how == 'mmap_lock' else [])
        with process(words, stdout=subprocess.PIPE, text=True, start_new_session=True) as child:
            try:
                said = child.stdout.readline()
                if said.startswith('cannot'):
                    print(f'      {how}: left out, this machine {said.strip()}', flush=True)
                    continue
                done = run_heap(child.pid, '--format', 'json')
                if how == 'userfaultfd':
                    check('userfaultfd: pages that are not present are not read', done.returncode == 0, done)
                else:
                    check('mmap_lock: the command ends with one line', done.returncode == 1 and
                          'blocks its readers' in done.stderr and len(done.stderr.splitlines()) == 1, done)
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(child.pid, signal.SIGKILL)  # also kills its FUSE server


def main():
    with tempfile.TemporaryDirectory() as folder:
        program = f'{folder}/heap_job'
        subprocess.run(['c++', '-std=c++20', '-O1', '-pthread', '-o', program, str(SOURCE / 'tests/e2e/heap/heap_job.cpp')], check=True)
        malloc_figures(program)
        tcaches(program)
        changes(program)
        other_allocators(program)
        dying(program)
        failures(folder)
        busy(program, int(os.environ.get('BUSY', 20)))
        for python in pythons(sys.argv[1:] or CHEAP):
            python_figures(python)


if __name__ == '__main__':
    run_as_root(check, main, MEMSCOPE, 290)
