#!/usr/bin/env python3
"""GPU memory on a machine that has a GPU: the portable tarball against real PyTorch jobs.

    real_gpu.py TARBALL [RESULT.json]

Needs root, a GPU and a Python with PyTorch. The bytes that memscope counts must equal the bytes that PyTorch reports, for three
settings of its allocator. Then come pinned memory, leaks by their line, a CUDA out of memory, and the cost of being watched for
a training loop. PARTS="tensors step_rates" in the environment runs those alone, in that order.
"""
import contextlib
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / 'support'))
import bpf_time  # noqa: E402
from harness import Cgroup, process, tail, wait_for  # noqa: E402
from real_machine import try_here, unpack  # noqa: E402

# A job that executes each line of Python that it receives, and answers each with one line of JSON.
OBEDIENT = '''
import json, sys, torch
kept = []
print(json.dumps('ready'), flush=True)
for line in sys.stdin:
    try:
        answer = eval(line)
    except torch.cuda.OutOfMemoryError:
        raise
    print(json.dumps(answer), flush=True)
'''

LEAKY = '''
import sys, time, torch


class Trainer:
    def __init__(self):
        self.model = torch.nn.Linear(256, 4096).cuda()
        self.losses, self.pictures, self.batches = [], [], []

    def step(self):
        out = self.model(torch.randn(1024, 256, device='cuda'))
        self.losses.append(out.detach() * 2)  # GPU
        self.pictures.append(bytearray(4 << 20))  # HOST
        self.batches.append(torch.empty(4 << 20, dtype=torch.uint8).pin_memory())  # PINNED


trainer = Trainer()
print('READY', flush=True)
sys.stdin.readline()
for _ in range(60):
    trainer.step()
torch.cuda.synchronize()
print('GROWN', flush=True)
sys.stdin.readline()
'''

# A small language model whose steps keep the GPU busy for some tens of milliseconds, as training does.
TRANSFORMER = '''
import time, torch
from torch.utils.data import DataLoader, Dataset


class Tokens(Dataset):
    def __len__(self):
        return 1 << 20

    def __getitem__(self, index):
        return torch.randint(0, 32000, (513,))


embed = torch.nn.Embedding(32000, 1024).cuda()
layer = torch.nn.TransformerEncoderLayer(1024, 16, 4096, dropout=0.0, batch_first=True, norm_first=True)
model = torch.nn.TransformerEncoder(layer, 12, enable_nested_tensor=False).cuda()
head = torch.nn.Linear(1024, 32000).cuda()
parameters = [*embed.parameters(), *model.parameters(), *head.parameters()]
optimizer = torch.optim.AdamW(parameters, lr=1e-4)
mask = torch.nn.Transformer.generate_square_subsequent_mask(512, device='cuda')
steps = 0
for tokens in DataLoader(Tokens(), batch_size=32, num_workers=2, pin_memory=True):
    tokens = tokens.cuda(non_blocking=True)
    with torch.autocast('cuda', torch.bfloat16):
        said = head(model(embed(tokens[:, :-1]), mask=mask, is_causal=True))
        loss = torch.nn.functional.cross_entropy(said.flatten(0, 1), tokens[:, 1:].flatten())
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    steps += 1
    if steps % 10 == 0:
        torch.cuda.synchronize()
        print(steps, time.monotonic(), flush=True)
'''

# A small model with large input: the two workers and the thread that pins memory set the speed. Every batch is a new
# piece of shared memory, so this job makes more system calls than other jobs of its size.
INPUT_BOUND = '''
import time, torch
from torch.utils.data import DataLoader, TensorDataset

model = torch.nn.Sequential(torch.nn.Linear(512, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 10)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
data = DataLoader(TensorDataset(torch.randn(65536, 512), torch.randint(0, 10, (65536,))), batch_size=256, num_workers=2,
                  pin_memory=True, persistent_workers=True)
steps = 0
while True:
    for x, y in data:
        loss = torch.nn.functional.cross_entropy(model(x.cuda(non_blocking=True)), y.cuda(non_blocking=True))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        steps += 1
        if steps % 20 == 0:
            print(steps, time.monotonic(), flush=True)
'''

ALLOCATORS = {
    'default': ('', 'alloc', 'torch.cuda.memory_reserved()'),
    'expandable segments': ('expandable_segments:True', 'vmm', 'torch.cuda.memory_reserved()'),
    'cudaMallocAsync': ('backend:cudaMallocAsync', 'pool', 'torch.cuda.memory_allocated()'),
}
MIB = 1 << 20


