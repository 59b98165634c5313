#!/usr/bin/env python3
"""A watched job that fragments its heap: the verdict says that the growth is free memory inside malloc, and every output has
the parts of the heap. The line that mapped a large mapping is named. Processes that block their readers stop neither ticks nor
the answers of others.

Needs root and a compiler; takes 60 s. MEMSCOPE names the binary.
"""
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../support'))
from growing import MEMSCOPE, MIB, SOURCE  # noqa: E402
from harness import Cgroup, Checks, Watcher, process, run_as_root, wait_for  # noqa: E402

check = Checks()

# Takes 6 MiB from malloc every 100 ms. `fragment`: each block is cut to a tenth of its size once the next one follows it, so
# that a small live piece is followed by a free one that is too small for the next block. `keep`: keeps the blocks.
JOB = r'''
#include <cstdlib>
#include <cstring>
#include <unistd.h>
int main(int, char** words) {
    const bool fragments = std::strcmp(words[1], "fragment") == 0;
    constexpr std::size_t kBlock = 40000;
    static void* blocks[20000];
    std::size_t count = 0;
    while (count < 14000) {
        for (int i = 0; i < 150; ++i, ++count) {
            blocks[count] = std::malloc(kBlock);
            std::memset(blocks[count], 1, kBlock);
            if (fragments && count > 0) blocks[count - 1] = std::realloc(blocks[count - 1], kBlock / 10);
        }
        usleep(100000);
    }
    pause();
}
'''


def ask(*words, timeout=60):
    done = subprocess.run([MEMSCOPE, *words], capture_output=True, text=True, timeout=timeout)
    return done.returncode, done.stdout, done.stderr


def tick(watcher, name):
    code, out, _ = ask('status', '--target', name, '--json')
    return json.loads(out) if code == 0 else {}


def judged(watcher, name):
    verdicts = tick(watcher, name).get('verdicts', [])
    return verdicts[0] if verdicts else {}


def heap_metrics(watcher):
    return {key: value for key, value in watcher.metrics().items() if key.startswith('memscope_heap_')}


def rss_anon(pid):
    with open(f'/proc/{pid}/status') as f:
        return next(int(line.split()[1]) * 1024 for line in f if line.startswith('RssAnon'))


