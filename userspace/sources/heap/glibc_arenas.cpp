#include "sources/heap/glibc_arenas.h"

#include <algorithm>
#include <unordered_set>

#include "base/text.h"

namespace memscope {
namespace {

// An empty bin points to itself as if it were a chunk that begins 16 bytes earlier. While a bin changes, only one of
// its two words may point to itself. The last bin is never used.
bool are_bins(std::span<const std::uint64_t> pairs, std::uint64_t address) {
    std::size_t empty = 0;
    for (std::size_t i = 0; i < kGlibcBins; ++i) {
        const std::uint64_t self = address + 16 * i - 16;
        const auto is_link = [&](std::uint64_t word) { return word == self || (word != 0 && word % 16 == 0); };
        if (!is_link(pairs[2 * i]) || !is_link(pairs[2 * i + 1])) return false;
        if (pairs[2 * i] == self && pairs[2 * i + 1] == self) ++empty;
    }
    return empty >= 4 && pairs[2 * kGlibcBins - 2] == address + 16 * (kGlibcBins - 1) - 16;
}

class ArenaFinder {
  public:
    ArenaFinder(std::optional<GlibcVersion> version, PresentMemory& memory, const ProcessMaps& maps,
                const ReadDeadline& deadline)
        : memory_(memory), maps_(maps), deadline_(deadline) {
        glibc_.version = version;
    }

    bool find_in(const LibraryData& library) {
        constexpr std::size_t kWords = kGlibcBins * 2 + 7;
        for (std::size_t i = 14; i + kWords < library.words.size(); ++i) {
            const std::uint64_t address = library.address(i);
            if (library.words[i + 2 * kGlibcBins - 2] != address + 16 * (kGlibcBins - 1) - 16) continue;
            if (!are_bins(std::span(library.words).subspan(i, kGlibcBins * 2), address)) continue;
            for (const std::uint64_t offset : {std::uint64_t{112}, std::uint64_t{24}}) {
                glibc_.bins_offset = offset;
                if (follow_ring(address - offset)) return true;
            }
        }
        return false;
    }

    void find_parameters(const LibraryData& library) {
        const auto& heaps = glibc_.arenas.front().heaps;
        const HeapRange heap = heaps.empty() ? HeapRange{} : heaps.front();
        for (std::size_t i = 12; i + 4 < library.words.size() && !glibc_.parameters; ++i) {
            const std::uint64_t base = library.words[i];
            const bool fits = heap.size() == 0 ? base == 0 : heap.start <= base && base - heap.start < page_bytes();
            if (fits) glibc_.parameters = parameters_at(library, i);
        }
    }

    GlibcMalloc take() {
        for (const GlibcArena& arena : glibc_.arenas)
            glibc_.heaps.insert(glibc_.heaps.end(), arena.heaps.begin(), arena.heaps.end());
        std::ranges::sort(glibc_.heaps, starts_before);
        return std::move(glibc_);
    }
    bool has_parameters() const { return glibc_.parameters.has_value(); }

  private:
    bool follow_ring(std::uint64_t first) {
        constexpr std::size_t kMostArenas = 65536;
        glibc_.arenas.clear();
        glibc_.heap_head = 0;
        heaps_found_ = 0;
        std::unordered_set<std::uint64_t> seen;
        for (std::uint64_t at = first; glibc_.arenas.size() < kMostArenas;) {
            if (deadline_.has_passed() || !seen.insert(at).second) return false;
            GlibcArena arena{.address = at, .bins = at + glibc_.bins_offset, .main = at == first};
            if (!read(arena)) return false;
            at = arena.tail.next;
            glibc_.arenas.push_back(std::move(arena));
            if (at == first) return true;
        }
        return false;
    }

    bool read(GlibcArena& arena) {
        if (arena.address % 8 != 0) return false;
        const auto tail = std::as_writable_bytes(std::span(&arena.tail, 1));
        if (!memory_.read_at_once(arena.bins - 16, tail) || !are_bins(arena.tail.bins, arena.bins)) return false;
        if (glibc_.has_fastbins() &&
            !memory_.read(arena.bins - 16 - sizeof arena.fast, std::as_writable_bytes(std::span(arena.fast))))
            return false;
        if (arena.main)
            find_main_heap(arena);
        else if (!find_heaps(arena))
            return false;
        const std::uint64_t size = memory_.get<std::uint64_t>(arena.tail.top + 8).value_or(0) & kChunkSize;
        arena.top_size = arena.can_contain(arena.tail.top, size) ? size : 0;
        return true;
    }

