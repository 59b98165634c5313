"""Facts about a kernel that its types show, in the words of expected.toml."""
import functools

from support.btf import ENUM, FUNC, STRUCT, TYPEDEF, Btf
from support.kernel_image import types_of


@functools.lru_cache(maxsize=None)
def kernel_types(image):
    return Btf(types_of(image))


def of_image(image):
    types = kernel_types(image)
    helpers = {name for number in types.find("bpf_func_id", ENUM) for name in types.enumerators(number)}
    return {
        "type exit_mmap tracepoint": bool(types.find("btf_trace_exit_mmap", TYPEDEF)),
        "type bpf_loop": "BPF_FUNC_loop" in helpers,
        "type open-coded task iterator": bool(types.find("bpf_iter_task_new", FUNC)),
        "type per-CPU resident counters": not types.find("mm_rss_stat", STRUCT),
    }
