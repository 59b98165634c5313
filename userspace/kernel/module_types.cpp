// A type that the kernel lacks libbpf seeks in the kernel's modules, too. To list those takes CAP_SYS_ADMIN, and libbpf
// 1.1 fails to load an object where it may not list them; later ones go on without. All types of ours are the kernel's
// own, so for whoever may not ask there are no modules.
// The linker puts this function in the place of libbpf's: see CMakeLists.txt.
#include <bpf/bpf.h>
#include <cerrno>

// NOLINTBEGIN(bugprone-reserved-identifier, readability-identifier-naming): names that the linker makes
extern "C" {
int __real_bpf_btf_get_next_id(__u32 start, __u32* next);
int __wrap_bpf_btf_get_next_id(__u32 start, __u32* next);
}

int __wrap_bpf_btf_get_next_id(__u32 start, __u32* next) {
    const int result = __real_bpf_btf_get_next_id(start, next);
    if (result != 0 && errno == EPERM) errno = ENOENT;  // "no further one"
    return result;
}
// NOLINTEND(bugprone-reserved-identifier, readability-identifier-naming)
