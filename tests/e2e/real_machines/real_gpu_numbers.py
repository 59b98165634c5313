#!/usr/bin/env python3
"""Compares the GPU figures of memscope with those of PyTorch and the driver, on a machine that has an NVIDIA GPU: free memory,
CUDA out of memory, memory by handle, and processes that are older than memscope.

    real_gpu_numbers.py TARBALL|PROGRAM [RESULT.json]

Needs root, one GPU that no other process uses, and a Python with PyTorch; no compiler. All figures are read at the same moment. PARTS="full_gpu handles" in the environment runs those alone.
"""
import contextlib
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / 'support'))
from harness import Cgroup, process, tail, wait_for  # noqa: E402
from real_gpu import MIB, Job  # noqa: E402
from real_machine import try_here, unpack  # noqa: E402

GIB = 1 << 30
SLACK = 48 * MIB  # tolerance, because PyTorch and the driver round, and the context grows a little
UNITS = {'bytes': 1, 'KiB': 1 << 10, 'MiB': MIB, 'GiB': GIB}

# Like real_gpu.OBEDIENT, with functions that call the driver directly.
DRIVER = '''
import ctypes, json, os, sys, torch
cuda = ctypes.CDLL('libcuda.so.1')
torch.zeros(1, device='cuda').item()
kept, u64, size = [], ctypes.c_uint64, ctypes.c_size_t


class Prop(ctypes.Structure):  # CUmemAllocationProp: pinned memory of device 0 that a file descriptor can stand for
    _fields_ = [('type', ctypes.c_int), ('handle_types', ctypes.c_int), ('location', ctypes.c_int), ('id', ctypes.c_int),
                ('windows', ctypes.c_void_p), ('flags', ctypes.c_ubyte * 8)]


def ok(code, what):
    if code:
        raise RuntimeError(f'{what}: error {code} of the driver')


def create(n):
    handle = u64()
    ok(cuda.cuMemCreate(ctypes.byref(handle), size(n), ctypes.byref(Prop(1, 1, 1, 0)), u64(0)), 'create')
    return handle.value


def reserve(n):
    address = u64()
    ok(cuda.cuMemAddressReserve(ctypes.byref(address), size(n), size(0), u64(0), u64(0)), 'reserve')
    return address.value


def map_at(address, n, handle):
    ok(cuda.cuMemMap(u64(address), size(n), size(0), u64(handle), u64(0)), 'map')
    return True


def unmap(address, n):
    ok(cuda.cuMemUnmap(u64(address), size(n)), 'unmap')
    return True


def release(handle):
    ok(cuda.cuMemRelease(u64(handle)), 'release')
    return True


def retain(address):
    handle = u64()
    ok(cuda.cuMemRetainAllocationHandle(ctypes.byref(handle), ctypes.c_void_p(address)), 'retain')
    return handle.value


def share_with_myself(handle):
    fd, again = ctypes.c_int(), u64()
    ok(cuda.cuMemExportToShareableHandle(ctypes.byref(fd), u64(handle), 1, u64(0)), 'export')
    ok(cuda.cuMemImportFromShareableHandle(ctypes.byref(again), ctypes.c_void_p(fd.value), 1), 'import')
    os.close(fd.value)
    return again.value


def pair():
    context = ctypes.c_void_p()
    ok(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0), 'retain the primary context')
    ok(cuda.cuDevicePrimaryCtxRelease_v2(0), 'release the primary context')
    return True


def free():
    torch.cuda.synchronize()
    return torch.cuda.mem_get_info()[0]


print(json.dumps('ready'), flush=True)
for line in sys.stdin:
    print(json.dumps(eval(line)), flush=True)
'''

# Allocates all GPU memory in ever smaller pieces, as a search for a batch size does, and then dies of a large allocation.
FILLER = '''
import json, sys, time, torch
pieces, size = [], 8 << 30
while size >= 2 << 20:
    try:
        pieces.append(torch.empty(size, dtype=torch.uint8, device='cuda'))
    except torch.OutOfMemoryError:
        size //= 2
print('FULL', torch.cuda.memory_reserved(), flush=True)
sys.stdin.readline()
torch.empty(1 << 30, dtype=torch.uint8, device='cuda')
'''