def line_of(script, mark):
    return next(n for n, line in enumerate(script.splitlines(), 1) if line.endswith(f'# {mark}'))


class Job:
    """A job that executes commands, in a cgroup that is watched before the job starts."""

    def __init__(self, program, folder, name, allocator='', options=()):
        self.stack = contextlib.ExitStack()
        self.program, self.log = program, Path(folder, f'{name}.log')
        self.cgroup = self.stack.enter_context(Cgroup(f'ms-gpu-{name}-{os.getpid()}', 64 << 30))
        self.ticks = Path(folder, f'{name}.ticks')
        self.watcher = self.stack.enter_context(
            process([str(program), '--cgroup', self.cgroup.name, '--listen', 'none', '--json', '--report-dir', folder,
                     *options], stdout=self.ticks.open('w'), stderr=Path(folder, f'{name}.errors').open('w')))
        wait_for(lambda: self.ticks.read_text().count('\n') > 0, 20)
        script = Path(folder, f'{name}.py')
        script.write_text(OBEDIENT)
        environment = {**os.environ, 'HOME': folder, 'TMPDIR': folder, 'PYTORCH_CUDA_ALLOC_CONF': allocator,
                       'PYTORCH_ALLOC_CONF': allocator}
        self.job = self.stack.enter_context(
            process([sys.executable, str(script)], self.cgroup, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                    stderr=self.log.open('w'), text=True, env=environment))
        self.job.stdout.readline()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stack.close()

    def do(self, line):
        self.job.stdin.write(line + '\n')
        self.job.stdin.flush()
        answer = self.job.stdout.readline()
        if not answer:
            raise RuntimeError(f'{line}: {tail(self.log, 600)}')
        return json.loads(answer)

    def last_tick(self):
        """The first tick that began after now."""
        before = self.ticks.read_text().count('\n')
        wait_for(lambda: self.ticks.read_text().count('\n') >= before + 2, 10)
        return json.loads(self.ticks.read_text().splitlines()[before + 1])

    def reserved(self, api):
        gpu = self.last_tick()['gpu'] or {'processes': []}
        return sum(p.get('reserved_bytes', {}).get(api, 0) for p in gpu['processes'] if p['pid'] == self.job.pid)

    def pinned(self, kind):
        gpu = self.last_tick()['gpu'] or {'pinned': []}
        return sum(role['bytes'][kind] for role in gpu['pinned'])


def equal(check, what, ours, theirs):
    check(f'{what}: {theirs >> 20} MiB to the byte', ours == theirs, f'memscope {ours}, PyTorch {theirs}')


def allocators(check, program, folder):
    seen = {}
    for name, (setting, api, theirs) in ALLOCATORS.items():
        with Job(program, folder, api, setting) as job:
            job.do("kept.extend(torch.empty(n << 18, dtype=torch.float32, device='cuda') for n in (1, 3, 40, 500, 7)) or 1")
            first = job.do(theirs)
            equal(check, f'{name}, after five tensors', job.reserved(api), first)
            job.do('kept.pop(3) is None or torch.cuda.synchronize()')
            job.do('torch.cuda.empty_cache()')
            after = job.do(theirs)
            check(f'{name}: it gives memory back', after < first, (after, first))
            equal(check, f'{name}, after a tensor is freed and the cache emptied', job.reserved(api), after)
            job.do("kept.append(torch.randn(2048, 2048, device='cuda') @ torch.randn(2048, 2048, device='cuda')) or 1")
            job.do('torch.cuda.synchronize()')
            held, said = job.reserved(api), job.do(theirs)
            check(f'{name}: libraries hold {held - said >> 10} KiB beside PyTorch', 0 <= held - said <= 256 * MIB, (held, said))
            device = job.last_tick()['gpu']['devices'][0]
            used = sum(p['used_bytes'] or 0 for p in job.last_tick()['gpu']['processes'])
            check(f'{name}: NVML has the process with {used >> 20} MiB', used >= held, (used, held, device))
            seen[name] = {'reserved_bytes': first, 'libraries_bytes': held - said, 'nvml_bytes': used}
    return seen


def pinned(check, program, folder):
    with Job(program, folder, 'pinned') as job:
        job.do("torch.zeros(1, device='cuda').item()")  # the library pins a few bytes for itself
        before = job.pinned('alloc')
        job.do('kept.append(torch.empty(64 << 20, dtype=torch.uint8).pin_memory()) or 1')
        equal(check, 'pinned: a tensor of 64 MiB', job.pinned('alloc') - before, 64 * MIB)
        job.do('kept.append(torch.zeros(33 << 20, dtype=torch.uint8)) or 1')
        code = job.do('int(torch.cuda.cudart().cudaHostRegister(kept[-1].data_ptr(), 33 << 20, 0))')
        check('registering memory works', code == 0, code)
        equal(check, 'registered: 33 MiB', job.pinned('register'), 33 * MIB)
        job.do('int(torch.cuda.cudart().cudaHostUnregister(kept[-1].data_ptr()))')
        equal(check, 'registered: none after unregistering', job.pinned('register'), 0)


