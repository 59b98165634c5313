"""The same storm of page faults as fault_storm.cpp, below 23 Python frames."""
import ctypes
import mmap
import sys
import time

BYTES = 64 << 20
TIMES = 3
FRAMES = 23
NO_HUGE_PAGES = 15  # MADV_NOHUGEPAGE

libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
libc.memset.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t]


def map_touch_unmap():
    memory = libc.mmap(None, BYTES, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
    if libc.madvise(memory, BYTES, NO_HUGE_PAGES) != 0:
        sys.exit("madvise failed")
    libc.memset(memory, 1, BYTES)
    libc.munmap(memory, BYTES)


def descend(levels):
    if levels:
        descend(levels - 1)
    else:
        map_touch_unmap()


for _ in sys.stdin:
    before = time.process_time_ns()
    for _ in range(TIMES):
        descend(FRAMES - 3)  # the module, the last descend() and map_touch_unmap() are frames, too
    print("cpu_ms", (time.process_time_ns() - before) * 1e-6, flush=True)