    void find_main_heap(GlibcArena& arena) {
        constexpr std::uint32_t kNotContiguous = 2;
        // Another allocator that is preloaded may own the memory of brk().
        if (arena.tail.system_mem == 0) return;
        HeapRange heap;
        for (const MappedRange& range : maps_.ranges) {
            if (range.path != "[heap]") continue;
            if (heap.end == 0) heap.start = range.start;
            heap.end = range.end;
        }
        if (heap.end != 0) arena.heaps.push_back(heap);
        const auto flags = memory_.get<std::uint32_t>(arena.address + 4);
        arena.scattered = (flags && (*flags & kNotContiguous) != 0) ||
                          (!heap.contains(arena.tail.top) && memory_.pages().contains(arena.tail.top));
        if (!arena.scattered) return;
        for (const MappedRange& range : maps_.ranges)
            if (is_anonymous(range)) arena.elsewhere.push_back({range.start, range.end});
    }

    // The heaps of other arenas are aligned to their largest possible size, begin with a heap_info and are linked.
    bool find_heaps(GlibcArena& arena) {
        constexpr std::size_t kMostHeaps = std::size_t{1} << 17;  // of all arenas: 8 TiB
        if (glibc_.heap_head == 0 && !find_heap_shape(arena)) return false;
        struct Head {
            std::uint64_t arena, previous, size;
        };
        std::uint64_t total = 0;
        for (std::uint64_t at = rounded_down(arena.tail.top, glibc_.heap_limit);
             at != 0 && at % glibc_.heap_limit == 0 && heaps_found_ < kMostHeaps; ++heaps_found_) {
            const auto head = memory_.get<Head>(at);
            if (!head || head->arena != arena.address || head->size > glibc_.heap_limit || head->size == 0) break;
            arena.heaps.push_back({at, at + head->size});
            total += head->size;
            if (total >= arena.tail.system_mem) break;
            at = head->previous;
        }
        std::ranges::sort(arena.heaps, starts_before);
        // A forged list can lead to the same heap twice.
        const auto same = std::ranges::unique(arena.heaps, {}, &HeapRange::start);
        arena.heaps.erase(same.begin(), same.end());
        return !arena.heaps.empty();
    }

    bool find_heap_shape(const GlibcArena& arena) {
        for (const std::uint64_t head : {std::uint64_t{48}, std::uint64_t{32}})
            if ((arena.address - head) % page_bytes() == 0 &&
                memory_.get<std::uint64_t>(arena.address - head) == arena.address)
                glibc_.heap_head = head;
        if (glibc_.heap_head == 0) return false;
        // 64 MiB, unless the tunable glibc.malloc.hugetlb is set.
        for (std::uint64_t limit = std::uint64_t{64} << 20; limit <= std::uint64_t{4} << 30; limit *= 2)
            if (memory_.get<std::uint64_t>(rounded_down(arena.tail.top, limit)) == arena.address) {
                glibc_.heap_limit = limit;
                break;
            }
        return true;
    }

    // `i` is the index of sbrk_base, if this is malloc_par.
    std::optional<GlibcParameters> parameters_at(const LibraryData& library, std::size_t i) const {
        const std::uint64_t mmapped = library.at(i - 2), most = library.at(i - 1);
        const std::uint64_t tcache_bins = library.at(i + 1), tcache_bytes = library.at(i + 2),
                            count = library.at(i + 3);
        // Whole pages, but 2.43 counts 16 bytes too many for each block that mremap() moved.
        if (mmapped % 16 != 0 || most % 16 != 0 || mmapped > most || most >= std::uint64_t{1} << 47) return {};
        if (tcache_bins == 0 || tcache_bins > 76 || tcache_bytes < 24 || tcache_bytes > std::uint64_t{8} << 20)
            return {};
        if (count > 65535) return {};
        const auto number_before = [&](std::size_t bytes) {  // a 32-bit number, `bytes` before mmapped_mem
            const std::uint64_t word = library.at(i - 2 - (bytes + 4) / 8);
            return bytes % 8 == 0 ? word & 0xFFFFFFFF : word >> 32;
        };
        // n_mmaps, n_mmaps_max, max_n_mmaps, no_dyn_threshold. From 2.35 on another int precedes them.
        constexpr std::uint64_t kDefaultMostMmaps = 65536;
        const bool old = glibc_.version ? *glibc_.version < GlibcVersion{2, 35}
                                        : glibc_.has_fastbins() &&
                                              (glibc_.heap_head == 32 || number_before(12) == kDefaultMostMmaps);
        const std::uint64_t mmaps = number_before(old ? 16 : 20), most_mmaps = number_before(old ? 8 : 12);
        if (mmaps > most_mmaps) return {};
        GlibcParameters found{.mmaps = mmaps, .mmapped = mmapped, .sbrk_base = library.at(i), .tcache_count = count};
        if (!old) found.huge_page = library.at(i - 2 - 5);
        if (found.huge_page % page_bytes() != 0 || found.huge_page > std::uint64_t{1} << 30) found.huge_page = 0;
        return found;
    }