def leaks(check, program, folder):
    script, log = Path(folder, 'leaky.py'), Path(folder, 'leaky.log')
    script.write_text(LEAKY)
    found = {}
    with Cgroup(f'ms-gpu-leaky-{os.getpid()}', 64 << 30) as cgroup, log.open('w') as out, \
            process([str(program), '--cgroup', cgroup.name, '--listen', 'none', '--quiet'], stderr=subprocess.PIPE), \
            process([sys.executable, str(script)], cgroup, stdin=subprocess.PIPE, stdout=out, stderr=out, text=True) as job:
        wait_for(lambda: 'READY' in tail(log, 4000), 120)
        job.stdin.write('go\n')
        job.stdin.flush()
        if not check('the leaking job grows', wait_for(lambda: 'GROWN' in tail(log, 4000), 120), tail(log, 900)):
            return found
        time.sleep(2)
        grown = json.loads(subprocess.run([str(program), 'growth', '--target', cgroup.name, '--format', 'json'],
                                          capture_output=True, text=True).stdout)
        text = subprocess.run([str(program), 'growth', '--target', cgroup.name, '--top', '4'], capture_output=True, text=True)
        print(text.stdout, flush=True)
    for plane, mark in (('gpu', 'GPU'), ('resident', 'HOST'), ('pinned', 'PINNED')):
        sites = [s for s in grown.get(plane, []) if any(f['file'].endswith('leaky.py') for f in s['python'])]
        own = next((f for f in sites[0]['python'] if f['file'].endswith('leaky.py')), None) if sites else None
        check(f'the leak of {plane} memory is found by its line', own and own['line'] == line_of(LEAKY, mark), (own, len(sites)))
        found[plane] = sites[0]['bytes'] if sites else 0
    return {**found, 'text': text.stdout}


def out_of_memory(check, program, folder):
    with Job(program, folder, 'oom') as job:
        job.do("kept.append(torch.empty(1 << 30, dtype=torch.uint8, device='cuda')) or 1")
        job.job.stdin.write("torch.empty(1 << 42, dtype=torch.uint8, device='cuda')\n")
        job.job.stdin.flush()
        job.job.wait(60)
        time.sleep(3)
        ticks = [json.loads(line) for line in job.ticks.read_text().splitlines()]
        deaths = [death for tick in ticks for death in tick['deaths']]
        check('the job dies of CUDA out of memory', [d['cause'] for d in deaths] == ['cuda_oom'], deaths)
        death = deaths[0] if deaths else {}
        print(json.dumps(death)[:1500], flush=True)
        failures = sum(f['count'] for f in (ticks[-1]['gpu'] or {'failures': []})['failures'])
        check('the failure is counted', failures >= 1, failures)
        check('the size of the failed allocation is reported', '4.0 TiB' in death.get('explanation', '') or str(1 << 42) in json.dumps(death), death)
        return death


def steps(log):
    with contextlib.suppress(Exception):
        count, at = tail(log, 400).splitlines()[-1].split()
        return int(count), float(at)
    return 0, 0.0


def rate(cgroup, log, seconds):
    """(steps a second, CPU seconds of the whole job a step)."""
    first, cpu = steps(log), sum(map(cpu_of, cgroup.pids()))
    time.sleep(seconds)
    last, cpu = steps(log), sum(map(cpu_of, cgroup.pids())) - cpu
    pace = (last[0] - first[0]) / (last[1] - first[1])
    return pace, cpu / seconds / pace


# The measured variants and their repetitions. A block is a period without memscope, two periods with it and one without,
# so that drift during a block cancels out.
BLOCKS = (((), 8), (('--torch',), 5), (('--no-gpu',), 5))


@contextlib.contextmanager
def watched(program, cgroup, options):
    with process([str(program), '--cgroup', cgroup.name, '--listen', 'none', '--quiet', *options]) as watcher:
        time.sleep(1.5)
        yield watcher
    time.sleep(0.5)