# Has some gigabytes in its cache, then allocates more than the free memory: PyTorch frees the cache and tries again.
CACHED = '''
import sys, torch
held = torch.empty(1 << 30, dtype=torch.uint8, device='cuda')
cached = [torch.empty(1 << 30, dtype=torch.uint8, device='cuda') for _ in range(8)]
torch.cuda.synchronize()
del cached
print('FULL', torch.cuda.memory_reserved(), flush=True)
sys.stdin.readline()
ask = torch.cuda.get_device_properties(0).total_memory
torch.empty(int(ask * %s), dtype=torch.uint8, device='cuda')
'''


class Watched:
    """A job in a cgroup of its own, and memscope. The job starts first if it must be older than the watcher."""

    def __init__(self, program, folder, name, script, before=False):
        self.stack, self.folder, self.name, self.program = contextlib.ExitStack(), folder, name, program
        self.cgroup = self.stack.enter_context(Cgroup(f'ms-numbers-{name}-{os.getpid()}', 64 << 30))
        self.ticks, self.log, self.errors = (Path(folder, f'{name}.{end}') for end in ('ticks', 'log', 'errors'))
        path = Path(folder, f'{name}.py')
        path.write_text(script)
        if not before:
            self.watch()
        self.job = self.stack.enter_context(
            process([sys.executable, str(path)], self.cgroup, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                    stderr=self.log.open('w'), text=True, env={**os.environ, 'HOME': folder, 'TMPDIR': folder}))

    def watch(self):
        self.watcher = self.stack.enter_context(
            process([str(self.program), '--cgroup', self.cgroup.name, '--listen', 'none', '--json', '--report-dir', self.folder],
                    stdout=self.ticks.open('w'), stderr=self.errors.open('w')))
        wait_for(lambda: self.ticks.read_text().count('\n') > 0, 20)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stack.close()

    do = Job.do
    last_tick = Job.last_tick
    reserved = Job.reserved

    def read_ticks(self):
        return [json.loads(line) for line in self.ticks.read_text().splitlines()]

    def die(self):
        """Lets the job run to its end; returns its death as memscope reports it, and the output of PyTorch."""
        self.job.stdin.write('\n')
        self.job.stdin.flush()
        self.job.wait(120)
        deaths = wait_for(lambda: [d for tick in self.read_ticks() for d in tick['deaths']], 15) or [{}]
        return deaths[0], self.log.read_text()


def said_free(text):
    """The free memory that PyTorch reports, in bytes."""
    found = re.search(r'of which ([\d.]+) (\w+) is free', text)
    return float(found[1]) * UNITS[found[2]] if found else None


def compare_free(check, name, death, text):
    theirs, gpu = said_free(text), death.get('gpu') or {}
    print('     ' + death.get('explanation', 'no death was reported'), flush=True)
    check(f'{name}: the job dies of CUDA out of memory', death.get('cause') == 'cuda_oom' and theirs is not None,
          (death, text[-600:]))
    ours, after = gpu.get('free_bytes'), gpu.get('read_seconds_after_failure')
    check(f'{name}: free memory is what PyTorch says it is', None not in (ours, theirs) and abs(ours - theirs) <= SLACK,
          f'memscope {ours}, PyTorch {theirs}')
    check(f'{name}: the driver was asked after the failed call', after is not None and after >= 0, after)
    return {'free_bytes': ours, 'torch_free_bytes': theirs, 'read_seconds_after_failure': after,
            'explanation': death.get('explanation')}


def full_gpu(check, program, folder):
    with Watched(program, folder, 'full', FILLER) as job:
        answer = job.job.stdout.readline()
        check('the GPU can be filled', answer.startswith('FULL'), (answer, tail(job.log, 600)))
        device = job.last_tick()['gpu']['devices'][0]
        check('the memory that the driver reserves is reported', (device['driver_reserved_bytes'] or 0) > 0, device)
        check('used, free and the driver\'s own are all there is',
              abs(device['used_bytes'] + device['free_bytes'] + device['driver_reserved_bytes'] - device['total_bytes']) <= 4 * MIB,
              device)
        return compare_free(check, 'a full GPU', *job.die())


def cached_before(check, program, folder):
    with Watched(program, folder, 'cached', CACHED % '0.998') as job:
        reserved = int(job.job.stdout.readline().split()[1])
        check('PyTorch has some gigabytes cached', reserved >= 8 * GIB, reserved)
        job.last_tick()
        death, text = job.die()
        result = compare_free(check, 'a cache that was freed', death, text)
        ours = (death.get('gpu') or {}).get('reserved_bytes')
        check('the reserved bytes of the death do not include the freed cache', ours is not None and ours < 2 * GIB, ours)
        return result