    PresentMemory& memory_;
    const ProcessMaps& maps_;
    const ReadDeadline& deadline_;
    GlibcMalloc glibc_{};
    std::size_t heaps_found_ = 0;
};

// Bytes of the mapped block whose chunk begins in the page `at`; 0 if there is none. A block with a large alignment
// begins later in its page.
std::uint64_t mapped_block(std::span<const std::uint64_t> words, std::uint64_t at, std::uint64_t end) {
    for (std::uint64_t offset = 0; offset + 16 <= words.size_bytes(); offset += 16) {
        const std::uint64_t before = words[offset / 8] & ~std::uint64_t{1}, head = words[offset / 8 + 1];
        if (before != offset || (head & 7) != kChunkIsMapped) continue;
        const std::uint64_t size = head & kChunkSize;
        if (size < 4096 - offset % 4096 || size > end - at) continue;
        for (const std::uint64_t total : {offset + size, offset + size + 16})
            if (total % page_bytes() == 0 && total <= end - at) return total;
    }
    return 0;
}

class MappedBlockFinder {
  public:
    MappedBlockFinder(PresentMemory& memory, const ProcessMaps& maps, std::span<const HeapRange> taken,
                      const ReadDeadline& deadline)
        : memory_(memory), maps_(maps), taken_(taken.begin(), taken.end()), deadline_(deadline) {}

    // Checks the start of each mapping and of each gap between taken ranges. The kernel merges adjacent blocks into one
    // mapping, so the next check is where a found block ends.
    void find_at_starts() {
        std::array<std::uint64_t, 512> words{};
        std::uint64_t free_from = 0;
        for_each_gap([&](HeapRange gap, std::uint64_t end) {
            for (std::uint64_t at = std::max(gap.start, free_from); at < gap.end && !deadline_.has_passed();) {
                if (!memory_.pages().contains(at) || !memory_.read(at, std::as_writable_bytes(std::span(words))))
                    return;
                const std::uint64_t size = mapped_block(words, at, end);
                if (size == 0) return;
                take({at, at + size});
                at = free_from = at + size;
            }
        });
        finish();
    }
    // Checks every present page, because other memory can precede a block in its mapping. Stops when `until` bytes are
    // found.
    void find_at_pages(std::uint64_t until) {
        std::uint64_t free_from = 0;
        for_each_gap([&](HeapRange gap, std::uint64_t end) {
            constexpr std::size_t kPagesAtOnce = 4096;
            std::vector<std::uint64_t> pages;
            const auto flush = [&] {
                const auto heads = memory_.gather<std::array<std::uint64_t, 2>>(pages);
                for (std::size_t i = 0; i < pages.size(); ++i) {
                    if (!heads[i] || pages[i] < free_from) continue;
                    const std::uint64_t size = mapped_block(*heads[i], pages[i], end);
                    if (size == 0) continue;
                    take({pages[i], pages[i] + size});
                    free_from = pages[i] + size;
                }
                pages.clear();
            };
            const auto runs = memory_.pages().runs();
            auto run = std::upper_bound(runs.begin(), runs.end(), gap.start,
                                        [](std::uint64_t value, const HeapRange& r) { return value < r.end; });
            for (; run != runs.end() && run->start < gap.end; ++run)
                for (std::uint64_t at = std::max(run->start, gap.start); at < std::min(run->end, gap.end);
                     at += page_bytes()) {
                    if (at < free_from) continue;
                    pages.push_back(at);
                    if (pages.size() < kPagesAtOnce) continue;
                    flush();
                    if (found_bytes_ >= until || deadline_.has_passed()) return;
                }
            if (found_bytes_ < until && !deadline_.has_passed()) flush();
        });
        finish();
    }
    std::uint64_t found_bytes() const { return found_bytes_; }
    std::vector<HeapRange> take_blocks() {
        std::ranges::sort(blocks_, starts_before);
        return std::move(blocks_);
    }