def block(program, cgroup, log, options, seconds=3):
    """(steps and CPU time a step with memscope for one without, its own share of a core)."""
    before = rate(cgroup, log, seconds)
    with watched(program, cgroup, options) as watcher:
        own = cpu_of(watcher.pid)
        during = rate(cgroup, log, 2 * seconds)
        own = (cpu_of(watcher.pid) - own) / (2 * seconds)
    after = rate(cgroup, log, seconds)
    return *(with_it / statistics.mean(without) for with_it, without in zip(during, zip(before, after))), own


def kernel_time(program, cgroup, log, options, seconds=6):
    """{BPF program: microseconds and runs per step}, the most expensive first."""
    with watched(program, cgroup, options) as watcher, bpf_time.measured():
        (begun, _), before = steps(log), bpf_time.of(watcher.pid)
        time.sleep(seconds)
        (ended, _), after = steps(log), bpf_time.of(watcher.pid)
    spent = {name: ((ns - before[name][0]) / 1e3, runs - before[name][1]) for name, (ns, runs) in after.items() if name in before}
    return {name: (us / (ended - begun), runs / (ended - begun))
            for name, (us, runs) in sorted(spent.items(), key=lambda entry: -entry[1][0]) if runs}


def spread(values):
    return f'{statistics.median(values):.4f} ({min(values):.4f} to {max(values):.4f})'


def step_rates(check, program, folder, training=TRANSFORMER, first=100, how=BLOCKS):
    script, log = Path(folder, 'training.py'), Path(folder, 'training.log')
    script.write_text(training)
    result = {}
    with Cgroup(f'ms-gpu-training-{os.getpid()}', 64 << 30) as cgroup, log.open('w') as out, \
            process([sys.executable, str(script)], cgroup, stdout=out, stderr=out):
        if not check('the training loop runs', wait_for(lambda: steps(log)[0] > first, 120), tail(log, 900)):
            return result
        for options, count in how:
            name = ' '.join(options) or 'all'
            rates, cpu, own = zip(*(block(program, cgroup, log, options) for _ in range(count)))
            pace, spent = rate(cgroup, log, 2)[0], kernel_time(program, cgroup, log, options)
            bpf = sum(us for us, _ in spent.values())
            result[name] = {'rates': rates, 'cpu': cpu, 'own_share': own, 'bpf_us_per_step': bpf, 'bpf': spent,
                            'steps_per_second': pace}
            print(f'     {name}, {count} blocks: step rate {spread(rates)}, CPU time of the job {spread(cpu)}; {pace:.1f} steps/s, '
                  f'BPF programs {bpf:.0f} us a step, memscope {statistics.median(own) * 100:.2f} % of a core', flush=True)
            for hook, (us, runs) in list(spent.items())[:5]:
                print(f'         {hook:<16} {us:8.1f} us in {runs:8.1f} runs a step', flush=True)
    return result


def input_bound_rates(check, program, folder):
    return step_rates(check, program, folder, INPUT_BOUND, 2000, (((), 8), (('--no-gpu', '--no-maps'), 6)))


def cpu_of(pid):
    fields = Path(f'/proc/{pid}/stat').read_text().rsplit(')', 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')


def tensors(check, program, folder):
    with Job(program, folder, 'tensors', options=('--torch',)) as job:
        job.do("kept.extend(torch.empty(n << 20, dtype=torch.uint8, device='cuda') for n in (1, 3, 40, 500, 7)) or 1")
        job.do('kept.pop(3) is None')
        gpu = job.last_tick()['gpu']
        ours = sum(p.get('tensor_bytes') or 0 for p in gpu['processes'])
        equal(check, 'tensors, by the probes of PyTorch', ours, job.do('torch.cuda.memory_allocated()'))
        cached = sum(p.get('cached_bytes') or 0 for p in gpu['processes'])
        reserved = job.do('torch.cuda.memory_reserved()')
        equal(check, 'cached or fragmented', cached, reserved - ours)
        return {'tensor_bytes': ours, 'cached_bytes': cached}


PARTS = (allocators, pinned, leaks, out_of_memory, tensors, step_rates, input_bound_rates)


def run(check, tarball, folder):
    program = unpack(tarball, folder)
    import torch
    result = {'kernel': os.uname().release, 'python': sys.version.split()[0], 'torch': torch.__version__,
              'cuda': torch.version.cuda, 'gpu': torch.cuda.get_device_name(0)}
    wanted = os.environ.get('PARTS', '').split()
    for part in [part for name in wanted for part in PARTS if part.__name__ == name] or PARTS:
        try:
            result[part.__name__] = part(check, program, folder)
        except Exception as failure:  # continue with the next part
            check(f'{part.__name__} runs to its end', False, repr(failure))
    return result


if __name__ == '__main__':
    sys.exit(try_here(run, __doc__))
