#pragma once
#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "sources/heap/glibc_free_lists.h"

namespace memscope {

// Walks through the heaps chunk by chunk. The head of a chunk has its size, and the head of the next chunk has a flag
// that says whether the chunk is free. A walk begins at the first chunk of a heap or at a chunk that is in a free list.
// It cannot begin anywhere else, because stale heads lie inside other chunks.
class HeapWalk {
  public:
    HeapWalk(const GlibcMalloc& glibc, const TcacheChunks& tcaches, FreeLists& lists, PresentMemory& memory)
        : glibc_(glibc),
          cached_(tcaches.chunks),
          lists_(lists),
          marks_(lists.marks()),
          memory_(memory),
          heads_(memory) {
        for (std::size_t i = 0; i < glibc.arenas.size(); ++i)
            for (const HeapRange& heap : glibc.arenas[i].heaps) {
                const GlibcArena& arena = glibc.arenas[i];
                HeapRange chunks{first_chunk(arena, heap), heap.end};
                if (arena.top_size != 0 && heap.contains(arena.tail.top)) chunks.end = arena.tail.top;
                if (chunks.size() == 0) continue;
                heaps_.push_back({i, chunks});
                total_ += chunks.size();
            }
    }

    // Nothing if the deadline passed.
    std::optional<GlibcFree> walk_all(const GlibcFree& lists, const ReadDeadline& deadline) {
        deadline_ = deadline;
        Sum sum;
        for (const Heap& heap : heaps_)
            for (std::uint64_t at = heap.chunks.start; at < heap.chunks.end && !deadline_.has_passed();) {
                at = walk(heap, at, heap.chunks, sum);
                if (at >= heap.chunks.end) break;
                const std::uint64_t next = std::min(mark_from(heap, at + 1), heap.chunks.end);
                sum.lost += next - at;
                at = next;
            }
        if (deadline_.has_passed()) return std::nullopt;
        return result(lists, sum, FreeMethod::walk);
    }

    // Walks windows at random places until the deadline.
    GlibcFree sample(const GlibcFree& lists, const ReadDeadline& deadline) {
        constexpr std::uint64_t kWindow = std::uint64_t{256} << 10;
        constexpr std::uint64_t kMostWindows = 2000;
        const std::uint64_t windows = std::clamp<std::uint64_t>(4 * total_ / kWindow, 16, kMostWindows);
        deadline_ = deadline;
        Sum sum;
        Spread share;
        std::uint64_t number = 0x9E3779B97F4A7C15;
        for (std::size_t tries = 0; tries < 2 * windows && share.count < static_cast<double>(windows) && total_ > 0;
             ++tries) {
            if (deadline_.has_passed()) break;
            number ^= number << 13, number ^= number >> 7, number ^= number << 17;
            std::uint64_t place = number % total_;
            std::size_t i = 0;
            for (; place >= heaps_[i].chunks.size(); ++i) place -= heaps_[i].chunks.size();
            const Heap& heap = heaps_[i];
            const HeapRange window{heap.chunks.start + place,
                                   std::min(heap.chunks.start + place + kWindow, heap.chunks.end)};
            Sum one;
            walk(heap, start_before(heap, window.start), window, one);
            if (one.walked == 0) continue;
            share.add(static_cast<double>(one.present) / static_cast<double>(one.walked));
            sum.add(one);
        }
        if (share.count < 2) {
            GlibcFree none = lists;
            none.late = true;
            return none;
        }
        GlibcFree free = result(lists, sum, FreeMethod::sample);
        free.error = share.error();
        return free;
    }

  private:
    static constexpr std::uint64_t kNear = std::uint64_t{64} << 10;

