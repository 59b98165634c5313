#include "sources/heap/glibc_free.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

namespace memscope {
namespace {

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
std::uint64_t bin_of(std::uint64_t size) {
    if (size < 1024) return size >> 4;
    if (size >> 6 <= 48) return 48 + (size >> 6);
    if (size >> 9 <= 20) return 91 + (size >> 9);
    if (size >> 12 <= 10) return 110 + (size >> 12);
    if (size >> 15 <= 4) return 119 + (size >> 15);
    if (size >> 18 <= 2) return 124 + (size >> 18);
    return 126;
}

// The whole pages inside a free chunk. malloc_trim() returns them to the kernel.
HeapRange pages_in(const FreeChunk& chunk) {
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

constexpr double kWalkSecondsPerByte = 0.9 / (1 << 30);  // of the wall clock, with pauses
constexpr Seconds kLeastWalk{0.02};

Seconds walk_time(const GlibcMalloc& glibc, const PresentMemory& memory) {
    std::uint64_t present = 0;
    for (const HeapRange& heap : glibc.heaps) present += memory.pages().bytes_in(heap);
    return std::max(kLeastWalk, Seconds{static_cast<double>(present) * kWalkSecondsPerByte});
}

}  // namespace

GlibcFree find_glibc_free(const GlibcMalloc& glibc, const TcacheChunks& tcaches, PresentMemory& memory,
                          const FreeLimits& limits) {
    const Seconds walk = walk_time(glibc, memory), left = limits.deadline.left();
    const bool can_walk = !glibc.arenas.front().scattered;
    FreeLimits first = limits;
    if (can_walk) first.deadline = limits.deadline.sooner(std::min(left / 4, std::max(kLeastWalk, walk / 4)));
    FreeLists lists(glibc, memory, first, limits.deadline.sooner(left / 4));
    const GlibcFree free = lists.follow();
    const bool exact = free.torn == 0 && free.absent == 0 && free.cut_off == 0 && !free.late;
    if (exact || !can_walk) return free;
    if (const HeapBlocks* blocks = limits.walk ? limits.walk() : nullptr; blocks != nullptr) {
        GlibcFree walked = free;
        walked.method = FreeMethod::walk;
        walked.chunks = blocks->walk.free;
        walked.bytes = blocks->walk.free_bytes - std::min(blocks->walk.free_bytes, tcaches.bytes);
        walked.present = blocks->free_present - std::min(blocks->free_present, tcaches.bytes);
        walked.trimmable = blocks->free_pages + lists.top_trimmable();
        walked.torn = blocks->walk.torn + blocks->walk.fast_torn;
        walked.absent = blocks->walk.absent;
        walked.cut_off = 0;
        walked.late = false;
        return walked;
    }
    HeapWalk heaps(glibc, tcaches, lists, memory);
    if (walk < limits.deadline.left() * 0.6)
        if (const auto walked = heaps.walk_all(free, limits.deadline.sooner(limits.deadline.left() * 0.7)))
            return *walked;
    return heaps.sample(free, limits.deadline);
}

GlibcFree find_glibc_free_by(FreeMethod method, const GlibcMalloc& glibc, const TcacheChunks& tcaches,
                             PresentMemory& memory, const FreeLimits& limits) {
    FreeLists lists(glibc, memory, limits, limits.deadline);
    const GlibcFree free = lists.follow();
    if (method == FreeMethod::lists) return free;
    HeapWalk heaps(glibc, tcaches, lists, memory);
    if (method == FreeMethod::sample) return heaps.sample(free, limits.deadline);
    const auto walked = heaps.walk_all(free, limits.deadline);
    return walked ? *walked : free;
}

}  // namespace memscope
