#pragma once
#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "sources/heap/glibc_free.h"

namespace memscope {

struct FreeChunk {
    std::uint64_t address = 0;
    std::uint64_t size = 0;
    std::uint64_t end() const { return address + size; }
};

// The head of a chunk in a bin.
struct BinChunk {
    std::uint64_t size_before, size_and_flags, next, previous;
    std::uint64_t size() const { return size_and_flags & kChunkSize; }
};

// The bin of a size, as glibc computes it on 64-bit machines.
inline std::uint64_t bin_of(std::uint64_t size) {
    if (size < 1024) return size >> 4;
    if (size >> 6 <= 48) return 48 + (size >> 6);
    if (size >> 9 <= 20) return 91 + (size >> 9);
    if (size >> 12 <= 10) return 110 + (size >> 12);
    if (size >> 15 <= 4) return 119 + (size >> 15);
    if (size >> 18 <= 2) return 124 + (size >> 18);
    return 126;
}

// The whole pages inside a free chunk. malloc_trim() returns them to the kernel.
inline HeapRange pages_in(const FreeChunk& chunk) {
    if (chunk.size <= page_bytes() - 1 + kChunkHead) return {};
    return {rounded_up(chunk.address + kChunkHead, page_bytes()), rounded_down(chunk.end(), page_bytes())};
}

// Follows the free lists of all arenas at the same time, so that one system call reads one chunk of each list.
class FreeLists {
  public:
    // `fast_deadline` is for fastbins whose chunks a walk cannot find.
    FreeLists(const GlibcMalloc& glibc, PresentMemory& memory, const FreeLimits& limits,
              const ReadDeadline& fast_deadline)
        : glibc_(glibc),
          memory_(memory),
          limits_(limits),
          fast_deadline_(glibc.hides_links() ? limits.deadline : fast_deadline),
          chunks_(glibc.arenas.size()) {}

    GlibcFree follow() {
        std::vector<Cursor> cursors;
        for (std::uint64_t bin = 0; bin < kGlibcFastBins; ++bin) add_fast(cursors, bin);
        run(std::move(cursors), kAllRounds, fast_deadline_);
        fast_is_complete_ = !free_.late && free_.cut_off == 0 && free_.torn == 0 && free_.absent == 0;
        cursors.clear();
        // Then the bins, the largest chunks first, because malloc_trim() returns pages of those only.
        const std::uint64_t least = bin_of(page_bytes());
        for (std::uint64_t bin = kGlibcBins - 1; bin >= least; --bin) add(cursors, bin);
        add(cursors, kUnsorted);
        run(std::move(cursors), kAllRounds, limits_.deadline);
        cursors.clear();
        for (std::uint64_t bin = least - 1; bin > kUnsorted; --bin) add(cursors, bin);
        run(std::move(cursors), kAllRounds, limits_.deadline);
        for (std::size_t i = 0; i < chunks_.size(); ++i) sum_up(glibc_.arenas[i], chunks_[i]);
        return free_;
    }

    // Bytes of the chunks that were found in fastbins.
    std::uint64_t fast_bytes() const { return fast_bytes_; }
    bool fast_is_complete() const { return fast_is_complete_; }
    // Resident bytes at the end of the main heap that malloc_trim() returns.
    std::uint64_t top_trimmable() const { return top_trimmable_; }

