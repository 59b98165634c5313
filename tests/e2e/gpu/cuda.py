#!/usr/bin/env python3
"""GPU memory by the calls of the CUDA driver, with the program as users run it, after it dropped its privileges. The
driver is the one of tests/fake_cuda (FAKE_CUDA names the file). Needs root; MEMSCOPE names the binary."""
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../support'))
from harness import Cgroup, Checks, Watcher, process, run_as_root, wait_for  # noqa: E402

MEMSCOPE = os.environ.get('MEMSCOPE', 'build/memscope')
MIB = 1 << 20
GPU = 'GPU-abababab-abab-abab-abab-ababababab01'
SCRIPT = '''
import ctypes, sys
print('started', flush=True)
sys.stdin.readline()
cuda = ctypes.CDLL(sys.argv[1])
print('loaded', flush=True)
sys.stdin.readline()
context = ctypes.c_void_p()
cuda.cuDeviceGetUuid_v2(ctypes.create_string_buffer(16), 1)
cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 1)
cuda.cuCtxSetCurrent(context)
def take(mib):
    return cuda.cuMemAlloc_v2(ctypes.byref(ctypes.c_uint64()), ctypes.c_size_t(mib << 20))
for _ in range(3): take(10)
cuda.cuMemHostAlloc(ctypes.byref(ctypes.c_void_p()), ctypes.c_size_t(5 << 20), 0)
print('taken', flush=True)
sys.stdin.readline()
sys.exit(0 if take(100) == 0 else 1)
'''

check = Checks()


def metric(watcher, name, **labels):
    """The sum of all series with these labels. None: there is no such series."""
    wanted = [f'{key}="{value}"' for key, value in labels.items()]
    found = [v for k, v in watcher.metrics().items() if k.split('{')[0] == name and all(w in k for w in wanted)]
    return sum(found) if found else None


def main():
    environment = dict(os.environ, FAKE_CUDA_BYTES=str(64 * MIB))
    with tempfile.TemporaryDirectory() as folder, Cgroup(f'ms-cuda-{os.getpid()}', 1024 * MIB) as group, \
            open(f'{folder}/ticks', 'w+') as ticks:
        script = f'{folder}/train.py'
        with open(script, 'w') as f:
            f.write(SCRIPT)
        with process([sys.executable, script, os.environ['FAKE_CUDA']], cgroup=group, stdin=subprocess.PIPE,
                     stdout=subprocess.PIPE, text=True, env=environment) as job, \
                Watcher(MEMSCOPE, folder, '--cgroup', group.name, '--json', stdout=ticks) as watcher:
            def step(word):
                check(f'the job has {word}', job.stdout.readline().strip() == word)

            def go():
                job.stdin.write('\n')
                job.stdin.flush()

            step('started')
            check('without a driver there is no probe', metric(watcher, 'memscope_probe_attached', probe='gpu') is None)
            go()
            step('loaded')
            check('the CUDA driver is followed once it is mapped', wait_for(lambda: metric(watcher, 'memscope_probe_attached', probe='gpu') == 1, 5))
            go()
            step('taken')

            def reserved():
                return metric(watcher, 'memscope_gpu_reserved_bytes', gpu=GPU, api='alloc')

            check('the memory that it allocated is in the metrics', wait_for(lambda: reserved() == 30 * MIB, 5), reserved())
            check('pinned host memory is in the metrics', metric(watcher, 'memscope_pinned_host_bytes', kind='alloc') == 5 * MIB)
            report = json.loads(subprocess.run([MEMSCOPE, 'growth', '--target', group.name, '--format', 'json'],
                                               capture_output=True, text=True, check=True, timeout=30).stdout)
            site = report['gpu'][0] if report['gpu'] else {}
            check('GPU memory is attributed to its line', site.get('bytes') == 30 * MIB and site['python'][0]['function'] == 'take'
                  and site['python'][0]['file'] == script and site['python'][0]['line'] == 13, site)
            go()
            check('the job fails', job.wait(10) == 1)

            def deaths():
                ticks.flush()
                with open(ticks.name) as read:
                    return [death for line in read if line.endswith('\n') for death in json.loads(line)['deaths']]

            died = wait_for(deaths, 5) or [{}]
            check('the death is explained by the failed CUDA allocation', died[0].get('cause') == 'cuda_oom' and died[0]['gpu']['id'] == GPU
                  and died[0]['gpu']['size_bytes'] == 100 * MIB and died[0]['gpu']['reserved_bytes'] == 30 * MIB, died)
            check('the failed allocation is counted', wait_for(lambda: metric(watcher, 'memscope_gpu_alloc_failures_total', gpu=GPU) == 1, 5))
            check('no GPU memory is reserved after the death', wait_for(lambda: reserved() is None, 5), reserved())
            check('no event of the watcher was lost', metric(watcher, 'memscope_events_dropped_total') == 0)
            watcher.child.terminate()
            check('the watcher ends', watcher.child.wait(30) == 0)


if __name__ == '__main__':
    run_as_root(check, main, MEMSCOPE, 120)
