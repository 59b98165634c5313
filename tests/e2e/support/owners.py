"""Jobs that keep memory at a known line (../jobs), and what `memscope growth` says of them."""
import contextlib
import functools
import json
import math
import os
import pathlib
import re
import select
import subprocess
import time

from harness import Cgroup, GaveUp, Watcher, process, tail, wait_for

JOBS = pathlib.Path(__file__).resolve().parents[1] / 'jobs'
MIB = 1 << 20
SAMPLE = 128 * 4096  # mean distance of two samples of the resident plane, in bytes
PLANES = ('resident', 'mapped', 'tensors_host', 'gpu', 'pinned')
UNITS = {'B': 1, 'KiB': 1 << 10, 'MiB': 1 << 20, 'GiB': 1 << 30}


def anonymous(pid):
    """Anonymous memory of a process, swapped memory included, in bytes."""
    with open(f'/proc/{pid}/smaps_rollup') as rollup:
        return sum(int(line.split()[1]) << 10 for line in rollup if line.startswith(('Anonymous:', 'Swap:')))


class Job:
    """A script of ../jobs in a cgroup of its own. It is ready when the block begins.

    `watch` gives the watcher of a job, which then starts before the job.
    """

    def __init__(self, python, script, folder, limit, arguments=(), environment=None, watch=None, swaps=False):
        self.script = str(JOBS / script)
        self.name = script.removesuffix('.py')
        self.log = pathlib.Path(folder, f'{self.name}.log')
        self.argv = [python, '-B', self.script, *arguments]
        self.environment = {**os.environ, 'OMP_NUM_THREADS': '1', 'HOME': str(folder), **(environment or {})}
        self.cgroup = Cgroup(f'ms-owner-{self.name}-{os.getpid()}', limit, swaps)
        self.watch, self.watcher = watch, None

    def __enter__(self):
        with contextlib.ExitStack() as stack:
            stack.enter_context(self.cgroup)
            if self.watch:
                self.watcher = stack.enter_context(self.watch(self))
            errors = stack.enter_context(self.log.open('w'))
            self.child = stack.enter_context(process(self.argv, self.cgroup, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                                     stderr=errors, text=True, env=self.environment))
            if 'ready' not in self.child.stdout.readline():
                raise GaveUp(f'{self.name} did not start: {tail(self.log, 1500)}')
            self.before = {pid: 0 if self.watch else anonymous(pid) for pid in self.cgroup.pids()}
            self.stack = stack.pop_all()
        return self

    def __exit__(self, *how):
        self.child.kill()  # its children end with the cgroup
        self.stack.__exit__(*how)

    def send(self, line):
        self.child.stdin.write(line + '\n')
        self.child.stdin.flush()

    def tell(self, line):
        """The answer of the job to a line."""
        self.send(line)
        answer = self.child.stdout.readline()
        if not answer:
            raise GaveUp(f'{self.name} ended: {tail(self.log, 1500)}')
        return json.loads(answer)

    def changed(self, began):
        """Growth of all living processes. `began`: what those had that are younger than the watcher, in bytes."""
        had = {**{int(pid): int(bytes) for pid, bytes in began.items()}, **self.before}
        pids = self.cgroup.pids()
        unknown = [pid for pid in pids if pid not in had]
        if unknown:
            raise GaveUp(f'{self.name}: nobody knows what {unknown} began with')
        return sum(anonymous(pid) - had[pid] for pid in pids)