    struct Heap {
        std::size_t arena = 0;
        HeapRange chunks{};
    };
    struct Spread {
        double count = 0, sum = 0, squares = 0;
        void add(double value) {
            ++count;
            sum += value;
            squares += value * value;
        }
        double error() const {  // half of the 95 % confidence interval of the mean
            const double mean = sum / count;
            return 1.96 * std::sqrt(std::max(0.0, squares / count - mean * mean) / (count - 1));
        }
    };
    struct Sum {
        std::uint64_t walked = 0, chunks = 0, free = 0, present = 0, trimmable = 0, lost = 0, torn = 0, absent = 0;
        void add(const Sum& other) {
            walked += other.walked, chunks += other.chunks, free += other.free, present += other.present;
            trimmable += other.trimmable, lost += other.lost, torn += other.torn, absent += other.absent;
        }
    };
    struct Head {
        std::uint64_t size_before = 0, size_and_flags = 0, first_word = 0;
        std::uint64_t size() const { return size_and_flags & kChunkSize; }
    };
    // Reads far ahead where chunks are small, and little where they are large.
    class Heads {
      public:
        explicit Heads(PresentMemory& memory) : memory_(memory), bytes_(kMuch + sizeof(Head)) {}
        std::optional<Head> at(std::uint64_t address) {
            if (address < start_ || address - start_ + sizeof(Head) > size_) {
                const std::size_t want = used_ >= 16 || size_ == 0 ? kMuch : kLittle;
                used_ = 0;
                start_ = address;
                size_ = memory_.read_some(address, std::span(bytes_).first(want + sizeof(Head) - address % kLittle));
                if (size_ < kWithoutFirstWord) {
                    size_ = 0;
                    return std::nullopt;
                }
            }
            ++used_;
            Head head;
            // The first word of the block may be in the next page, which is resident only if the chunk is used.
            std::memcpy(&head, bytes_.data() + (address - start_),
                        std::min<std::size_t>(sizeof head, size_ - (address - start_)));
            return head;
        }
        void forget() { size_ = 0; }

      private:
        static constexpr std::size_t kMuch = 128 << 10, kLittle = 4096, kWithoutFirstWord = 16;
        PresentMemory& memory_;
        std::vector<std::byte> bytes_;
        std::uint64_t start_ = 0;
        std::size_t size_ = 0;
        std::size_t used_ = 0;
    };

    std::uint64_t first_chunk(const GlibcArena& arena, const HeapRange& heap) const {
        const std::uint64_t head_end = heap.start + glibc_.heap_head;
        if (arena.main)
            return rounded_up(std::max(heap.start, glibc_.parameters ? glibc_.parameters->sbrk_base : 0), 16);
        // The first heap of an arena holds its malloc_state.
        constexpr std::uint64_t kBinsToEnd = sizeof(GlibcArenaTail) - 16;
        return rounded_up(head_end == arena.address ? arena.bins + kBinsToEnd : head_end, 16);
    }

    std::uint64_t mark_from(const Heap& heap, std::uint64_t address) const {
        const auto& marks = marks_[heap.arena];
        const auto mark = std::ranges::lower_bound(marks, address);
        return mark == marks.end() ? ~std::uint64_t{0} : *mark;
    }
    std::uint64_t mark_before(const Heap& heap, std::uint64_t address) const {
        const auto& marks = marks_[heap.arena];
        const auto behind = std::ranges::upper_bound(marks, address);
        return behind == marks.begin() ? heap.chunks.start : std::max(heap.chunks.start, *std::prev(behind));
    }

    // The start of a walk to the address, as near as possible. The marks may all be far away, so a linked free chunk is
    // searched between the mark and the address.
    std::uint64_t start_before(const Heap& heap, std::uint64_t address) {
        const std::uint64_t mark = mark_before(heap, address);
        for (const std::uint64_t distance : {kNear, 16 * kNear, 128 * kNear}) {
            if (address - mark <= distance || deadline_.has_passed()) break;
            if (const auto chunk = find_linked_chunk(heap, {address - distance, address})) return *chunk;
        }
        return mark;
    }

