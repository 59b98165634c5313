#!/usr/bin/env python3
"""Bytes of tensors by PyTorch's own probes, with the program as users run it, after it dropped its privileges. PyTorch's
allocator and the driver are those of tests/fake_cuda (FAKE_TORCH, FAKE_CUDA name the files). Needs root; MEMSCOPE names
the binary."""
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../support'))
from harness import Cgroup, Checks, Watcher, process, run_as_root, wait_for  # noqa: E402

MEMSCOPE = os.environ.get('MEMSCOPE', 'build/memscope')
MIB = 1 << 20
SCRIPT = '''
import ctypes, sys
torch, cuda = ctypes.CDLL(sys.argv[1]), ctypes.CDLL(sys.argv[2])
torch.fake_torch_malloc.restype = ctypes.c_uint64
print('loaded', flush=True)
sys.stdin.readline()
context = ctypes.c_void_p()
cuda.cuDeviceGetUuid_v2(ctypes.create_string_buffer(16), 1)
cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 1)
cuda.cuCtxSetCurrent(context)
cuda.cuMemAlloc_v2(ctypes.byref(ctypes.c_uint64()), ctypes.c_size_t(64 << 20))
tensors = [torch.fake_torch_malloc(ctypes.c_uint64(n << 20), 1) for n in (1, 3, 40, 7)]
torch.fake_torch_free(ctypes.c_uint64(tensors[2]))
print('taken', flush=True)
sys.stdin.readline()
'''

check = Checks()


def last_gpu(ticks):
    ticks.flush()
    with open(ticks.name) as read:
        lines = [line for line in read if line.endswith('\n')]
    return json.loads(lines[-1])['gpu'] if lines else None


def watch(folder, name, torch, *options, late=False):
    """The GPU figures of the job when it has done its work, and the lines of the watcher."""
    script = f'{folder}/train.py'
    with open(script, 'w') as f:
        f.write(SCRIPT)
    with tempfile.TemporaryDirectory(dir=folder) as here, Cgroup(f'ms-tensors-{name}-{os.getpid()}', 1024 * MIB) as group, \
            open(f'{here}/ticks', 'w+') as ticks:
        def job():
            return process([sys.executable, script, torch, os.environ['FAKE_CUDA']], cgroup=group, stdin=subprocess.PIPE,
                           stdout=subprocess.PIPE, text=True)

        def work(running):
            check(f'{name}: the libraries are loaded', running.stdout.readline().strip() == 'loaded')
            return running

        def finish(running, watcher):
            wait_for(lambda: metric(watcher, 'memscope_probe_attached', probe='gpu') == 1, 5)
            running.stdin.write('\n')
            running.stdin.flush()
            check(f'{name}: the work is done', running.stdout.readline().strip() == 'taken')
            wait_for(lambda: metric(watcher, 'memscope_gpu_reserved_bytes', api='alloc') == 64 * MIB, 5)
            wait_for(lambda: (last_gpu(ticks) or {}).get('processes'), 5)
            seen = (last_gpu(ticks), metric(watcher, 'memscope_gpu_tensor_bytes'),
                    metric(watcher, 'memscope_probe_attached', probe='torch'))
            check(f'{name}: nothing was lost', lost(watcher) == 0, lost(watcher))
            watcher.child.terminate()
            check(f'{name}: the watcher ends', watcher.child.wait(30) == 0)
            return (*seen, watcher.child.stderr.read().decode())

        def watcher():
            return Watcher(MEMSCOPE, here, '--cgroup', group.name, '--json', *options, stdout=ticks)

        if late:
            with job() as running, watcher() as watching:
                return finish(work(running), watching)
        with watcher() as watching, job() as running:
            return finish(work(running), watching)


def metric(watcher, name, **labels):
    """The sum of all series with these labels. None: there is no such series."""
    wanted = [f'{key}="{value}"' for key, value in labels.items()]
    found = [v for k, v in watcher.metrics().items() if k.split('{')[0] == name and all(w in k for w in wanted)]
    return sum(found) if found else None


def lost(watcher):
    refused = metric(watcher, 'memscope_events_dropped_total', reason='torch_library_refused')
    return metric(watcher, 'memscope_events_dropped_total') - refused


def main():
    probed = os.environ['FAKE_TORCH']
    bare = probed.replace('/probed/', '/bare/')
    with tempfile.TemporaryDirectory() as folder:
        gpu, tensors, probe, _ = watch(folder, 'torch', probed, '--torch')
        use = gpu['processes'][0]
        check('tensors are in the metrics', tensors == 11 * MIB, tensors)
        check('tensors and cached bytes are in JSON', use.get('tensor_bytes') == 11 * MIB and use.get('cached_bytes') == 53 * MIB, use)
        check('tensors are counted by role', gpu['roles'][0].get('tensor_bytes') == 11 * MIB, gpu['roles'])
        check('the probes are attached', probe == 1, probe)

        gpu, tensors, probe, _ = watch(folder, 'usual', probed)
        check('without --torch no tensors are counted', tensors is None and probe is None and 'tensor_bytes' not in gpu['processes'][0], gpu)

        gpu, tensors, probe, errors = watch(folder, 'bare', bare, '--torch')
        check('a build without probes has no tensors', tensors is None and probe == 0, (tensors, probe))
        said = [line for line in errors.splitlines() if 'no probes of tensors' in line]
        check('one line says that the library has no probes of tensors', len(said) == 1 and bare in said[0], errors)

        gpu, tensors, probe, _ = watch(folder, 'late', probed, '--torch', late=True)
        check('a job that is older than the watcher has no tensor bytes', tensors is None and 'cached_bytes' not in gpu['processes'][0], gpu)


if __name__ == '__main__':
    run_as_root(check, main, MEMSCOPE, 120)
