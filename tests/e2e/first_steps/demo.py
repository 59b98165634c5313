#!/usr/bin/env python3
"""Every demo, shortened: it prints its story and its answer, an outside observer sees its shape, and it leaves nothing behind.

Needs root and 2 GiB of memory; takes 90 s. MEMSCOPE names the binary (default: build/memscope below the source tree).
"""
import concurrent.futures
import contextlib
import os
import pathlib
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../support'))
from harness import Checks, GaveUp, memory_hierarchy, process, run_as_root, wait_for  # noqa: E402

SOURCE = pathlib.Path(__file__).resolve().parents[3]
MEMSCOPE = os.environ.get('MEMSCOPE', str(SOURCE / 'build' / 'memscope'))
SECONDS = 8
LONGER = {'leak': 20, 'fragmentation': 14, 'crashloop': 14}  # seconds; on a busy machine censuses take time
MIB = 1 << 20
STORIES = {'leak': 'keeps 8 MiB more every second', 'warmup': 'slower and slower', 'spikes': 'whenever it validates',
           'steps': 'a little more at each validation', 'workers': 'three workers that share it', 'wrapper': 'watch uv',
           'fragmentation': 'frees nine tenths of it', 'crashloop': 'again and again'}
ANSWERS = {'leak': 'a leak in the trainer', 'warmup': 'nothing is wrong', 'spikes': 'no leak', 'steps': 'a leak in steps',
           'workers': 'copy-on-write un-sharing', 'wrapper': '2 levels below uv',
           'fragmentation': 'free inside malloc', 'crashloop': 'a restart does not help'}
RECORDINGS = pathlib.Path(tempfile.mkdtemp(prefix='recordings-of-demos-'))
ENVIRONMENT = {**os.environ, 'MEMSCOPE_RECORD': str(RECORDINGS)}

BEGAN = time.time()
check = Checks()


def cgroup_of(pid):
    return f'{memory_hierarchy()[0]}/memscope-demo-{pid}'


def numbers(path):
    """{key: number} of a file with one key and one number a line; units and other lines are left out."""
    with open(path) as f:
        parts = [line.replace(':', ' ').split() for line in f]
    return {p[0]: int(p[1]) for p in parts if len(p) > 1 and p[1].isdigit()}


def members(cgroup):
    with open(f'{cgroup}/cgroup.procs') as f:
        return [int(line) for line in f]


def name_of(pid):
    """The name of a process. `trainer`: a process that runs train.py and has no name of its own."""
    comm = pathlib.Path(f'/proc/{pid}/comm').read_text().strip()
    words = pathlib.Path(f'/proc/{pid}/cmdline').read_bytes().split(b'\0')
    return 'trainer' if b'train.py' in words and comm.startswith('python') else comm


def sample(cgroup):
    """(anon of the cgroup, {pid: (name, parent, RssAnon)}), each page counted once in the first."""
    stat = numbers(f'{cgroup}/memory.stat')
    seen = {}
    for pid in members(cgroup):
        with contextlib.suppress(OSError, KeyError):
            status = numbers(f'/proc/{pid}/status')
            seen[pid] = (name_of(pid), status['PPid'], status['RssAnon'] * 1024)
    return stat['anon'] if memory_hierarchy()[1] == 2 else stat['total_rss'], seen


def living(pids):
    """The pids of the processes that still live, without zombies."""
    left = []
    for pid in pids:
        with contextlib.suppress(OSError):
            if not pathlib.Path(f'/proc/{pid}/stat').read_text().rpartition(') ')[2].startswith('Z'):
                left.append(pid)
    return left


def seconds_of(scenario):
    return LONGER.get(scenario, SECONDS)


def demo(scenario):
    return process([MEMSCOPE, 'demo', scenario, '--scenario-seconds', str(seconds_of(scenario))], env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                   start_new_session=True)  # so that a signal can be sent to all its processes, as Ctrl-C does


def wait_until_watched(child):
    """The pids of its tree, once a watcher's socket is there."""
    def watched():
        if child.poll() is not None:
            raise GaveUp(f'the demo has ended: {child.stdout.read().decode()[-600:]}')
        return os.path.exists(f'/run/memscope/{child.pid}.sock') and members(cgroup_of(child.pid))
    ready = wait_for(watched, 90)
    if not ready:
        raise GaveUp('the demo does not start')
    return ready


def play(scenario):
    """(exit status, output, samples, seconds, pids that are left, whether its cgroup is left)."""
    with demo(scenario) as child:
        wait_until_watched(child)
        began, samples = time.monotonic(), []
        while child.poll() is None and time.monotonic() - began < 3 * seconds_of(scenario):
            with contextlib.suppress(OSError):
                samples.append(sample(cgroup_of(child.pid)))
            time.sleep(0.1)
        took = time.monotonic() - began
        output = child.stdout.read().decode() if child.poll() is not None else ''
        pids = {pid for _, tree in samples for pid in tree}
        return child.returncode, output, samples, took, living(pids), os.path.exists(cgroup_of(child.pid))


