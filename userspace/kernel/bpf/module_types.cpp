// libbpf searches kernel modules for types that the kernel itself lacks. Listing the modules needs CAP_SYS_ADMIN.
// Without this capability libbpf 1.1 fails to load an object, and later versions continue. memscope needs no types of
// modules, so without the capability this function reports that there are no modules. The linker replaces the function
// of libbpf by the function below: see ../CMakeLists.txt.
#include <bpf/bpf.h>
#include <cerrno>

// NOLINTBEGIN(bugprone-reserved-identifier, readability-identifier-naming): names that the linker requires
extern "C" {
int __real_bpf_btf_get_next_id(__u32 start, __u32* next);
int __wrap_bpf_btf_get_next_id(__u32 start, __u32* next);
}

int __wrap_bpf_btf_get_next_id(__u32 start, __u32* next) {
    const int result = __real_bpf_btf_get_next_id(start, next);
    if (result != 0 && errno == EPERM) errno = ENOENT;  // means "no further module"
    return result;
}
// NOLINTEND(bugprone-reserved-identifier, readability-identifier-naming)