  private:
    // Calls visit(gap, end) for each part of a mapping that is not taken. A block that begins there ends at `end` at
    // the latest: madvise() splits the mapping of a large array in two.
    template <class Visit>
    void for_each_gap(Visit visit) {
        auto taken = taken_.begin();
        for (std::size_t i = 0; i < maps_.ranges.size(); ++i) {
            const MappedRange& range = maps_.ranges[i];
            if (!is_anonymous(range)) continue;
            std::uint64_t at = range.start;
            while (taken != taken_.end() && taken->end <= at) ++taken;
            for (auto next = taken; at < range.end; ++next) {
                const std::uint64_t end = next == taken_.end() ? range.end : std::min(next->start, range.end);
                if (end > at) {
                    std::uint64_t last = end;
                    for (std::size_t k = i + 1; last == maps_.ranges[k - 1].end && k < maps_.ranges.size() &&
                                                maps_.ranges[k].start == last && is_anonymous(maps_.ranges[k]);
                         ++k) {
                        const bool is_taken = next != taken_.end() && next->start < maps_.ranges[k].end;
                        last = is_taken ? std::max(next->start, last) : maps_.ranges[k].end;
                    }
                    visit(HeapRange{at, end}, last);
                }
                if (next == taken_.end()) break;
                at = std::max(at, next->end);
            }
        }
    }
    void take(HeapRange block) {
        blocks_.push_back(block);
        found_bytes_ += block.size();
    }
    void finish() {
        taken_.insert(taken_.end(), blocks_.begin() + static_cast<std::ptrdiff_t>(finished_), blocks_.end());
        finished_ = blocks_.size();
        std::ranges::sort(taken_, starts_before);
    }

    PresentMemory& memory_;
    const ProcessMaps& maps_;
    std::vector<HeapRange> taken_;
    const ReadDeadline& deadline_;
    std::vector<HeapRange> blocks_{};
    std::size_t finished_ = 0;  // number of blocks in `blocks_` that are in `taken_`, too
    std::uint64_t found_bytes_ = 0;
};

}  // namespace

bool GlibcArena::can_contain(std::uint64_t chunk, std::uint64_t size) const {
    if (chunk % 16 != 0 || size % 16 != 0 || size < kLeastChunk || size > tail.system_mem) return false;
    const auto is_inside = [&](std::span<const HeapRange> ranges) {
        const HeapRange* range = range_at(ranges, chunk);
        return range && range->contains(chunk, size);
    };
    return is_inside(heaps) || (scattered && is_inside(elsewhere));
}

std::optional<GlibcVersion> parse_glibc_version(std::string_view text) {
    const auto parts = split(text, '.');
    if (parts.size() < 2) return std::nullopt;
    const auto major = parse_number(parts[0]), minor = parse_number(parts[1]);
    if (!major || !minor || *major > 1000 || *minor > 1000) return std::nullopt;
    return GlibcVersion{static_cast<unsigned>(*major), static_cast<unsigned>(*minor)};
}

std::optional<GlibcMalloc> find_glibc_malloc(std::span<const LibraryData> libraries,
                                             std::optional<GlibcVersion> version, PresentMemory& memory,
                                             const ProcessMaps& maps, const ReadDeadline& deadline) {
    ArenaFinder finder(version, memory, maps, deadline);
    if (std::ranges::none_of(libraries, [&](const LibraryData& each) { return finder.find_in(each); }))
        return std::nullopt;
    for (const LibraryData& library : libraries)
        if (!finder.has_parameters()) finder.find_parameters(library);
    return finder.take();
}

std::size_t count_inconsistent_arenas(const GlibcMalloc& glibc) {
    return static_cast<std::size_t>(std::ranges::count_if(glibc.arenas, [&](const GlibcArena& arena) {
        std::uint64_t sum = 0;
        for (const HeapRange& heap : arena.heaps) sum += heap.size();
        // Something else can own the first bytes of brk()'s memory.
        if (arena.main && !arena.heaps.empty() && glibc.parameters)
            sum -= std::min(sum, glibc.parameters->sbrk_base - arena.heaps.front().start);
        return !arena.scattered && sum != arena.tail.system_mem;
    }));
}

std::vector<HeapRange> find_mapped_blocks(const GlibcMalloc& glibc, PresentMemory& memory, const ProcessMaps& maps,
                                          std::span<const HeapRange> taken, const ReadDeadline& deadline) {
    MappedBlockFinder finder(memory, maps, taken, deadline);
    finder.find_at_starts();
    const std::uint64_t wanted = glibc.parameters ? glibc.parameters->mmapped : 0;
    if (finder.found_bytes() < wanted) finder.find_at_pages(wanted);
    return finder.take_blocks();
}

}  // namespace memscope