def whole(samples):
    """The samples that show the whole tree. Others can show a tree that is ending, or a process that was just forked, so the
    size of the whole tree is the most frequent size in the samples with a trainer."""
    trained = [s for s in samples if any(name == 'trainer' for name, _, _ in s[1].values())]
    size = statistics.mode(len(tree) for _, tree in trained) if trained else 0
    return [s for s in trained if len(s[1]) == size]


def line(samples, comm):
    return [sum(rss for name, _, rss in tree.values() if name == comm) / MIB for _, tree in samples]


def risen(sizes):
    return sizes[-1] - sizes[0]


def flat(sizes, tolerance=6):
    return max(sizes) - min(sizes) <= tolerance


def bouts(sizes, above):
    """How often the series rises above the level."""
    return sum(a <= above < b for a, b in zip(sizes, sizes[1:]))


def depth(tree, comm):
    """The number of ancestors that the process of that name has in the tree."""
    pid, above = next(pid for pid, (name, _, _) in tree.items() if name == comm), 0
    while tree[pid][1] in tree:
        pid, above = tree[pid][1], above + 1
    return above


def shows(scenario, samples):
    """Whether the samples have the shape of the scenario, and the figures for that."""
    trainer, cgroup = line(samples, 'trainer'), [anon / MIB for anon, _ in samples]
    others = [line(samples, comm) for comm in ('launch.sh', 'uv', 'sh', 'pt_data_worker')]
    still, half, (_, tree) = all(map(flat, others)), len(trainer) // 2, samples[-1]
    summed = [sum(rss for _, _, rss in t.values()) / MIB for _, t in samples]
    steps = [b - a for a, b in zip(trainer, trainer[1:])]
    # On a busy machine the first samples are late: a warm-up has then reached two thirds of its size.
    return {
        'leak': still and risen(trainer) > 300 and min(steps) >= 0 and risen(trainer[half:]) > 150,
        'warmup': still and risen(trainer) > 60 and trainer[-1] > 250 and min(steps) >= 0 and flat(trainer[half:]),
        'spikes': still and min(trainer[half:]) - min(trainer) < 6 and max(trainer) - min(trainer) > 100 and
        bouts(trainer, min(trainer) + 60) >= 4,
        'steps': still and 100 < risen(trainer) < 170 and min(steps) >= 0 and sum(s < 1 for s in steps) > len(steps) * 2 / 3,
        'workers': risen(cgroup) > 250 and flat(summed) and still and flat(trainer),
        'wrapper': still and risen(trainer) > 150 and depth(tree, 'trainer') == 2 and
        sorted(name for name, _, _ in tree.values()) == ['pt_data_worker', 'sh', 'trainer', 'uv'],
        'fragmentation': still and risen(trainer) > 250 and min(steps) >= 0,
        'crashloop': sum(b < a - 100 for a, b in zip(trainer, trainer[1:])) >= 2 and max(trainer) > 150,
    }[scenario], [round(x) for x in (cgroup if scenario == 'workers' else trainer)]


def scenarios():
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for scenario, played in zip(STORIES, pool.map(play, STORIES)):
            code, output, samples, took, left, cgroup_left = played
            text = ' '.join(output.split())
            check(f'{scenario}: ends by itself, in time, with 0', code == 0 and seconds_of(scenario) - 2 < took < seconds_of(scenario) + 8, (code, took, output[-300:]))
            check(f'{scenario}: the story is printed', STORIES[scenario] in text.partition('watching')[0], output[:300])
            answer = text.partition('Measured: ')[2]
            check(f'{scenario}: the answer is given', ANSWERS[scenario] in answer and 'does not show' not in text, output[-400:])
            fine, judged = shows(scenario, whole(samples)) if samples else (False, 'no samples')
            check(f'{scenario}: its shape is there for others to see', fine, judged)
            leaks = [part for part in output.splitlines() if ': leaking: ' in part]
            if scenario == 'leak':
                picture = output.partition('┤╌')[2]
                check('leak: the picture names the line, the list, the process and the time',
                      all(part in picture for part in ('\nleaks     trainer, pid ', 'python3 train.py, 1 level below launch.sh',
                                                       '\nsince     ', '\nline      Trainer.validate (train.py:',
                                                       '\nheld by   `__main__.trainer.val_outputs` (list)', '\ndies      ')), picture)
                recording = output.partition('sudo memscope report ')[2].split('\n')[0]
                shown = subprocess.run([MEMSCOPE, 'report', recording], capture_output=True, text=True, timeout=60)
                check('leak: the recording that it names can be shown', recording.startswith(str(RECORDINGS)) and
                      shown.returncode == 0 and 'leaking' in shown.stdout, (recording, shown))
                check('leak: it ends with the list that grows', '__main__.trainer.val_outputs` (list) has grown by' in answer,
                      output[-600:])
                check('leak: the verdict names the trainer', any('Most of it is the trainer' in part for part in leaks), leaks)
            if scenario == 'workers':
                check('workers: the verdict names the copies as the cause, and nothing else',
                      leaks and all('copy-on-write un-sharing' in part and 'find the objects that the job keeps' not in part for part in leaks), leaks)
            if scenario == 'crashloop':
                check('crashloop: the line of the runs is named', 'Trainer.step (train.py:' in answer, answer)
            if scenario == 'fragmentation':
                check('fragmentation: the verdict says that it is no leak of objects',
                      any('not a leak of your objects' in part for part in leaks), leaks)
            peak = max((anon for anon, _ in samples), default=0)
            check(f'{scenario}: below 768 MiB', 0 < peak < 768 * MIB, peak)
            check(f'{scenario}: no process and no cgroup is left', not left and not cgroup_left, (left, cgroup_left))