    // The first free chunk of the range whose neighbours in its list point back to it. Then a chunk begins there.
    std::optional<std::uint64_t> find_linked_chunk(const Heap& heap, HeapRange range) {
        const GlibcArena& arena = glibc_.arenas[heap.arena];
        std::vector<std::byte> bytes(kNear + sizeof(BinChunk));
        for (std::uint64_t at = rounded_up(range.start, 16); at < range.end;) {
            const std::size_t got = memory_.read_some(at, bytes);
            if (got < sizeof(BinChunk)) {
                at = rounded_down(at, page_bytes()) + page_bytes();
                continue;
            }
            for (std::size_t offset = 0; offset + sizeof(BinChunk) <= got; offset += 16) {
                BinChunk chunk{};
                std::memcpy(&chunk, bytes.data() + offset, sizeof chunk);
                if (is_linked(arena, at + offset, chunk)) return at + offset;
            }
            at += rounded_down(got - 16, 16);
        }
        return std::nullopt;
    }
    bool is_linked(const GlibcArena& arena, std::uint64_t at, const BinChunk& chunk) {
        constexpr std::uint64_t kFlags = 7;
        if ((chunk.size_and_flags & kFlags) != kChunkBeforeInUse || !arena.can_contain(at, chunk.size())) return false;
        const HeapRange bins{arena.bins - 16, arena.bins - 16 + 16 * kGlibcBins};
        const auto can_be_linked = [&](std::uint64_t link) {
            return link % 16 == 0 && (arena.can_contain(link, kLeastChunk) || bins.contains(link));
        };
        return can_be_linked(chunk.next) && can_be_linked(chunk.previous) &&
               memory_.get<std::uint64_t>(at + chunk.size()) == chunk.size() &&
               memory_.get<std::uint64_t>(chunk.next + 24) == at &&
               memory_.get<std::uint64_t>(chunk.previous + 16) == at;
    }

    // A chunk in a fastbin has the flags of a used chunk. If links are hidden, the chunk is recognized by its link,
    // because the first word of a used block decodes to an address outside the heap or to no multiple of 16. Chunks of
    // a tcache have such links, too, so they are excluded.
    bool finds_fast_chunks() const { return glibc_.hides_links() && glibc_.has_fastbins(); }
    bool is_in_fastbin(std::uint64_t chunk, const Head& head, const GlibcArena& arena) {
        const std::uint64_t next = head.first_word ^ ((chunk + 16) >> 12);
        if (next != 0 && !arena.can_contain(next, kLeastChunk)) return false;
        if (next != 0 && head.first_word % 16 == 0) {  // the word could also be a plain pointer
            const auto other = memory_.get<std::uint64_t>(next + 8);
            if (!other || (*other & kChunkSize) != head.size()) return false;
        }
        return !std::ranges::binary_search(cached_, chunk);
    }

