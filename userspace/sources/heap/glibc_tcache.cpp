#include "sources/heap/glibc_tcache.h"

#include <algorithm>
#include <map>
#include <optional>

namespace memscope {
namespace {

struct TcacheShape {
    std::uint64_t chunk;  // size of the chunk that holds the struct
    std::uint64_t bins;
    std::uint64_t entries;  // offset of the heads of the lists
};
constexpr TcacheShape kShapes[] = {{0x250, 64, 64}, {0x290, 64, 128}, {0x300, 76, 152}};
constexpr std::uint64_t kBinsOfOneSize = 64;  // the others, from 2.42 on, hold chunks of different sizes

std::optional<TcacheShape> shape_at(std::uint64_t address, PresentMemory& memory) {
    const auto size = memory.get<std::uint64_t>(address - 8);
    if (!size || (*size & kChunkIsMapped) != 0) return std::nullopt;
    for (const TcacheShape& shape : kShapes)
        if (shape.chunk == (*size & kChunkSize)) return shape;
    return std::nullopt;
}

bool has_size_of(std::uint64_t bin, std::uint64_t size_and_flags) {
    return bin >= kBinsOfOneSize || (size_and_flags & kChunkSize) == (bin + 2) * 16;
}

bool is_tcache(std::uint64_t address, PresentMemory& memory) {
    const auto shape = shape_at(address, memory);
    if (!shape) return false;
    std::uint64_t used = 0;
    for (std::uint64_t bin = 0; bin < shape->bins; ++bin) {
        const auto entry = memory.get<std::uint64_t>(address + shape->entries + bin * 8);
        if (!entry || *entry % 16 != 0) return false;
        if (*entry == 0) continue;
        const auto size = memory.get<std::uint64_t>(*entry - 8);
        if (!size || !has_size_of(bin, *size)) return false;
        ++used;
    }
    return used > 0;
}

class TcacheFinder {
  public:
    TcacheFinder(const GlibcMalloc& glibc, std::span<const GlibcThread> threads, PresentMemory& memory,
                 const ReadDeadline& deadline)
        : glibc_(glibc), threads_(threads), memory_(memory), deadline_(deadline) {}

    TcacheChunks find() {
        if (const auto distance = vote())
            for (const GlibcThread& thread : threads_)
                if (const auto tcache = deadline_.has_passed() ? std::nullopt : tcache_of(thread, *distance))
                    add(*tcache);
        // A made-up list can lead to the same chunk twice.
        TcacheChunks found{.caches = caches_};
        for (const auto& [chunk, size] : sizes_) {
            found.chunks.push_back(chunk);
            found.bytes += size;
        }
        return found;
    }

  private:
    std::optional<std::uint64_t> tcache_of(const GlibcThread& thread, std::int64_t distance) const {
        if (thread.tid <= 0) return std::nullopt;
        const auto address = memory_.get<std::uint64_t>(thread.node + static_cast<std::uint64_t>(distance));
        if (!address || *address % 16 != 0 || !glibc_.is_in_a_heap(*address)) return std::nullopt;
        return is_tcache(*address, memory_) ? address : std::nullopt;
    }

    std::optional<std::int64_t> vote() const {
        constexpr std::int64_t kFarthest = 16384;
        constexpr std::size_t kThorough = 8, kVoters = 64;
        std::map<std::int64_t, std::uint64_t> votes;
        std::size_t asked = 0;
        for (const GlibcThread& thread : threads_) {
            if (thread.tid <= 0) continue;
            if (++asked > kVoters || deadline_.has_passed()) break;
            if (asked <= kThorough) {
                for (std::int64_t at = -kFarthest; at < kFarthest; at += 8)
                    if (tcache_of(thread, at)) ++votes[at];
            } else {
                for (auto& [at, count] : votes) count += tcache_of(thread, at) ? 1 : 0;
            }
        }
        const auto most = std::ranges::max_element(votes, {}, [](const auto& each) { return each.second; });
        return most == votes.end() ? std::nullopt : std::optional(most->first);
    }

    void add(std::uint64_t tcache) {
        constexpr std::size_t kMostChunks = std::size_t{1} << 19;
        constexpr std::uint64_t kLargest = std::uint64_t{8} << 20;
        constexpr std::uint64_t kLeastCount = 16;  // default 7; 16 from 2.43 on
        const auto shape = shape_at(tcache, memory_);
        if (!shape) return;
        ++caches_;
        const std::uint64_t most = std::max(glibc_.parameters ? glibc_.parameters->tcache_count : 0, kLeastCount);
        for (std::uint64_t bin = 0; bin < shape->bins; ++bin) {
            std::uint64_t entry = memory_.get<std::uint64_t>(tcache + shape->entries + bin * 8).value_or(0);
            for (std::uint64_t i = 0; entry != 0 && i < most && sizes_.size() < kMostChunks; ++i) {
                const auto size = memory_.get<std::uint64_t>(entry - 8), next = memory_.get<std::uint64_t>(entry);
                if (!size || !next || !has_size_of(bin, *size)) break;
                // A block that malloc mapped can be cached from 2.42 on. It is not in a heap.
                if (glibc_.is_in_a_heap(entry - 16) &&
                    !sizes_.emplace(entry - 16, std::min(*size & kChunkSize, kLargest)).second)
                    break;
                const std::uint64_t link = glibc_.hides_links() ? *next ^ (entry >> 12) : *next;
                entry = link % 16 == 0 && memory_.pages().contains(link) ? link : 0;
            }
        }
    }

    const GlibcMalloc& glibc_;
    std::span<const GlibcThread> threads_;
    PresentMemory& memory_;
    const ReadDeadline& deadline_;
    std::uint64_t caches_ = 0;
    std::map<std::uint64_t, std::uint64_t> sizes_{};  // by address
};

}  // namespace

TcacheChunks find_tcaches(const GlibcMalloc& glibc, std::span<const GlibcThread> threads, PresentMemory& memory,
                          const ReadDeadline& deadline) {
    return TcacheFinder(glibc, threads, memory, deadline).find();
}

}  // namespace memscope
