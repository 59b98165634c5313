#include "sources/heap/pymalloc.h"

#include <algorithm>

namespace memscope {
namespace {

constexpr std::uint64_t kPool = 16384;
constexpr std::uint64_t kSmallPool = 4096;
constexpr std::uint64_t kMostArenas = std::uint64_t{1} << 20;

struct ArenaEntry {  // struct arena_object
    std::uint64_t address, pool_address;
    std::uint32_t free_pools, total_pools;
    std::uint64_t free_list, next, previous;
};
static_assert(sizeof(ArenaEntry) == 48);

bool is_unused(const ArenaEntry& entry) { return entry.address == 0 && entry.next % 16 == 0; }

bool is_allocated(const ArenaEntry& entry, const PresentPages& pages) {
    // 64 pools of 4 KiB or of 16 KiB, one less if the arena is not aligned to a pool.
    const bool usual_count =
        entry.total_pools == 64 || entry.total_pools == 63 || entry.total_pools == 128 || entry.total_pools == 127;
    constexpr std::uint64_t kMostBytes = std::uint64_t{4} << 20;
    return entry.address != 0 && entry.address % 4096 == 0 && entry.address < std::uint64_t{1} << 57 && usual_count &&
           entry.free_pools <= entry.total_pools && entry.pool_address >= entry.address &&
           entry.pool_address - entry.address <= kMostBytes && entry.pool_address % 4096 == 0 &&
           pages.bytes_in({entry.address, entry.address + (std::uint64_t{1} << 20)}) > 0;
}

}  // namespace

// The size of a pool is the last offset plus the size of one block.
std::uint64_t PoolHead::pool_size() const {
    constexpr std::uint32_t kSizeClasses = 32;
    if (size_index >= kSizeClasses) return 0;
    const std::uint64_t block = block_size(), pool = last_offset + block;
    const bool sound = next_offset >= sizeof *this && next_offset <= pool && (next_offset - sizeof *this) % block == 0;
    return sound && (pool == kPool || pool == kSmallPool) ? pool : 0;
}

namespace {

class PymallocReader {
  public:
    PymallocReader(MallocHeads heads, PresentMemory& memory, const ReadDeadline& deadline)
        : heads_(heads), memory_(memory), deadline_(deadline) {}

    bool find_in(const LibraryData& library) {
        for (const std::uint64_t array : library.words) {
            if (deadline_.has_passed()) return false;
            if (array == 0 || array % 16 != 0 || library.range().contains(array)) continue;
            if (!memory_.pages().contains(array)) continue;
            // The first arena holds the first objects of the interpreter and is never freed.
            const auto first = memory_.get<ArenaEntry>(array);
            if (!first || !is_allocated(*first, memory_.pages())) continue;
            const std::uint64_t count = heads_ == MallocHeads::glibc ? count_by_head(array) : count_by_entries(array);
            if (count != 0 && read_arenas(array, count)) return true;
        }
        return false;
    }

    Pymalloc take() {
        count_pools();
        return std::move(found_);
    }

  private:
    static constexpr std::uint64_t kFirstCount = 16;

    std::uint64_t count_by_head(std::uint64_t array) {
        const std::uint64_t room = memory_.get<std::uint64_t>(array - 8).value_or(0) & ~std::uint64_t{7};
        if (room < kFirstCount * sizeof(ArenaEntry) || room > kMostArenas * sizeof(ArenaEntry)) return 0;
        std::uint64_t count = kFirstCount;
        while (count * 2 * sizeof(ArenaEntry) <= room) count *= 2;
        return count;
    }
    // Python doubles the array when it is full. An entry that is neither allocated nor unused lies behind the end of
    // the array.
    std::uint64_t count_by_entries(std::uint64_t array) {
        std::uint64_t checked = 0, count = kFirstCount;
        for (;;) {
            for (; checked < count; ++checked) {
                if (checked % kFirstCount == 0 && deadline_.has_passed()) return 0;
                const auto entry = memory_.get<ArenaEntry>(array + checked * sizeof(ArenaEntry));
                const bool sound = entry && (is_unused(*entry) || is_allocated(*entry, memory_.pages()));
                if (!sound) return count == kFirstCount ? 0 : count / 2;
            }
            if (count * 2 > kMostArenas) return count;
            count *= 2;
        }
    }

