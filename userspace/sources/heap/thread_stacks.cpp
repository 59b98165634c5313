#include "sources/heap/thread_stacks.h"

#include <algorithm>
#include <array>
#include <unordered_set>

namespace memscope {
namespace {

constexpr std::size_t kMostThreads = 65536;

bool find_stack(GlibcThread& thread, PresentMemory& memory) {
    constexpr std::uint64_t kPthreadBytes = 0x700;
    constexpr std::uint64_t kLargestStack = std::uint64_t{64} << 30;
    const std::uint64_t page = page_bytes();
    for (std::uint64_t at = thread.node; at < thread.node + kPthreadBytes; at += 8) {
        const auto pair = memory.get<std::array<std::uint64_t, 2>>(at);
        if (!pair) return false;
        const auto [start, size] = *pair;
        if (start == 0 || start % page != 0 || size % page != 0 || size == 0 || size > kLargestStack) continue;
        if (start + size < start || !HeapRange{start, start + size}.contains(thread.node)) continue;
        thread.stack = {start, start + size};
        return true;
    }
    return false;
}

bool follow(std::uint64_t head, std::uint64_t first, PresentMemory& memory, const ReadDeadline& deadline,
            std::vector<GlibcThread>& found) {
    constexpr std::int32_t kLargestTid = 1 << 22;
    struct Node {
        std::uint64_t next, previous;
        std::int32_t tid, unused;
    };
    std::uint64_t before = head;
    for (std::uint64_t at = first; at != head && found.size() < kMostThreads;) {
        if (deadline.has_passed()) return false;
        const auto node = memory.get<Node>(at);
        if (!node || node->previous != before || node->tid < -1 || node->tid > kLargestTid) return false;
        GlibcThread thread{.node = at, .tid = node->tid};
        // Only the main thread has no stack in its struct, and it is alone in its list.
        const bool can_be_main = node->tid > 0 && found.empty() && node->next == head;
        if (!find_stack(thread, memory) && !can_be_main) return false;
        found.push_back(thread);
        before = at;
        at = node->next;
    }
    return !found.empty();
}

}  // namespace

GlibcThreads find_threads(std::span<const LibraryData> libraries, PresentMemory& memory, const ReadDeadline& deadline) {
    GlibcThreads threads;
    std::unordered_set<std::uint64_t> known;
    for (const LibraryData& library : libraries)
        for (std::size_t i = 0; i + 1 < library.words.size() && threads.all.size() < kMostThreads; ++i) {
            if (deadline.has_passed()) break;
            const std::uint64_t head = library.address(i), first = library.words[i];
            if (first == head || first % 8 != 0 || library.words[i + 1] % 8 != 0) continue;
            if (!memory.pages().contains(first)) continue;
            std::vector<GlibcThread> found;
            if (!follow(head, first, memory, deadline, found)) continue;
            for (const GlibcThread& thread : found)
                if (known.insert(thread.node).second) threads.all.push_back(thread);
        }
    threads.cut_off = threads.all.size() >= kMostThreads;
    threads.late = deadline.has_passed();
    return threads;
}

}  // namespace memscope
