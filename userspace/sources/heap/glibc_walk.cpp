#include "sources/heap/glibc_walk.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace memscope {
namespace {

struct ChunkHead {
    std::uint64_t size_before = 0, size_and_flags = 0;
    std::uint64_t size() const { return size_and_flags & kChunkSize; }
    bool before_in_use() const { return (size_and_flags & kChunkBeforeInUse) != 0; }
};

// The chunks in fastbins have the flags of used chunks. All lists are followed at the same time, so that one system
// call reads one chunk of each list.
class FastbinChunks {
  public:
    FastbinChunks(const GlibcMalloc& glibc, MemorySource& source, const ReadDeadline& deadline)
        : glibc_(glibc), source_(source), deadline_(deadline) {}

    // Adds them to `chunks`. Returns the number of lists that were not followed to their end.
    std::uint64_t add_to(std::vector<std::uint64_t>& chunks) {
        constexpr std::size_t kMostChunks = std::size_t{1} << 21;
        std::vector<Cursor> cursors, left;
        if (glibc_.has_fastbins())
            for (const GlibcArena& arena : glibc_.arenas)
                for (std::size_t bin = 0; bin < kGlibcFastBins; ++bin)
                    if (arena.fast[bin] != 0) cursors.push_back({&arena, bin, arena.fast[bin]});
        std::uint64_t broken = 0;
        std::vector<MemorySource::Piece> pieces;
        std::vector<SizeAndLink> words;
        while (!cursors.empty()) {
            if (deadline_.has_passed() || chunks.size() >= kMostChunks) return broken + cursors.size();
            words.resize(cursors.size());
            pieces.clear();
            for (std::size_t i = 0; i < cursors.size(); ++i)
                pieces.push_back({cursors[i].chunk + 8, std::as_writable_bytes(std::span(&words[i], 1))});
            source_.read(pieces);
            left.clear();
            for (std::size_t i = 0; i < cursors.size(); ++i) {
                Cursor& cursor = cursors[i];
                const std::uint64_t size = (cursor.bin + 2) * 16;
                if (!pieces[i].done || (words[i].size & kChunkSize) != size ||
                    !cursor.arena->can_contain(cursor.chunk, size) || ++cursor.steps > kLongest) {
                    ++broken;
                    continue;
                }
                chunks.push_back(cursor.chunk);
                const std::uint64_t place = cursor.chunk + 16;
                cursor.chunk = glibc_.hides_links() ? words[i].link ^ (place >> 12) : words[i].link;
                if (cursor.chunk != 0) left.push_back(cursor);
            }
            std::swap(cursors, left);
        }
        return broken;
    }

  private:
    static constexpr std::uint64_t kLongest = std::uint64_t{1} << 20;  // a forged list can be a ring
    struct Cursor {
        const GlibcArena* arena = nullptr;
        std::size_t bin = 0;
        std::uint64_t chunk = 0;
        std::uint64_t steps = 0;
    };
    struct SizeAndLink {  // from chunk + 8 on
        std::uint64_t size = 0, link = 0;
    };

    const GlibcMalloc& glibc_;
    MemorySource& source_;
    const ReadDeadline& deadline_;
};

class GlibcWalker {
  public:
    GlibcWalker(const GlibcMalloc& glibc, const TcacheChunks& tcaches, MemorySource& source, const PresentPages& pages,
                const GlibcWalkLimits& limits, const std::function<void(const WalkedChunk&)>& visit)
        : glibc_(glibc),
          source_(source),
          window_(source, pages),
          limits_(limits),
          visit_(visit),
          cached_(tcaches.chunks) {
        constexpr double kFastbins = 0.25;  // of the time
        const ReadDeadline deadline = limits.deadline.sooner(limits.deadline.left() * kFastbins);
        sum_.fast_torn = FastbinChunks(glibc, source, deadline).add_to(cached_);
        std::ranges::sort(cached_);
    }

    GlibcWalk walk() {
        struct Heap {
            const GlibcArena* arena;
            HeapRange range;
        };
        std::vector<Heap> heaps;
        for (const GlibcArena& arena : glibc_.arenas)
            for (const HeapRange& heap : arena.heaps) heaps.push_back({&arena, heap});
        std::ranges::sort(heaps, {}, [](const Heap& heap) { return heap.range.start; });
        std::uint64_t end = 0;
        for (const Heap& heap : heaps) {
            if (heap.range.start < end) continue;  // forged: no two heaps overlap
            end = heap.range.end;
            if (!is_done()) walk(*heap.arena, heap.range);
            if (is_done()) sum_.skipped_bytes += window_.pages().bytes_in({std::max(at_, heap.range.start), end});
        }
        return sum_;
    }

  private:
    static constexpr std::uint64_t kStepsPerClockRead = 4096;
    static constexpr std::size_t kMuch = HeapWindow::kMost, kLittle = 4096;

    bool is_done() {
        if (limits_.deadline.has_passed()) sum_.late = true;
        return sum_.late || sum_.cut_off;
    }