def watch_job(how, program, folder, job):
    with contextlib.ExitStack() as stack:
        watcher = stack.enter_context(Watcher(MEMSCOPE, folder, '--cgroup', job.name, '--warmup', '6s'))
        check(f'{how}: no heap metric before the first census', not heap_metrics(watcher), heap_metrics(watcher))
        child = stack.enter_context(process([program, how], cgroup=job))
        verdict = wait_for(lambda: (lambda v: v if v.get('verdict') == 'leaking' else None)(judged(watcher, job.name)), 40)
        check(f'{how}: it is called leaking', verdict, judged(watcher, job.name))
        free = how == 'fragment'
        if free:
            verdict = wait_for(lambda: (lambda v: v if v.get('cause') else None)(judged(watcher, job.name)), 15) or {}
            text = verdict.get('explanation', '')
            check('fragment: the word stays, the cause is free memory of malloc',
                  verdict.get('verdict') == 'leaking' and (verdict.get('cause') or {}).get('cause') == 'malloc_free', verdict)
            check('fragment: the sentence says so, and what gives memory back',
                  'free inside malloc' in text and 'not a leak of your objects' in text and 'malloc_trim(0)' in text, text)
            check('fragment: it does not tell the user to look for objects', 'find the objects that the job keeps' not in text, text)
        else:
            check('keep: a census was taken', wait_for(lambda: tick(watcher, job.name).get('heap'), 15))
            verdict = judged(watcher, job.name)
            check('keep: live memory is explained as before',
                  not verdict.get('cause') and 'find the objects that the job keeps' in verdict.get('explanation', ''), verdict)
        parts = {key.split('part="')[1].split('"')[0]: value for key, value in heap_metrics(watcher).items() if 'part="' in key}
        check(f'{how}: every part is a metric', len(parts) == 7, parts)
        most = 'malloc_free' if free else 'malloc_live'
        check(f'{how}: most of it is {most}', parts and parts[most] > 0.8 * sum(parts.values()), parts)
        check(f'{how}: the age is a metric', any(key.startswith('memscope_heap_age_seconds') for key in heap_metrics(watcher)))
        code, text, _ = ask('status', '--target', job.name)
        check(f'{how}: status has the parts', 'heap: malloc' in text and most.replace('_', ' ') in ' '.join(text.split()), text)

        code, out, err = ask('heap', '--target', job.name, '--format', 'json')
        answer = json.loads(out) if code == 0 else {'processes': []}
        check(f'{how}: a census on demand', code == 0 and [p['pid'] for p in answer['processes']] == [child.pid], (code, out, err))
        if answer['processes']:
            census = answer['processes'][0]
            whole = sum(part['bytes'] for part in census['parts'])
            check(f'{how}: the parts add up to the memory of the process',
                  0.97 * census['anon_bytes'] <= whole <= 1.03 * census['anon_bytes'] and
                  0.8 * rss_anon(child.pid) <= census['anon_bytes'] <= rss_anon(child.pid), (whole, census['anon_bytes']))
            check(f'{how}: there is a change since the census before', answer['since_seconds'] > 0, answer['since_seconds'])
        code, out, _ = ask('heap', '--target', job.name, '--pid', str(child.pid))
        check(f'{how}: of one process, as text', code == 0 and f'pid {child.pid}' in out and most in out, out)
        code, out, err = ask('heap', '--target', job.name, '--pid', str(os.getpid()))
        check(f'{how}: not of a process outside of the target', code == 1 and 'has no process' in err, (code, err))
        status, _ = watcher.get(f'/api/v1/heap?target={job.name}')
        check(f'{how}: not on the port', status == 404, status)
        child.kill()
        child.wait()
        check(f'{how}: the metrics are gone with the process', wait_for(lambda: not heap_metrics(watcher), 10), heap_metrics(watcher))


MAPPER = '''import mmap, sys
def load():
    held = mmap.mmap(-1, 96 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    for page in range(0, len(held), 4096):
        held[page] = 1
    return held
held = load()
print('mapped', flush=True)
sys.stdin.read()
'''


def watch_mapper(folder, job):
    """The line that mapped a large mapping is named, if the watcher has seen the call."""
    with contextlib.ExitStack() as stack:
        watcher = stack.enter_context(Watcher(MEMSCOPE, folder, '--cgroup', job.name))
        script = os.path.join(folder, 'mapper.py')
        with open(script, 'w') as f:
            f.write('import time\ntime.sleep(3)\n' + MAPPER)  # until then memscope has recognized the interpreter
        child = stack.enter_context(process(['/usr/bin/python3', script], cgroup=job, stdin=subprocess.PIPE,
                                            stdout=subprocess.PIPE, text=True))
        child.stdout.readline()

        def mapping():
            code, out, _ = ask('heap', '--target', job.name, '--pid', str(child.pid), '--format', 'json')
            mappings = json.loads(out)['processes'][0]['mappings'] if code == 0 else []
            return mappings[0] if mappings and mappings[0]['mapped_at'] else None
        found = wait_for(mapping, 10) or {}
        check('a large mapping has the line that mapped it', found.get('mapped_at') == 'load (mapper.py:5)' and
              found.get('resident_bytes', 0) >= 96 * MIB, found)
        _, out, _ = ask('heap', '--target', job.name, '--pid', str(child.pid))
        check('the text says it, too', 'mapped at load (mapper.py:5)' in out, out)


def ticks_go_on(watcher, times=5):
    for _ in range(times):
        before = watcher.value('memscope_last_tick_timestamp_seconds')
        if not wait_for(lambda: watcher.value('memscope_last_tick_timestamp_seconds') > before, 10, 0.05):
            return False
    return True