    // Addresses at which chunks certainly begin, sorted, for each arena: the chunks that were found, and the first
    // chunks of every list, which are spread over the heaps.
    std::vector<std::vector<std::uint64_t>> marks() {
        constexpr std::size_t kMostMarks = 20000;
        constexpr std::size_t kMostOfList = 500;
        auto found = std::exchange(chunks_, std::vector<std::vector<FreeChunk>>(chunks_.size()));
        const GlibcFree kept = free_;
        const std::uint64_t kept_fast = fast_bytes_;
        std::vector<Cursor> cursors;
        for (std::uint64_t bin = kGlibcBins - 1; bin >= kUnsorted; --bin) add(cursors, bin);
        for (std::uint64_t bin = 0; bin < kGlibcFastBins; ++bin) add_fast(cursors, bin);
        const std::size_t rounds =
            std::clamp<std::size_t>(kMostMarks / std::max<std::size_t>(cursors.size(), 1), 2, kMostOfList);
        run(std::move(cursors), rounds, std::nullopt);
        std::vector<std::vector<std::uint64_t>> marks(chunks_.size());
        for (std::size_t i = 0; i < marks.size(); ++i) {
            for (const FreeChunk& chunk : found[i]) marks[i].push_back(chunk.address);
            for (const FreeChunk& chunk : chunks_[i]) marks[i].push_back(chunk.address);
            std::ranges::sort(marks[i]);
        }
        free_ = kept;
        fast_bytes_ = kept_fast;
        return marks;
    }

  private:
    static constexpr std::uint64_t kUnsorted = 1;  // the bin of chunks that were freed last
    static constexpr std::size_t kAllRounds = ~std::size_t{0};
    struct Cursor {
        std::size_t arena = 0;
        std::uint64_t bin = 0;
        bool fast = false;
        bool backwards = false;
        std::uint64_t head = 0;  // the list of a bin ends where it began
        std::uint64_t before = 0;
        std::uint64_t at = 0;
        std::uint64_t bytes = 0;
    };

    void add(std::vector<Cursor>& cursors, std::uint64_t bin) const {
        for (std::size_t i = 0; i < glibc_.arenas.size(); ++i) {
            const GlibcArena& arena = glibc_.arenas[i];
            const std::uint64_t head = arena.bins + 16 * (bin - 1) - 16, first = arena.tail.bins[2 * (bin - 1)];
            if (first != head) cursors.push_back({.arena = i, .bin = bin, .head = head, .before = head, .at = first});
        }
    }
    void add_fast(std::vector<Cursor>& cursors, std::uint64_t bin) const {
        for (std::size_t i = 0; i < glibc_.arenas.size(); ++i)
            if (const std::uint64_t first = glibc_.arenas[i].fast[bin]; first != 0)
                cursors.push_back({.arena = i, .bin = bin, .fast = true, .at = first});
    }

    void run(std::vector<Cursor> cursors, std::size_t rounds, const std::optional<ReadDeadline>& deadline) {
        std::vector<std::uint64_t> addresses;
        std::vector<Cursor> left;
        for (std::size_t round = 0; !cursors.empty() && round < rounds; ++round) {
            if (deadline && deadline->has_passed()) {
                free_.late = true;
                return;
            }
            if (remembered_ >= limits_.most_chunks) {
                free_.cut_off += cursors.size();
                return;
            }
            addresses.clear();
            for (const Cursor& cursor : cursors) addresses.push_back(cursor.at);
            memory_.prefetch(addresses);
            left.clear();
            for (Cursor& cursor : cursors)
                if (step(cursor)) left.push_back(cursor);
            std::swap(cursors, left);
        }
    }

    // False at the end of the list.
    bool step(Cursor& cursor) {
        const GlibcArena& arena = glibc_.arenas[cursor.arena];
        const auto chunk = memory_.get<BinChunk>(cursor.at);
        if (!chunk) return turn_back(cursor, free_.absent);
        cursor.bytes += chunk->size();
        if (!arena.can_contain(cursor.at, chunk->size()) || !fits(cursor, *chunk) ||
            cursor.bytes > arena.tail.system_mem)
            return turn_back(cursor, free_.torn);
        chunks_[cursor.arena].push_back({cursor.at, chunk->size()});
        ++remembered_;
        if (cursor.fast) {
            fast_bytes_ += chunk->size();
            const auto next = revealed(chunk->next, cursor.at + 16, arena);
            if (!next) ++free_.torn;
            cursor.at = next.value_or(0);
            return cursor.at != 0;
        }
        cursor.before = cursor.at;
        cursor.at = cursor.backwards ? chunk->previous : chunk->next;
        return cursor.at != cursor.head;
    }