class Answer:
    """One answer of `memscope growth`, as JSON and as text. Both are since watching began."""

    def __init__(self, program, target):
        self.json = json.loads(self._ask(program, target, '--top', '5000', '--format', 'json'))
        self.text = self._ask(program, target, '--since', 'start')

    @staticmethod
    def _ask(program, target, *options):
        done = subprocess.run([str(program), 'growth', '--target', target, *options], capture_output=True, text=True, timeout=60)
        if done.returncode:
            raise GaveUp(f'growth {options}: {done.stderr[-400:]}')
        return done.stdout

    def unattributed(self, plane, reason=None):
        return sum(part['bytes'] for part in self.json['unattributed']
                   if part['plane'] == plane and reason in (None, part['reason']))

    def reasons(self, plane):
        return {part['reason']: part['bytes'] for part in self.json['unattributed'] if part['plane'] == plane}

    def total(self, plane):
        """All growth of a plane: sites, sites that are left out, growth without a site."""
        left_out = self.json['left_out'].get(plane, {'bytes': 0})
        return sum(site['bytes'] for site in self.json[plane]) + left_out['bytes'] + self.unattributed(plane)

    def by_line(self, plane):
        """{(file, line): bytes} by own line, largest first. The own line is the innermost line of the job's own files."""
        sums = {}
        for site in self.json.get(plane, []):
            own = next(((f['file'], f['line']) for f in site['python'] if f['file'].startswith(str(JOBS))), None)
            sums[own] = sums.get(own, 0) + site['bytes']
        return dict(sorted(sums.items(), key=lambda item: -item[1]))

    def sentence(self):
        """The text above the tables."""
        above = []
        for line in self.text.splitlines():
            if re.match(r'(RESIDENT|MAPPED|HOST TENSORS|TENSORS|GPU|PINNED)\b', line):
                break
            above.append(line.strip())
        return ' '.join(filter(None, above))

    def accused(self):
        """(file name, line, bytes) that the sentence names as the owner of growth; none if it names no line."""
        found = re.search(r'\(([^():]+):(\d+)\) keeps ([\d.,]+) (B|KiB|MiB|GiB)\b', self.sentence())
        if not found:
            return None
        name, line, number, unit = found.groups()
        return name, int(line), float(number.replace(',', '')) * UNITS[unit]

    def does_not_know(self):
        """The sentence says that the owner is not known."""
        return bool(re.search(r'memscope heap|not the owner|does not know|not known', self.sentence()))


def tolerance(bytes, sigmas=3):
    """Relative error that a sampled number of bytes may have."""
    return max(0.10, sigmas / math.sqrt(max(1.0, bytes / SAMPLE)))


def near(got, wanted, share):
    return abs(got - wanted) <= share * wanted


def check_sums(check, label, answer, changed):
    """Checks that every answer must pass."""
    negative = [(plane, site['bytes']) for plane in PLANES for site in answer.json.get(plane, []) if site['bytes'] < 0]
    check(f'{label}: no site is negative', not negative, negative[:5])
    total = answer.total('resident')
    check(f'{label}: sites and the rest add up to the growth of anonymous memory',
          abs(total - changed) <= max(0.03 * abs(changed), 2 * MIB),
          f'{total / MIB:.1f} of {changed / MIB:.1f} MiB: {answer.reasons("resident")}')
    shares = [float(share) for share in re.findall(r'(\d+(?:\.\d+)?) ?%', answer.text)]
    check(f'{label}: no share is above 100 %', max(shares, default=0) <= 100, shares)


def settled(program, job, began):
    """The answer when all that grew has been counted, or the last one. Two answers in a row must be complete: memscope
    can see growth one tick before it gets the samples, and the section before may have grown as much."""
    answers, complete = [], []

    def twice_complete():
        answers.append(Answer(program, job.cgroup.name))
        last, changed = answers[-1], job.changed(began)
        complete.append(not last.unattributed('resident', 'pending')
                        and abs(last.total('resident') - changed) <= max(0.02 * abs(changed), MIB))
        return complete[-2:] == [True, True]
    wait_for(twice_complete, 10, 0.6)  # longer than a tick
    return answers[-1]


def watched(program, folder, job, *options):
    return Watcher(str(program), str(folder), '--cgroup', job.cgroup.name, '--interval', '500ms', *options)


def losses(watcher):
    return {name: count for name, count in watcher.metrics().items() if name.startswith('memscope_events_dropped_total') and count}


def check_owner(check, label, answer, truth):
    """The line that is named first is the line that keeps the memory, or memscope says that it does not know the line."""
    accused = answer.accused()
    print(f'     {label}: {answer.sentence()}', flush=True)
    if truth['line'] is None:
        # What a healthy job keeps is small: states of the optimizer.
        check(f'{label}: no line is accused', accused is None or accused[2] <= 4 * MIB, accused)
        return 'nobody' if accused is None else 'small'
    if accused is None:
        check(f'{label}: memscope names the line or says that it does not know', answer.does_not_know(), answer.text[:600])
        return 'not known'
    wanted = [(os.path.basename(truth['script']), truth['line']), *([tuple(truth['caller'])] if truth['caller'] else [])]
    right = check(f'{label}: the line that is named keeps the memory', accused[:2] in wanted, (accused, wanted))
    share = tolerance(truth['bytes'])
    check(f'{label}: its bytes are right within {share:.0%}', not right or near(accused[2], truth['bytes'], share),
          f'{accused[2] / MIB:.1f} of {truth["bytes"] / MIB:.1f} MiB')
    return 'named'


