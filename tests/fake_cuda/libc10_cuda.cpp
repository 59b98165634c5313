// PyTorch's allocator without a device, for tests: it hands out addresses, and has the probes that the real one has,
// with their arguments in registers, in memory and as a constant. BARE: a build without probes.
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#ifdef __clang__  // a probe takes its arguments in whatever size they have
#pragma clang diagnostic ignored "-Wasm-operand-widths"
#endif

namespace {

// As <sys/sdt.h> writes them. The real library leaves the address of the base out, too.
#define PROBE(name, arguments)                                     \
    "990: nop\n"                                                   \
    ".pushsection .note.stapsdt,\"\",\"note\"\n"                   \
    ".balign 4\n"                                                  \
    ".4byte 992f-991f, 994f-993f, 3\n"                             \
    "991: .asciz \"stapsdt\"\n"                                    \
    "992: .balign 4\n"                                             \
    "993: .8byte 990b, 0, fake_torch_semaphore_" name              \
    "\n"                                                           \
    ".asciz \"pytorch\"\n.asciz \"" name "\"\n.asciz \"" arguments \
    "\"\n"                                                         \
    "994: .balign 4\n"                                             \
    ".popsection\n"

struct Device {  // as c10::Device: what kind, and which
    std::int8_t type = 1;
    std::int8_t index = 0;
};

struct Allocator {
    std::mutex mutex{};
    std::uint64_t next = 0x10000000000;
    std::map<std::uint64_t, std::uint64_t> live{};
    std::map<std::uint64_t, std::vector<std::uint64_t>> freed{};  // by size

    std::uint64_t take(std::uint64_t bytes) {
        const std::lock_guard lock(mutex);
        auto& again = freed[bytes];
        std::uint64_t address = next;
        if (again.empty())
            next += (bytes + 511) & ~std::uint64_t{511};
        else {
            address = again.back();
            again.pop_back();
        }
        live[address] = bytes;
        return address;
    }
    void give(std::uint64_t address) {
        const std::lock_guard lock(mutex);
        const auto found = live.find(address);
        if (found == live.end()) return;
        freed[found->second].push_back(address);
        live.erase(found);
    }
};

Allocator& allocator() {
    static auto* the_one = new Allocator;  // it outlives all threads
    return *the_one;
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming)
extern "C" {
#pragma GCC visibility push(default)

__attribute__((section(".probes"), used)) volatile unsigned short fake_torch_semaphore_malloc = 0;
__attribute__((section(".probes"), used)) volatile unsigned short fake_torch_semaphore_free = 0;

unsigned fake_torch_semaphores() { return fake_torch_semaphore_malloc + (fake_torch_semaphore_free << 16U); }

std::uint64_t fake_torch_malloc(std::uint64_t bytes, int device) {
    volatile std::uint64_t address = allocator().take(bytes);
    [[maybe_unused]] const auto index = static_cast<std::int8_t>(device);
#ifndef BARE
    if (fake_torch_semaphore_malloc > 0)
        asm volatile(PROBE("malloc", "-8@%[pointer] -1@%[device] -8@%[size] -8@%[stream]")
                     :
                     : [pointer] "o"(address), [device] "r"(index), [size] "r"(bytes), [stream] "n"(0));
#endif
    return address;
}

std::uint64_t fake_torch_malloc_device(std::uint64_t bytes, int device) {
    const std::uint64_t address = allocator().take(bytes);
    volatile std::uint64_t size = bytes;
    [[maybe_unused]] const Device where{.index = static_cast<std::int8_t>(device)};
#ifndef BARE
    if (fake_torch_semaphore_malloc > 0)
        asm volatile(PROBE("malloc", "8@%[pointer] -2@%[device] 8@%[size] 8@%[stream]")
                     :
                     : [pointer] "r"(address), [device] "r"(where), [size] "o"(size), [stream] "n"(0));
#endif
    (void)size;
    return address;
}

void fake_torch_free(std::uint64_t address) {
#ifndef BARE
    if (fake_torch_semaphore_free > 0) asm volatile(PROBE("free", "-8@%[pointer]") : : [pointer] "r"(address));
#endif
    allocator().give(address);
}

void fake_torch_free_uncached(std::uint64_t address) {
    volatile std::uint64_t kept = address;
#ifndef BARE
    if (fake_torch_semaphore_free > 0) asm volatile(PROBE("free", "-8@%[pointer]") : : [pointer] "o"(kept));
#endif
    allocator().give(kept);
}

#pragma GCC visibility pop
}
// NOLINTEND(readability-identifier-naming)