    static bool fits(const Cursor& cursor, const BinChunk& chunk) {
        if (cursor.fast) return chunk.size() == (cursor.bin + 2) * 16;
        if ((cursor.backwards ? chunk.next : chunk.previous) != cursor.before) return false;
        return cursor.bin == kUnsorted || bin_of(chunk.size()) == cursor.bin;
    }

    // Follows a broken list from its other end, too. sum_up() counts a chunk that is found twice only once.
    bool turn_back(Cursor& cursor, std::uint64_t& reason) const {
        ++reason;
        if (cursor.fast || cursor.backwards) return false;
        const std::uint64_t last = glibc_.arenas[cursor.arena].tail.bins[2 * (cursor.bin - 1) + 1];
        cursor.backwards = true;
        cursor.before = cursor.head;
        cursor.at = last;
        cursor.bytes = 0;
        return last != cursor.head;
    }

    std::optional<std::uint64_t> revealed(std::uint64_t link, std::uint64_t place, const GlibcArena& arena) const {
        const std::uint64_t next = glibc_.hides_links() ? link ^ (place >> 12) : link;
        return next == 0 || arena.can_contain(next, kLeastChunk) ? std::optional(next) : std::nullopt;
    }

    void sum_up(const GlibcArena& arena, std::vector<FreeChunk>& chunks) {
        std::ranges::sort(chunks, {}, &FreeChunk::address);
        std::vector<FreeChunk> apart;
        for (const FreeChunk& chunk : chunks) {
            if (!apart.empty() && chunk.address < apart.back().end()) continue;
            if (arena.top_size != 0 && chunk.end() > arena.tail.top && chunk.address < arena.top().end) continue;
            apart.push_back(chunk);
        }
        chunks = std::move(apart);
        for (const FreeChunk& chunk : chunks) {
            ++free_.chunks;
            free_.bytes += chunk.size;
            free_.present += memory_.pages().bytes_in({chunk.address, chunk.end()});
        }
        free_.top_present += memory_.pages().bytes_in(arena.top());
        trim(arena, chunks);
    }

    // As malloc_trim(0) does: it joins chunks of fastbins with free neighbours, returns the whole pages inside every
    // free chunk, and returns the end of the main heap. The tops of other arenas stay.
    void trim(const GlibcArena& arena, const std::vector<FreeChunk>& chunks) {
        std::uint64_t top = arena.tail.top;
        for (std::size_t i = 0; i < chunks.size();) {
            FreeChunk whole = chunks[i++];
            while (i < chunks.size() && chunks[i].address == whole.end()) whole.size += chunks[i++].size;
            if (whole.end() == top && arena.top_size != 0) {
                top = whole.address;
                continue;
            }
            free_.trimmable += memory_.pages().bytes_in(pages_in(whole));
        }
        if (!arena.main || arena.top_size == 0 || arena.heaps.empty()) return;
        const std::uint64_t end = arena.top().end;
        if (end != arena.heaps.back().end) return;  // something else has extended the heap since
        const std::uint64_t unit = std::max(page_bytes(), glibc_.parameters ? glibc_.parameters->huge_page : 0);
        const std::uint64_t size = end - top, kept = kLeastChunk + 1;
        if (size > kept) top_trimmable_ = memory_.pages().bytes_in({end - rounded_down(size - kept, unit), end});
        free_.trimmable += top_trimmable_;
    }

    const GlibcMalloc& glibc_;
    PresentMemory& memory_;
    const FreeLimits& limits_;
    ReadDeadline fast_deadline_;
    bool fast_is_complete_ = false;
    std::vector<std::vector<FreeChunk>> chunks_;  // by arena
    std::size_t remembered_ = 0;
    std::uint64_t fast_bytes_ = 0;
    std::uint64_t top_trimmable_ = 0;
    GlibcFree free_{};
};

}  // namespace memscope
