// Stands for PyTorch's base library: exports the three functions that its allocator calls for each host storage. They
// do nothing, so a test decides which storages exist. BARE: a build without Delete.
#include <cstddef>
#include <cstdint>

#define KEPT __attribute__((visibility("default"), noinline, used))

namespace c10 {

class ProfiledCPUMemoryReporter {
  public:
    void New(void* ptr, std::size_t bytes);
    void Delete(void* ptr);
    void OutOfMemory(std::size_t bytes);
};

// The compiler would otherwise merge functions without effects.
static volatile std::size_t calls[3];

// clang does not pass arguments that the function does not use.
KEPT void ProfiledCPUMemoryReporter::New(void* ptr, std::size_t bytes) {
    asm volatile("" : : "r"(ptr), "r"(bytes));
    calls[0] = calls[0] + 1;
}
#ifndef BARE
KEPT void ProfiledCPUMemoryReporter::Delete(void*) { calls[1] = calls[1] + 1; }
#endif
KEPT void ProfiledCPUMemoryReporter::OutOfMemory(std::size_t) { calls[2] = calls[2] + 1; }

}  // namespace c10

// Calls New after some turns. Each turn takes the lowest bit of `way` and calls one of two functions, so that each way
// has its own native stack. A library without frame pointers has such stacks for one and the same call of Python.
extern "C" {
KEPT void allocate_along(std::uint32_t way, std::uint32_t turns, std::uint64_t address, std::uint64_t bytes);
}

static void go_on(std::uint32_t way, std::uint32_t turns, std::uint64_t address, std::uint64_t bytes) {
    if (turns > 1) return allocate_along(way >> 1U, turns - 1, address, bytes);
    static c10::ProfiledCPUMemoryReporter reporter;
    reporter.New(reinterpret_cast<void*>(address), bytes);
}
__attribute__((noinline)) static void turn_left(std::uint32_t way, std::uint32_t turns, std::uint64_t address,
                                                std::uint64_t bytes) {
    go_on(way, turns, address, bytes);
    c10::calls[0] = c10::calls[0] + 1;
}
__attribute__((noinline)) static void turn_right(std::uint32_t way, std::uint32_t turns, std::uint64_t address,
                                                 std::uint64_t bytes) {
    go_on(way, turns, address, bytes);
    c10::calls[0] = c10::calls[0] + 2;
}
void allocate_along(std::uint32_t way, std::uint32_t turns, std::uint64_t address, std::uint64_t bytes) {
    ((way & 1U) != 0 ? turn_left : turn_right)(way, turns, address, bytes);
}