    std::uint64_t first_chunk(const GlibcArena& arena, const HeapRange& heap) const {
        const std::uint64_t head_end = heap.start + glibc_.heap_head;
        if (arena.main)
            return rounded_up(std::max(heap.start, glibc_.parameters ? glibc_.parameters->sbrk_base : 0), 16);
        // The first heap of an arena holds its malloc_state.
        constexpr std::uint64_t kBinsToEnd = sizeof(GlibcArenaTail) - 16;
        return rounded_up(head_end == arena.address ? arena.bins + kBinsToEnd : head_end, 16);
    }

    // Reads far ahead where chunks are small, because a system call costs as much as a copy of 16 KiB.
    std::size_t ahead(std::uint64_t at) const {
        constexpr std::uint64_t kSmall = std::uint64_t{16} << 10;
        return mean_size_ < kSmall ? kMuch : kLittle - at % kLittle + sizeof(ChunkHead);
    }
    ChunkHead head_at(std::uint64_t at) {
        ChunkHead head;
        std::memcpy(&head, window_.at(at, sizeof head, end_, ahead(at)), sizeof head);
        return head;
    }

    bool can_be_chunk(const ChunkHead& head, std::uint64_t at) const {
        const std::uint64_t flags = head.size_and_flags & 15;
        return head.size() >= kLeastChunk && head.size() <= end_ - at && (flags & (kChunkIsMapped | 8)) == 0 &&
               (!arena_->main || (flags & kChunkOfOtherArena) == 0);
    }
    // Whether the head of the next chunk fits. free() clears the flag of the arena, and writes the size behind the
    // chunk.
    bool fits(const ChunkHead& head, const ChunkHead& next) const {
        const bool of_other = (head.size_and_flags & kChunkOfOtherArena) != 0;
        if (next.before_in_use()) return of_other != arena_->main;
        return head.before_in_use() && !of_other && next.size_before == head.size();
    }

    // The head of the chunk that begins where the chunks of this heap end.
    ChunkHead end_head() const { return {.size_before = 0, .size_and_flags = kChunkBeforeInUse}; }

    void walk(const GlibcArena& arena, const HeapRange& heap) {
        arena_ = &arena;
        const bool has_top = arena.top_size != 0 && heap.contains(arena.tail.top);
        end_ = has_top ? arena.tail.top : heap.end;
        at_ = first_chunk(arena, heap);
        mean_size_ = 0;
        window_.forget();
        if (at_ >= end_) return;
        ChunkHead head = head_at(at_);
        int tries = 0;
        for (std::uint64_t steps = 1; at_ < end_; ++steps) {
            if (steps % kStepsPerClockRead == 0 && is_done()) return;
            if (can_be_chunk(head, at_)) {
                const std::uint64_t next_at = at_ + head.size();
                read_ahead(head, next_at);
                const ChunkHead next = next_at < end_ ? head_at(next_at) : end_head();
                if (fits(head, next)) {
                    tries = 0;
                    if (!visit(head, next)) return;
                    at_ = next_at;
                    head = next;
                    continue;
                }
            }
            // The last two chunks of a heap that is full are fenceposts without room for a block.
            if (!has_top && end_ - at_ <= 64) return;
            constexpr int kTries = 2;  // the head may have changed since it was read ahead
            if (++tries <= kTries) {
                window_.forget();
                if (has_top && current_top() == at_) return;  // free() has joined the chunks before the top with it
                head = head_at(at_);
                continue;
            }
            tries = 0;
            resume(head);
            if (sum_.late) return;
            if (at_ < end_) head = head_at(at_);
        }
    }

    void read_ahead(const ChunkHead& head, std::uint64_t next_at) {
        constexpr std::uint64_t kWeight = 8;
        mean_size_ += std::min<std::uint64_t>(head.size(), kMuch) / kWeight - mean_size_ / kWeight;
        // A small chunk stays in the buffer, because its content is visited.
        if (!window_.contains(next_at, sizeof(ChunkHead)) && head.size() <= WalkedChunk::kMostContent) {
            const std::size_t bytes = head.size() + sizeof(ChunkHead);
            (void)window_.at(at_, bytes, end_ + sizeof(ChunkHead), std::max(ahead(at_), bytes));
        }
    }

    // False at the limit.
    bool visit(const ChunkHead& head, const ChunkHead& next) {
        while (cached_at_ < cached_.size() && cached_[cached_at_] < at_) ++cached_at_;
        const bool cached = next.before_in_use() && cached_at_ < cached_.size() && cached_[cached_at_] == at_;
        WalkedChunk chunk{.start = at_, .bytes = head.size(), .live = next.before_in_use() && !cached};
        if (chunk.live) {
            ++sum_.live;
            sum_.live_bytes += chunk.bytes;
        } else {
            ++sum_.free;
            sum_.free_bytes += chunk.bytes;
            sum_.cached += cached ? 1 : 0;
        }
        const std::size_t content = chunk.bytes - 8;
        if (chunk.bytes <= WalkedChunk::kMostContent && window_.contains(at_ + 16, content))
            chunk.content = {window_.at(at_ + 16, content, end_, 0), content};
        visit_(chunk);
        if (sum_.live + sum_.free < limits_.most_chunks) return true;
        sum_.cut_off = true;
        at_ += chunk.bytes;
        return false;
    }

