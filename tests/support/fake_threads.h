#pragma once
#include <cstdint>
#include <vector>

#include "sources/heap/present_memory.h"
#include "support/fake_heap.h"

namespace memscope {

// Where the parts of a thread lie, from the node of its list on. glibc 2.36.
struct FakeThreadLayout {
    const char* name;
    std::int64_t tcache;        // the word in the TLS of libc with the address of its tcache
    std::uint64_t stack_block;  // the words with the start and the size of its stack
    std::uint64_t to_end;       // the end of its stack
};
// The node is 0x2C0 bytes behind the start of struct pthread, where the thread pointer is. The TLS of the program and
// its libraries lies below.
inline constexpr FakeThreadLayout kThreadOnX86{"x86_64", -0x310, 0x3D0, 0x680};
// The node is 0xC0 bytes behind the start of struct pthread, which has 0x740 bytes. The thread pointer is at its end,
// and the TLS of the program and its libraries lies above.
inline constexpr FakeThreadLayout kThreadOnArm{"arm64", 1792, 0x3D0, 0xDC0};

// The list of threads in the data of ld.so.
class FakeThreads {
  public:
    explicit FakeThreads(FakePages& memory, FakeThreadLayout layout = kThreadOnX86) : pages_(memory), layout_(layout) {}

    static std::uint64_t stack_start(std::uint64_t thread) { return kStacks + thread * kStackBytes; }

    // Returns the address of its node.
    std::uint64_t add(std::int32_t tid) {
        const std::uint64_t stack = stack_start(nodes.size()), node = stack + kStackBytes - layout_.to_end;
        pages_.touch({node - 0x4000, stack + kStackBytes});
        pages_.put(node + 16, static_cast<std::uint32_t>(tid));
        pages_.put(node + layout_.stack_block, stack);
        pages_.put(node + layout_.stack_block + 8, kStackBytes);
        nodes.push_back(node);
        return node;
    }
    void set_tcache(std::size_t thread, std::uint64_t tcache) { pages_.put(tcache_word(thread), tcache); }
    std::uint64_t tcache_word(std::size_t thread) const {
        return nodes[thread] + static_cast<std::uint64_t>(layout_.tcache);
    }

    LibraryData finish() {
        LibraryData data{.base = kLoader, .words = std::vector<std::uint64_t>(512)};
        for (std::size_t i = 0; i < nodes.size(); ++i) {
            pages_.put(nodes[i], i + 1 < nodes.size() ? nodes[i + 1] : kHead);
            pages_.put(nodes[i] + 8, i == 0 ? kHead : nodes[i - 1]);
        }
        data.words[(kHead - kLoader) / 8] = nodes.front();
        data.words[(kHead - kLoader) / 8 + 1] = nodes.back();
        return data;
    }

    std::vector<std::uint64_t> nodes{};

  private:
    static constexpr std::uint64_t kLoader = 0x7f10'0000'0000;
    static constexpr std::uint64_t kHead = kLoader + 0x100;
    static constexpr std::uint64_t kStacks = 0x7c00'0000'0000;
    static constexpr std::uint64_t kStackBytes = 0x100000;

    FakePages& pages_;
    FakeThreadLayout layout_;
};

}  // namespace memscope