def more_than_all(check, program, folder):
    with Watched(program, folder, 'huge', CACHED % '1.2') as job:
        job.job.stdout.readline()
        death, _ = job.die()
        print('     ' + death.get('explanation', 'no death was reported'), flush=True)
        check('asking for more than the whole GPU is called that', 'more than the whole GPU has' in death.get('explanation', ''), death)
        reports = sorted(Path(folder).rglob('death-*huge*.json'))
        advice = json.loads(reports[-1].read_text()).get('advice', []) if reports else []
        check('the advice does not mention expandable_segments', advice and not any('expandable_segments' in line for line in advice), advice)


def handles(check, program, folder):
    n, seen = 256 * MIB, []
    with Watched(program, folder, 'handles', DRIVER) as job:
        job.job.stdout.readline()
        before, ours = job.do('free()'), job.reserved('vmm')

        def step(what, line, expected):
            answer = job.do(line)
            held, taken = job.reserved('vmm') - ours, before - job.do('free()')
            check(f'handles: {what}: {expected >> 20} MiB', held == expected, f'memscope {held}')
            check(f'handles: {what}: the driver agrees', abs(taken - expected) <= 8 * MIB, f'driver {taken}, expected {expected}')
            seen.append((what, held, taken))
            return answer

        handle = step('made, and not mapped', f'create({n})', n)
        a, b = job.do(f'reserve({n})'), job.do(f'reserve({n})')
        step('mapped', f'map_at({a}, {n}, {handle})', n)
        step('mapped a second time', f'map_at({b}, {n}, {handle})', n)
        step('unmapped once', f'unmap({b}, {n})', n)
        again = step('retained', f'retain({a})', n)
        check('a retained handle has the same value', again == handle, (again, handle))
        step('unmapped', f'unmap({a}, {n})', n)
        step('released once of two', f'release({handle})', n)
        step('released', f'release({handle})', 0)
        handle = step('made again', f'create({n})', n)
        step('mapped again', f'map_at({a}, {n}, {handle})', n)
        step('released while mapped', f'release({handle})', n)
        step('unmapped at last', f'unmap({a}, {n})', 0)
        handle = step('made to be shared', f'create({n})', n)
        imported = step('imported by the process itself', f'share_with_myself({handle})', n)
        print(f'     an import has {"the same" if imported == handle else "another"} value', flush=True)
        job.do(f'release({imported})')
        step('released both', f'release({handle})', 0)
        dropped = {k: v for k, v in job.last_tick()['self']['dropped'].items() if v}
        check('no event of the watcher was lost', not dropped, dropped)
    return seen


def from_before(check, program, folder):
    with Watched(program, folder, 'before', DRIVER, before=True) as job:
        job.job.stdout.readline()
        job.do("kept.append(torch.empty(1 << 30, dtype=torch.uint8, device='cuda')) or 1")
        job.watch()
        job.last_tick()
        job.do("kept.append(torch.empty(3 << 30, dtype=torch.uint8, device='cuda')) or 1")
        held = job.reserved('alloc')
        check('a process from before: what it takes from then on is counted', held == 3 * GIB, held)
        job.do('pair()')
        job.do('pair()')
        check('a library that retains and releases the primary context empties nothing', job.reserved('alloc') == held,
              (job.reserved('alloc'), held))
        job.do('kept.pop() is None or torch.cuda.empty_cache()')
        check('freed GPU memory is subtracted', job.reserved('alloc') == 0, job.reserved('alloc'))


PARTS = (full_gpu, cached_before, more_than_all, handles, from_before)


def run(check, given, folder):
    program = unpack(given, folder) if '.tar' in Path(given).name else Path(given).resolve()
    import torch
    result = {'kernel': os.uname().release, 'torch': torch.__version__, 'gpu': torch.cuda.get_device_name(0)}
    wanted = os.environ.get('PARTS', '').split()
    for part in [part for part in PARTS if part.__name__ in wanted] or PARTS:
        try:
            result[part.__name__] = part(check, program, folder)
        except Exception as failure:  # continue with the next part
            check(f'{part.__name__} runs to its end', False, repr(failure))
        time.sleep(1)  # until the driver has freed the memory of the previous job
    return result


if __name__ == '__main__':
    sys.exit(try_here(run, __doc__))