def check_plane(check, label, answer, plane, script, line, wanted, share):
    """An exact plane has the bytes at their line, and no line has more."""
    lines = answer.by_line(plane)
    got = lines.get((script, line), 0)
    check(f'{label}: {plane} has the bytes at line {line}', near(got, wanted, share), f'{got / MIB:.1f} of {wanted / MIB:.1f} MiB')
    return lines


# Jobs that train: script -> the plane that names their line exactly, none if there is no such plane.
TRAINING = {
    'kept_in_list.py': 'tensors_host',
    'kept_in_dict.py': 'tensors_host',
    'kept_from_forward.py': 'tensors_host',
    'kept_in_worker.py': None,
    'healthy_spikes.py': None,
    'kept_shared_memory.py': 'mapped',
    'kept_after_transient.py': None,
    'many_storages.py': None,
}


def train(check, program, python, folder, script, limit, environment=None, label=None, from_start=False):
    """Runs one job under memscope and checks what memscope says of it. Returns the figures.

    `from_start`: memscope watches before the job starts. Otherwise it starts when the job is ready to grow.
    """
    label = label or script.removesuffix('.py')
    exact = TRAINING[script]
    watch = functools.partial(watched, program, folder)
    with Job(python, script, folder, limit, environment=environment, watch=watch if from_start else None) as job, \
            contextlib.nullcontext(job.watcher) if from_start else watch(job) as watcher:
        if exact == 'tensors_host' and not from_start:  # storages from before the probes are not known
            attached = wait_for(lambda: watcher.metrics().get('memscope_probe_attached{probe="host_tensors"}') == 1, 30)
            check(f'{label}: PyTorch is followed', attached)
        if script == 'many_storages.py':
            truth = until_paused(program, job)
        elif script == 'healthy_spikes.py':
            truth = accuse_nobody(check, label, program, job)
        else:
            truth = job.tell('go')
        time.sleep(0.6)  # an answer has the tensors of the last tick, and the interval is 0.5 s
        answer = settled(program, job, truth['forked'])
        changed = job.changed(truth['forked'])
        check_sums(check, label, answer, changed)
        named = check_owner(check, label, answer, truth)
        if exact:
            lines = check_plane(check, label, answer, exact, truth['script'], truth['line'], truth['bytes'], 0.05)
            check(f'{label}: no line has more in {exact}', next(iter(lines), None) == (truth['script'], truth['line']), list(lines.items())[:3])
            check(f'{label}: {exact} did not pause', exact in answer.json and 'paused' not in answer.reasons(exact), answer.reasons(exact))
        if truth['caller']:
            file, line = truth['caller']
            check(f'{label}: the text shows the caller that keeps', f'({file}:{line})' in answer.text, answer.text[:1500])
        if truth['also_line']:
            check_plane(check, label, answer, exact, job.script, truth['also_line'], truth['also_bytes'], 0.05)
        if script == 'healthy_spikes.py':
            alive = answer.by_line('tensors_host')
            # The answer can be of a moment within a step, whose backward pass has about 15 MiB.
            check(f'{label}: no line has live tensors of a spike',
                  'tensors_host' in answer.json and max(alive.values(), default=0) <= 24 * MIB, list(alive.items())[:3])
        if script == 'many_storages.py':
            check(f'{label}: host tensors pause at that rate', 'paused' in answer.reasons('tensors_host'), answer.reasons('tensors_host'))
            check(f'{label}: the text says so', 'paused' in answer.text, answer.text[-800:])
        dropped = losses(watcher)
        # At thousands of storages a second there are more different stacks than fit into the ring buffer until the pause.
        allowed = ['stacks_full', 'host_sites_full'] if script == 'many_storages.py' else []
        # A busy machine may take more than 5 s to attach probes. The watcher says so, and follows the library from then on.
        if answer.json.get('tensors_host'):
            allowed.append('host_tensor_library_refused')
        unexpected = set(dropped) - {f'memscope_events_dropped_total{{reason="{reason}"}}' for reason in allowed}
        check(f'{label}: nothing was dropped', not unexpected, dropped)
        return {'truth': truth, 'growth_bytes': changed, 'outcome': named, 'sentence': answer.sentence(), 'text': answer.text,
                'unattributed': answer.json['unattributed'], 'dropped': dropped,
                'lines': {plane: [[*(line or ('', 0)), bytes] for line, bytes in list(answer.by_line(plane).items())[:5]]
                          for plane in PLANES if answer.json.get(plane)}}