    // Counts the chunks in `counted`. Returns where the walk ended: at the end of `counted`, or at an invalid chunk.
    std::uint64_t walk(const Heap& heap, std::uint64_t from, const HeapRange& counted, Sum& sum) {
        constexpr std::uint64_t kLargestFast = 128;
        constexpr std::uint64_t kStepsPerClockRead = 4096;
        constexpr int kTries = 3;  // the head may have changed since it was read ahead
        const GlibcArena& arena = glibc_.arenas[heap.arena];
        FreeChunk joined{};  // free chunks side by side
        const auto count_pages = [&] {
            const HeapRange pages = pages_in(joined);
            sum.trimmable +=
                memory_.pages().bytes_in({std::max(pages.start, counted.start), std::min(pages.end, counted.end)});
        };
        int tries = 0;
        heads_.forget();
        std::uint64_t at = from;
        for (std::uint64_t steps = 1; at < counted.end; ++steps) {
            if (steps % kStepsPerClockRead == 0 && deadline_.has_passed()) break;
            const auto head = heads_.at(at);
            // The last two chunks of a full heap are fenceposts without room for a block.
            if (head && head->size() <= 16 && at + 64 >= heap.chunks.end) {
                at = counted.end;
                break;
            }
            const std::uint64_t size = head ? head->size() : 0;
            const auto next = following(heap, at, size);
            const bool in_bin = next && (next->size_and_flags & kChunkBeforeInUse) == 0;
            if (!head || !next || !arena.can_contain(at, size) || !has_right_flags(arena, *head, in_bin) ||
                (in_bin && next->size_before != size)) {
                heads_.forget();
                if (++tries < kTries) continue;
                const bool impossible = head && (next || size < kLeastChunk || size > heap.chunks.end - at);
                ++(impossible ? sum.torn : sum.absent);
                break;
            }
            tries = 0;
            const bool fast = !in_bin && finds_fast_chunks() && size <= kLargestFast && is_in_fastbin(at, *head, arena);
            const HeapRange part{std::max(at, counted.start), std::min(at + size, counted.end)};
            if (part.size() > 0) {
                ++sum.chunks;
                sum.walked += part.size();
            }
            if (in_bin || fast) {
                sum.free += part.size();
                sum.present += memory_.pages().bytes_in(part);
                if (joined.end() != at) {
                    count_pages();
                    joined = {at, 0};
                }
                joined.size += size;
            }
            at += size;
        }
        count_pages();
        return std::min(at, counted.end);
    }

    static bool has_right_flags(const GlibcArena& arena, const Head& head, bool in_bin) {
        const std::uint64_t flags = head.size_and_flags & (kChunkOfOtherArena | kChunkIsMapped);
        return flags == (in_bin || arena.main ? 0 : kChunkOfOtherArena);  // free() clears the flag
    }

    std::optional<Head> following(const Heap& heap, std::uint64_t at, std::uint64_t size) {
        const GlibcArena& arena = glibc_.arenas[heap.arena];
        if (size < kLeastChunk || size > heap.chunks.end - at) return std::nullopt;
        // The chunk before the top is always used, else it would be a part of the top. The top may move, so it is not
        // read.
        if (at + size == arena.tail.top)
            return Head{.size_before = size, .size_and_flags = arena.top_size | kChunkBeforeInUse};
        return heads_.at(at + size);
    }

    GlibcFree result(const GlibcFree& lists, const Sum& sum, FreeMethod method) const {
        GlibcFree free = lists;
        if (sum.walked == 0) return free;
        const bool all = method == FreeMethod::walk && sum.lost == 0;
        const double scale = all ? 1 : static_cast<double>(total_) / static_cast<double>(sum.walked);
        const auto scaled = [&](std::uint64_t value) {
            return static_cast<std::uint64_t>(static_cast<double>(value) * scale);
        };
        // Without hidden links a walk counts chunks of fastbins as used. The chunks that the lists have found are added
        // here.
        const std::uint64_t by_list = finds_fast_chunks() ? 0 : lists_.fast_bytes();
        free.method = method;
        free.chunks = scaled(sum.chunks);
        free.bytes = scaled(sum.free) + by_list;
        free.present = scaled(sum.present) + by_list;
        free.trimmable = scaled(sum.trimmable) + lists_.top_trimmable();
        free.torn = sum.torn;
        free.absent = sum.absent;
        free.cut_off = 0;
        const bool lacks_fast_chunks = glibc_.has_fastbins() && !finds_fast_chunks() && !lists_.fast_is_complete();
        free.late = method == FreeMethod::sample || lacks_fast_chunks;
        return free;
    }

    const GlibcMalloc& glibc_;
    const std::vector<std::uint64_t>& cached_;
    FreeLists& lists_;
    const std::vector<std::vector<std::uint64_t>> marks_;
    PresentMemory& memory_;
    Heads heads_;
    ReadDeadline deadline_{Seconds{0}};
    std::vector<Heap> heaps_{};
    std::uint64_t total_ = 0;
};

}  // namespace memscope