    bool read_arenas(std::uint64_t array, std::uint64_t count) {
        found_ = {};
        std::uint64_t arena_size = 0;
        std::vector<std::uint64_t> addresses;
        addresses.reserve(count);
        for (std::uint64_t i = 0; i < count; ++i) addresses.push_back(array + i * sizeof(ArenaEntry));
        for (const auto& entry : memory_.gather<ArenaEntry>(addresses)) {
            if (!entry || is_unused(*entry)) continue;
            if (!is_allocated(*entry, memory_.pages())) {
                // Python may be making this arena. But the first arena is never freed, so if it is invalid, this is not
                // the array of arenas.
                if (found_.arenas.empty()) return false;
                ++found_.unread_pools;
                continue;
            }
            if (arena_size == 0) {
                found_.pool_size = pool_size_of(entry->address);
                if (found_.pool_size == 0) return false;
                arena_size = found_.pool_size * rounded_up(entry->total_pools, 2);
            }
            found_.arenas.push_back({entry->address, entry->address + arena_size});
        }
        std::ranges::sort(found_.arenas, starts_before);
        // A forged array can contain an arena twice, or arenas that overlap.
        std::vector<HeapRange> apart;
        for (const HeapRange& arena : found_.arenas)
            if (apart.empty() || apart.back().end <= arena.start) apart.push_back(arena);
        found_.arenas = std::move(apart);
        return !found_.arenas.empty();
    }

    std::uint64_t pool_size_of(std::uint64_t first_arena) {
        for (const std::uint64_t size : {kPool, kSmallPool}) {
            const auto head = memory_.get<PoolHead>(rounded_up(first_arena, size));
            if (head && head->pool_size() == size && head->arena_index == 0) return size;
        }
        return 0;
    }

    void count_pools() {
        constexpr std::size_t kPoolsAtOnce = 4096;
        std::vector<std::uint64_t> addresses;
        for (const HeapRange& arena : found_.arenas)
            for (std::uint64_t at = rounded_up(arena.start, found_.pool_size); at + found_.pool_size <= arena.end;
                 at += found_.pool_size) {
                if (!memory_.pages().contains(at)) continue;
                addresses.push_back(at);
                if (addresses.size() < kPoolsAtOnce) continue;
                count(addresses);
                addresses.clear();
            }
        count(addresses);
    }

    void count(std::span<const std::uint64_t> addresses) {
        if (deadline_.has_passed()) {
            found_.absent_pools += addresses.size();
            return;
        }
        const auto heads = memory_.gather<PoolHead>(addresses);
        for (std::size_t i = 0; i < heads.size(); ++i) {
            if (!heads[i]) {
                ++found_.absent_pools;
                continue;
            }
            count(*heads[i], memory_.pages().bytes_in({addresses[i], addresses[i] + found_.pool_size}));
        }
    }
    void count(const PoolHead& head, std::uint64_t present) {
        const bool never_used = head.size_index == 0 && head.last_offset == 0 && head.used == 0;
        if (never_used || (head.pool_size() == found_.pool_size && head.used == 0)) {
            found_.free_pools += present;
            return;
        }
        const std::uint64_t block = head.block_size(), blocks = (found_.pool_size - sizeof head) / block;
        if (head.pool_size() != found_.pool_size || head.used > blocks) {
            ++found_.unread_pools;
            return;
        }
        found_.live += head.used * block;
        found_.free_blocks += present - std::min(present, head.used * block + sizeof head);
    }

    MallocHeads heads_;
    PresentMemory& memory_;
    const ReadDeadline& deadline_;
    Pymalloc found_{};
};

}  // namespace

std::optional<Pymalloc> read_pymalloc(std::span<const LibraryData> libraries, MallocHeads heads, PresentMemory& memory,
                                      const ReadDeadline& deadline) {
    PymallocReader reader(heads, memory, deadline);
    for (const LibraryData& library : libraries)
        if (reader.find_in(library)) return reader.take();
    return std::nullopt;
}

}  // namespace memscope
