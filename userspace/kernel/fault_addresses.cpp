#include "kernel/fault_addresses.h"

#include <cstdint>
#include <sys/mman.h>
#include <sys/random.h>

#include "fault_test.skel.h"
#include "fault_test_plain.skel.h"
#include "kernel/bpf/bpf_object.h"

namespace memscope {
namespace {

constexpr const char* kFaultTest = "fault_test";
constexpr std::size_t kPages = 32;

struct TestPages {
    char* memory = nullptr;
    std::size_t bytes = kPages * page_bytes();

    TestPages() {
        void* const mapped = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (mapped == MAP_FAILED) return;
        memory = static_cast<char*>(mapped);
        (void)::madvise(memory, bytes, MADV_NOHUGEPAGE);  // so that each page has a fault of its own
    }
    TestPages(const TestPages&) = delete;
    TestPages& operator=(const TestPages&) = delete;
    ~TestPages() {
        if (memory) ::munmap(memory, bytes);
    }
};

}  // namespace

bool finds_fault_addresses() {
    capture_libbpf_messages();
    auto object = BpfObject<fault_test_bpf>::load(
        "page faults", {fault_test_bpf__create_skeleton, fault_test_plain_bpf__elf_bytes}, {}, {kFaultTest});
    if (!object) return false;
    const TestPages pages;
    if (!pages.memory || !object->attach({kFaultTest})) return false;
    (*object)->bss->tested_begin = reinterpret_cast<std::uintptr_t>(pages.memory);
    (*object)->bss->tested_end = reinterpret_cast<std::uintptr_t>(pages.memory) + pages.bytes;
    const volatile __u64& found = (*object)->bss->found_address;
    for (std::size_t i = 0; i < kPages; ++i) {
        char* const page = pages.memory + i * page_bytes();
        if (i % 2 == 0)
            *const_cast<volatile char*>(page) = 1;
        else if (::getrandom(page, 1, 0) != 1)  // here the page fault happens in the kernel
            return false;
        if (found != reinterpret_cast<std::uintptr_t>(page)) return false;
    }
    return true;
}

}  // namespace memscope
