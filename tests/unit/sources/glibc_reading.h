#pragma once
#include <optional>

#include "sources/heap/glibc_free.h"
#include "support/fake_heap.h"

// Reads the heap of a fake process with glibc.
namespace memscope::glibc_reading {

inline constexpr Seconds kLong{60};

// The data of a fake process that the code under test reads.
struct Seen {
    explicit Seen(FakeGlibc& glibc) : process(glibc), pages(glibc.pages.present()), memory(glibc.pages, pages) {}

    std::optional<GlibcMalloc> find() {
        return find_glibc_malloc(read_library_data(memory, process.maps, "/lib/libc.so.6"), process.layout().version,
                                 memory, process.maps, ReadDeadline(kLong));
    }
    GlibcFree free_by(FreeMethod method) {
        const auto glibc = find();
        return find_glibc_free_by(method, *glibc, tcaches, memory, {.deadline = ReadDeadline(kLong)});
    }
    GlibcFree free() {
        const auto glibc = find();
        return find_glibc_free(*glibc, tcaches, memory, {.deadline = ReadDeadline(kLong)});
    }

    FakeGlibc& process;
    PresentPages pages;
    PresentMemory memory;
    TcacheChunks tcaches{};
};

// A heap with blocks of many sizes: every third chunk is free.
inline void fill(FakeGlibc& glibc, std::size_t arena, std::size_t chunks) {
    for (std::size_t i = 0; i < chunks; ++i) {
        const std::uint64_t size = 32 + 16 * (i * 7919 % 2000);
        glibc.add(size, FakeUse::used, arena);
        glibc.add(48 + size, i % 3 == 0 ? FakeUse::in_bin : FakeUse::used, arena);
    }
    glibc.add(64, FakeUse::used, arena);  // a free chunk before the top would be a part of it
}

}  // namespace memscope::glibc_reading