def accuse_nobody(check, label, program, job):
    """Asks again and again while a healthy job works, also in the middle of its steps. Returns the exact figures of the job."""
    job.tell('go')  # its answer: the first spike is over. Before that, a spike cannot be distinguished from a leak
    time.sleep(1)  # two ticks: an answer is about the last tick, which may have been in the first spike
    accused = []
    while not select.select([job.child.stdout], [], [], 0.2)[0]:
        accused.append(Answer(program, job.cgroup.name).accused())
    wrong = [each for each in accused if each and each[2] > 4 * MIB]
    check(f'{label}: no line is accused while it works', len(accused) >= 5 and not wrong, (len(accused), wrong))
    return json.loads(job.child.stdout.readline())


def until_paused(program, job):
    """Lets a job run until memscope no longer counts its tensors and the job has kept 60 MiB. Returns its exact figures."""
    job.send('go')
    pid = job.child.pid
    wait_for(lambda: 'paused' in Answer(program, job.cgroup.name).reasons('tensors_host')
             and anonymous(pid) - job.before[pid] >= 60 * MIB, 35, 1)
    return job.tell('stop')


def expect(check, label, answer, script, line, wanted, sigmas=3):
    got, share = answer.by_line('resident').get((script, line), 0), tolerance(wanted, sigmas)
    check(f'{label}: its bytes at line {line} within {share:.0%}', near(got, wanted, share), f'{got / MIB:.1f} of {wanted / MIB:.1f} MiB')
    return got


# Sections of pages.py. `gone`: the most that may be alive at the line whose pages are gone, in bytes.
PAGES = {
    # Four standard deviations: three are exceeded once in 370 runs.
    'mixed': {'sigmas': 4, 'gone': 4 * MIB},
    'again': {'gone': 0.05 * (1 << 30)},
    'moved': {},
    'given_back': {},
    'forked': {'gone': 0.05 * 64 * MIB},
    'dropped': {},
    'reading': {},
    'populated': {'without_address': True},
    'locked': {},
    'huge': {},
    'replaced': {},
}


# With less memory than the section needs, and swap.
SWAPPED = {'swapped': {'gone': 4 * MIB}}


def pages(check, program, python, folder, limit, sections=PAGES):
    """Runs sections of pages.py in one process under memscope. Returns the figures."""
    source, figures = pathlib.Path(folder, 'to-read'), {}
    source.write_bytes(bytes(48 * MIB))
    with Job(python, 'pages.py', folder, limit, [str(source)], swaps=sections is SWAPPED) as job, \
            watched(program, folder, job) as watcher:
        for section, wanted in sections.items():
            truth = job.tell(section)
            began = {pid: anonymous(pid) - grown for pid, grown in truth['children'].items()}
            answer = settled(program, job, began)
            check_sums(check, section, answer, job.changed(began))
            lines, figure = truth['lines'], {'grown_bytes': truth['bytes']}
            if 'grows' in lines:
                figure['at_line_bytes'] = expect(check, section, answer, job.script, lines['grows'], truth['bytes'], wanted.get('sigmas', 3))
            if 'goes' in lines:
                alive = answer.by_line('resident').get((job.script, lines['goes']), 0)
                figure['alive_bytes'] = alive
                check(f'{section}: what is gone is not alive', alive <= wanted['gone'], f'{alive / MIB:.1f} MiB at line {lines["goes"]}')
            if wanted.get('without_address'):
                got = answer.unattributed('resident', 'no_address')
                figure['no_address_bytes'] = got
                check(f'{section}: is growth without an address', near(got, truth['bytes'], 0.10), answer.reasons('resident'))
            if 'maps' in lines:
                check_plane(check, section, answer, 'mapped', job.script, lines['maps'], truth['bytes'], 0.02)
            if section == 'swapped':
                check('swapped: the kernel has swapped', truth['swapped'] >= 64 * MIB, truth)
            if section == 'moved':
                check('moved: the region has moved', truth['moves'] >= 2, truth)
            figures[section] = figure
        lost = losses(watcher)
        if sections is SWAPPED:  # so are the objects of Python that hold the names of its code
            lost.pop('memscope_events_dropped_total{reason="python_unreadable"}', None)
        check('pages: nothing was dropped', not lost, lost)
    return figures