def watch_blocking(how, program, folder, job):
    words = [program, how] + ([f'{folder}/mount'] if how == 'mmap_lock' else [])
    with contextlib.ExitStack() as stack:
        watcher = stack.enter_context(Watcher(MEMSCOPE, folder, '--cgroup', job.name))
        child = stack.enter_context(process(words, cgroup=job, stdout=subprocess.PIPE, text=True))
        stack.callback(lambda: [os.kill(pid, signal.SIGKILL) for pid in job.pids()])
        said = child.stdout.readline()
        if said.startswith('cannot'):
            print(f'      {how}: left out, this machine {said.strip()}', flush=True)
            return
        wait_for(lambda: any(p['pid'] == child.pid for p in tick(watcher, job.name).get('processes', [])), 10)
        answers = []
        asking = threading.Thread(target=lambda: answers.append(ask('heap', '--target', job.name, '--pid', str(child.pid))))
        asking.start()
        check(f'{how}: ticks and metrics go on while a census is wanted', ticks_go_on(watcher))
        check(f'{how}: it is healthy', watcher.get('/-/healthy')[0] == 200)
        asking.join(60)
        check(f'{how}: the request is answered, with a census or with the reason',
              answers and (answers[0][0] == 0 or (answers[0][0] == 1 and answers[0][2].count('\n') == 1)), answers)
        if how == 'mmap_lock':
            check(f'{how}: it is the reason', answers and answers[0][0] == 1, answers)
        check(f'{how}: ticks go on afterwards', ticks_go_on(watcher))
        watcher.child.send_signal(signal.SIGTERM)
        check(f'{how}: SIGTERM ends it', watcher.child.wait(10) == 0)


def watch_too_large(folder, job):
    """A census needs more memory than its helper process may use: the request fails, and the watcher goes on."""
    with contextlib.ExitStack() as stack:
        watcher = stack.enter_context(Watcher(MEMSCOPE, folder, '--cgroup', job.name))
        large = stack.enter_context(process(
            [sys.executable, '-B', str(SOURCE / 'tests/e2e/support/large_census.py'), f'{folder}/libc.so.9'], cgroup=job,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
        other = stack.enter_context(process(['sleep', '1000'], cgroup=job))
        large.stdout.readline()
        pids = {large.pid, other.pid}
        wait_for(lambda: pids <= {p['pid'] for p in tick(watcher, job.name).get('processes', [])}, 10)
        code, out, err = ask('heap', '--target', job.name, '--pid', str(large.pid))
        check('too large: the request ends with 1 and one line that names the limit', code == 1 and out == '' and
              err.count('\n') == 1 and f'heap census of process {large.pid} with the' in err and ' MiB' in err, (code, out, err))
        check('too large: ticks go on', ticks_go_on(watcher))
        check('too large: it is healthy', watcher.get('/-/healthy')[0] == 200)
        code, out, err = ask('heap', '--target', job.name, '--pid', str(other.pid))
        check('too large: the helper takes the next census', code == 0 and f'pid {other.pid}' in out, (code, out, err))
        blocked = watcher.value('memscope_events_dropped_total{reason="read_blocked"}')
        check('too large: no helper was replaced', blocked == 0, blocked)
        for child in (large, other):
            child.kill()


def main():
    with tempfile.TemporaryDirectory() as folder, Cgroup(f'ms-heap-{os.getpid()}', 2048 * MIB) as job:
        os.mkdir(f'{folder}/mount')
        with open(f'{folder}/job.cpp', 'w') as f:
            f.write(JOB)
        subprocess.run(['c++', '-O1', '-o', f'{folder}/trainer', f'{folder}/job.cpp'], check=True)
        for how in 'fragment', 'keep':
            watch_job(how, f'{folder}/trainer', folder, job)
        watch_mapper(folder, job)
        watch_too_large(folder, job)
        program = f'{folder}/python3-blocks'
        subprocess.run(['c++', '-std=c++20', '-O1', '-rdynamic', '-pthread', '-o', program,
                        str(SOURCE / 'tests/e2e/jobs/blocking_process.cpp')], check=True)
        for how in 'userfaultfd', 'mmap_lock':
            watch_blocking(how, program, folder, job)


if __name__ == '__main__':
    run_as_root(check, main, MEMSCOPE, 170)