def ends():
    for number in signal.SIGINT, signal.SIGTERM:
        with demo('leak') as child:
            pids = wait_until_watched(child)
            time.sleep(1)
            (os.killpg if number == signal.SIGINT else os.kill)(child.pid, number)
            code = wait_for(lambda: child.poll() is not None, 5) and child.returncode
            gone = not living(pids) and not os.path.exists(cgroup_of(child.pid))
            check(f'{number.name} in the middle: exit 0, nothing is left', code == 0 and gone, (code, living(pids)))
            text = child.stdout.read().decode()
            check(f'{number.name}: half a story has no answer', 'too early for an answer' in text and 'measured' not in text, text[-300:])
    with demo('workers') as child:
        wait_for(lambda: os.path.isdir(cgroup_of(child.pid)), 5, 0.001)
        child.terminate()
        code = wait_for(lambda: child.poll() is not None, 10) and child.returncode
        check('SIGTERM before it watches: exit 0, nothing is left', code == 0 and not os.path.exists(cgroup_of(child.pid)), code)
    with demo('workers') as child:
        pids = wait_until_watched(child)
        check('the whole tree is there from the first look', len(pids) == 5, pids)
        child.kill()
        child.wait()
        check('kill -9 in the middle: its processes die with it', wait_for(lambda: not living(pids), 3, 0.02), living(pids))
        left = cgroup_of(child.pid)
        check('... and the cgroup stays', os.path.isdir(left) and not members(left))
        with demo('leak') as other, demo('steps') as third:
            wait_until_watched(third)  # runs before the other demo, because it ends after 8 s
            wait_until_watched(other)
            check('the next start removes it', not os.path.exists(left), left)
            of_other = members(cgroup_of(other.pid))
            check('... and no other one', of_other and living(of_other) == of_other, of_other)


def without_python():
    """In a mount namespace in which /usr/bin/python3 cannot be run."""
    hidden = 'mount --bind /dev/null "$(readlink -f /usr/bin/python3)" && PATH=/nowhere exec "$0" demo "$1"'
    def played(scenario):
        environment = {**ENVIRONMENT, 'MEMSCOPE_DEMO_SECONDS': str(LONGER[scenario])}
        return subprocess.run(['unshare', '--mount', '/bin/sh', '-c', hidden, MEMSCOPE, scenario], env=environment, capture_output=True,
                              text=True, timeout=60)
    both = 'leak', 'crashloop'
    with concurrent.futures.ThreadPoolExecutor(len(both)) as players:
        results = list(players.map(played, both))
    for scenario, done in zip(both, results):
        text = ' '.join(done.stdout.split())
        check(f'{scenario} without python3: native code plays it, and the first lines say so', done.returncode == 0 and
              'no CPython 3.10 to 3.15 here, so' in text.partition('watching')[0] and 'There is no python3 here' in text and
              'does not show' not in text, (done.returncode, done.stdout[-900:], done.stderr))


def usage():
    for value in '3', '601', 'soon', '':
        done = subprocess.run([MEMSCOPE, 'demo'], env={**os.environ, 'MEMSCOPE_DEMO_SECONDS': value}, capture_output=True, timeout=10)
        said = b'MEMSCOPE_DEMO_SECONDS' in done.stderr and done.stderr.count(b'\n') == 1
        check(f'MEMSCOPE_DEMO_SECONDS={value!r}: exit 2, and why', done.returncode == 2 and said and not done.stdout, done)
    done = subprocess.run([MEMSCOPE, 'demo', '--scenario-seconds', '3'], capture_output=True, timeout=10)
    check('--scenario-seconds 3: exit 2, and why', done.returncode == 2 and b'--scenario-seconds' in done.stderr and not done.stdout, done)


def main():
    try:
        usage()
        scenarios()
        without_python()
        ends()
    finally:
        shutil.rmtree(RECORDINGS, ignore_errors=True)
    # The name of a directory contains the pid of its demo. A demo that another test still runs does not count.
    left = [path for path in pathlib.Path(tempfile.gettempdir()).glob('memscope-demo-*')
            if path.stat().st_mtime > BEGAN and not living([path.name.split('-')[2]])]
    check('the directories of the jobs are removed', not left, left)


if __name__ == '__main__':
    run_as_root(check, main, MEMSCOPE, 300)