    std::uint64_t current_top() {
        std::uint64_t top = 0;
        MemorySource::Piece piece{arena_->bins - 16, std::as_writable_bytes(std::span(&top, 1))};
        source_.read({&piece, 1});
        return piece.done ? top : 0;
    }

    // Moves to the next place where chunks make sense.
    void resume(const ChunkHead& broken) {
        constexpr std::uint64_t kFencepost = 16 | kChunkBeforeInUse;
        const std::uint64_t from = at_;
        const bool leads_to_absent = can_be_chunk(broken, at_) && !window_.pages().contains(at_ + broken.size());
        if (!window_.pages().contains(at_) || leads_to_absent)
            ++sum_.absent;
        else if ((broken.size_and_flags & ~kChunkOfOtherArena) != kFencepost)  // else the program itself has used brk()
            ++sum_.torn;
        mean_size_ = 0;
        const auto runs = window_.pages().runs();
        auto run = std::upper_bound(runs.begin(), runs.end(), at_,
                                    [](std::uint64_t value, const HeapRange& r) { return value < r.end; });
        at_ += 16;
        std::uint64_t steps = 0;
        for (; run != runs.end() && run->start < end_; ++run)
            for (at_ = std::max(at_, run->start); at_ < std::min(run->end, end_); at_ += 16) {
                if (++steps % kStepsPerClockRead == 0 && is_done()) return;
                if (!starts_chain()) continue;
                sum_.lost_bytes += at_ - from;
                return;
            }
        at_ = end_;
        sum_.lost_bytes += at_ - from;
    }

    bool starts_chain() {
        constexpr int kChain = 8;
        constexpr std::uint64_t kMostFills = 20000;  // forged chunks could lead far away from each place
        ChunkHead head = head_at(at_);
        std::uint64_t at = at_;
        for (int i = 0; i < kChain; ++i) {
            if (!can_be_chunk(head, at)) return false;
            const std::uint64_t next_at = at + head.size();
            if (next_at >= end_) return next_at == end_;
            if (!window_.contains(next_at, sizeof(ChunkHead)) && ++far_ > kMostFills) return false;
            const ChunkHead next = head_far(next_at);
            if (!fits(head, next)) return false;
            head = next;
            at = next_at;
        }
        return true;
    }
    // Without losing what was read ahead.
    ChunkHead head_far(std::uint64_t at) {
        if (window_.contains(at, sizeof(ChunkHead))) return head_at(at);
        ChunkHead head;
        MemorySource::Piece piece{at, std::as_writable_bytes(std::span(&head, 1))};
        source_.read({&piece, 1});
        return piece.done ? head : ChunkHead{};
    }

    const GlibcMalloc& glibc_;
    MemorySource& source_;
    HeapWindow window_;
    const GlibcWalkLimits& limits_;
    const std::function<void(const WalkedChunk&)>& visit_;
    std::vector<std::uint64_t> cached_;  // chunks in fastbins and in caches of threads; sorted
    std::size_t cached_at_ = 0;
    GlibcWalk sum_{};

    const GlibcArena* arena_ = nullptr;
    std::uint64_t end_ = 0;  // of the chunks of this heap
    std::uint64_t at_ = 0;
    std::uint64_t mean_size_ = 0;  // of the last chunks
    std::uint64_t far_ = 0;
};

}  // namespace

GlibcWalk walk_glibc(const GlibcMalloc& glibc, const TcacheChunks& tcaches, MemorySource& source,
                     const PresentPages& pages, const GlibcWalkLimits& limits,
                     const std::function<void(const WalkedChunk&)>& visit) {
    return GlibcWalker(glibc, tcaches, source, pages, limits, visit).walk();
}

HeapBlocks find_heap_blocks(const GlibcMalloc& glibc, const TcacheChunks& tcaches, MemorySource& source,
                            const PresentPages& pages, const GlibcWalkLimits& limits, std::size_t most_blocks) {
    constexpr std::uint64_t kFreeHead = 48;  // sizes and links of a free chunk
    HeapBlocks blocks;
    blocks.walk = walk_glibc(glibc, tcaches, source, pages, limits, [&](const WalkedChunk& chunk) {
        if (!chunk.live) {
            const std::uint64_t end = chunk.start + chunk.bytes;
            const HeapRange whole_pages{rounded_up(chunk.start + kFreeHead, page_bytes()),
                                        rounded_down(end, page_bytes())};
            blocks.free_present += pages.bytes_in({chunk.start, end});
            if (whole_pages.start < whole_pages.end) blocks.free_pages += pages.bytes_in(whole_pages);
        } else if (blocks.all.size() >= most_blocks) {
            ++blocks.left_out;
        } else {
            const std::uint64_t units = std::min<std::uint64_t>(chunk.bytes / 16, ~std::uint32_t{0});
            blocks.all.push_back({.start = chunk.start, .units = static_cast<std::uint32_t>(units)});
        }
    });
    return blocks;
}

}  // namespace memscope
