"""Takes GPU memory until the driver refuses. LIBCUDA is the driver; the test uses one without a GPU."""
import ctypes
import os
import sys
import time

cuda = ctypes.CDLL(os.environ.get('LIBCUDA', 'libcuda.so.1'))
cuda.cuInit(0)
context = ctypes.c_void_p()
cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
cuda.cuCtxSetCurrent(context)
time.sleep(2)  # memscope attaches its probes


def allocate(mebibytes):
    if cuda.cuMemAlloc_v2(ctypes.byref(ctypes.c_uint64()), ctypes.c_size_t(mebibytes << 20)) != 0:
        sys.exit('RuntimeError: CUDA out of memory')


while True:
    allocate(8)
    time.sleep(0.1)
