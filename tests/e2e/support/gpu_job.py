"""A job on GPUs on a machine without one: it calls the driver and PyTorch's allocator of tests/fake_cuda, which are recorded like
real ones, and writes the values that the management library of tests/support/fake_nvml then reports to the watcher. FAKE_CUDA,
FAKE_TORCH and FAKE_NVML name the files."""
import contextlib
import os
import subprocess
import sys
import textwrap

from harness import GaveUp, process

MIB = 1 << 20
BUILT = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../../build/dev/tests')
CUDA = os.environ.get('FAKE_CUDA', f'{BUILT}/fake_cuda/first/libcuda.so.1')
TORCH = os.environ.get('FAKE_TORCH', f'{BUILT}/fake_torch/probed/libc10_cuda.so')
NVML = os.environ.get('FAKE_NVML', f'{BUILT}/fake_nvml/from_file/libnvidia-ml.so.1')
FULL, OURS = (f'GPU-abababab-abab-abab-abab-ababababab0{n}' for n in range(2))  # as the driver calls them
TOTAL, FULL_USED = 64 * 1024 * MIB, 62 * 1024 * MIB

# GPU 0 is nearly full with memory of another process. On GPU 1 the job leaks: four times a second a little GPU memory, and as
# much pinned host memory. After go_on() it loads PyTorch's allocator and survives one refused allocation. After a line on its
# standard input it dies of another.
SCRIPT = textwrap.dedent(f'''
    import ctypes, os, select, sys
    cuda, says = ctypes.CDLL(sys.argv[1]), sys.argv[2]
    context, pinned, address, held = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_uint64(), 0
    cuda.cuDeviceGetUuid_v2(ctypes.create_string_buffer(16), 1)
    cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 1)
    cuda.cuCtxSetCurrent(context)
    def take(mib):
        return cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(mib << 20)) == 0
    def tell():
        with open(says + '.new', 'w') as f:
            f.write(f'gpu {FULL} {TOTAL} {FULL_USED} 100 0\\n')
            f.write(f'gpu {OURS} {TOTAL} {{held + 512 * {MIB}}} 40 {{int(refused)}}\\n')
            f.write(f'process {{os.getpid()}} {{held}}\\n')
        os.rename(says + '.new', says)
    registered = ctypes.create_string_buffer({8 * MIB})
    refused, torch = False, None
    tell()
    print('READY', flush=True)
    while not select.select([sys.stdin], [], [], 0.25)[0]:
        take(32)
        held += 32 * {MIB}
        cuda.cuMemHostAlloc(ctypes.byref(pinned), ctypes.c_size_t({4 * MIB}), 0)
        if not torch and os.path.exists(says + '.go'):
            torch = ctypes.CDLL(sys.argv[3])
            cuda.cuMemAllocAsync(ctypes.byref(address), ctypes.c_size_t({64 * MIB}), None)
            cuda.cuMemHostRegister_v2(registered, ctypes.c_size_t(len(registered)), 0)
            refused = not take(1 << 20)
        elif torch:
            torch.fake_torch_malloc(ctypes.c_uint64({8 * MIB}), 1)
        tell()
    sys.exit(1 if not take(1 << 20) else 0)
''')


class GpuJob:
    """The job in a cgroup; `environment` is that of a watcher which is to see its GPUs."""

    def __init__(self, folder, cgroup):
        for file in (CUDA, TORCH, NVML):
            if not os.path.exists(file):
                raise GaveUp(f'no {file}: build kernel_tests, or name it in FAKE_CUDA, FAKE_TORCH or FAKE_NVML')
        self.says, self.cgroup = f'{folder}/gpus', cgroup
        self.environment = {**os.environ, 'LD_LIBRARY_PATH': os.path.dirname(NVML), 'FAKE_NVML_SAYS': self.says}

    def __enter__(self):
        self.running = process([sys.executable, '-c', SCRIPT, CUDA, self.says, TORCH], self.cgroup, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               text=True, env={**os.environ, 'RANK': '0', 'FAKE_CUDA_BYTES': str(TOTAL)})
        self.child = self.running.__enter__()
        if self.child.stdout.readline().strip() != 'READY':
            self.running.__exit__(None, None, None)
            raise GaveUp(f'the job on GPUs did not start in {self.cgroup.path}')
        return self

    def __exit__(self, *how):
        self.running.__exit__(*how)

    def go_on(self):
        """To be called when the watcher has found the driver: it does not see earlier calls."""
        open(self.says + '.go', 'w').close()

    def run_out_of_memory(self):
        """Its exit status."""
        self.child.stdin.write('\n')
        self.child.stdin.flush()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.child.wait(10)
        return self.child.poll()
