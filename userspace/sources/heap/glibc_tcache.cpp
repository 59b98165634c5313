#include "sources/heap/glibc_tcache.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

namespace memscope {
namespace {

struct TcacheShape {
    std::uint64_t chunk;  // size of the chunk that holds the struct
    std::uint64_t bins;
    std::uint64_t entries;  // offset of the heads of the lists
};
constexpr TcacheShape kShapes[] = {{0x250, 64, 64}, {0x290, 64, 128}, {0x300, 76, 152}};
constexpr std::uint64_t kBinsOfOneSize = 64;  // the other bins, from 2.42 on, hold chunks of different sizes

bool has_size_of(std::uint64_t bin, std::uint64_t size_and_flags) {
    return bin >= kBinsOfOneSize || (size_and_flags & kChunkSize) == (bin + 2) * 16;
}

// A place in the list of a bin. `entry` is the address of the link in a chunk, 16 bytes behind its start.
struct Cursor {
    std::uint64_t bin = 0;
    std::uint64_t entry = 0;
};
struct SizeAndLink {  // from entry - 8 on
    std::uint64_t size, link;
};

class TcacheFinder {
  public:
    TcacheFinder(const GlibcMalloc& glibc, std::span<const GlibcThread> threads, PresentMemory& memory,
                 const ReadDeadline& deadline)
        : glibc_(glibc), threads_(threads), memory_(memory), deadline_(deadline) {}

    TcacheChunks find() {
        constexpr std::size_t kCachesAtOnce = 64;  // bounds the memory for cursors
        if (const auto distance = vote()) {
            const std::vector<std::uint64_t> tcaches = tcaches_at(*distance);
            for (std::size_t from = 0; from < tcaches.size(); from += kCachesAtOnce)
                follow(std::span(tcaches).subspan(from, std::min(kCachesAtOnce, tcaches.size() - from)));
        }
        for (const auto& [chunk, size] : sizes_) {
            found_.chunks.push_back(chunk);
            found_.bytes += size;
        }
        found_.late = deadline_.has_passed();
        return std::move(found_);
    }

  private:
    enum class State { no_tcache, empty, torn, used };

    std::optional<TcacheShape> shape_at(std::uint64_t address) const {
        if (address % 16 != 0 || !glibc_.is_in_a_heap(address)) return std::nullopt;
        const auto size = memory_.get<std::uint64_t>(address - 8);
        if (!size || (*size & kChunkIsMapped) != 0) return std::nullopt;
        for (const TcacheShape& shape : kShapes)
            if (shape.chunk == (*size & kChunkSize)) return shape;
        return std::nullopt;
    }

    // The lists that have chunks, in the order of the addresses of their first chunks. Nothing if the heads could not
    // be read.
    std::optional<std::vector<Cursor>> lists_of(std::uint64_t address, const TcacheShape& shape) const {
        std::vector<std::uint64_t> heads(shape.bins);
        if (!memory_.read(address + shape.entries, std::as_writable_bytes(std::span(heads)))) return std::nullopt;
        std::vector<Cursor> lists;
        for (std::uint64_t bin = 0; bin < shape.bins; ++bin)
            if (heads[bin] != 0) lists.push_back({bin, heads[bin]});
        std::ranges::sort(lists, {}, &Cursor::entry);
        return lists;
    }

    State state_at(std::uint64_t address) {
        const auto shape = shape_at(address);
        if (!shape) return State::no_tcache;
        const auto known = states_.find(address);
        if (known != states_.end()) return known->second;
        const State state = check(address, *shape);
        states_.emplace(address, state);
        return state;
    }
    State check(std::uint64_t address, const TcacheShape& shape) const {
        const auto lists = lists_of(address, shape);
        if (!lists) return State::torn;
        if (lists->empty()) return State::empty;
        std::vector<std::uint64_t> places;
        for (const Cursor& list : *lists) {
            if (list.entry % 16 != 0) return State::torn;
            places.push_back(list.entry - 8);
        }
        const auto sizes = memory_.gather<std::uint64_t>(places);
        for (std::size_t i = 0; i < sizes.size(); ++i)
            if (!sizes[i] || !has_size_of((*lists)[i].bin, *sizes[i])) return State::torn;
        return State::used;
    }

    struct Votes {
        std::int64_t distance = 0;
        std::size_t votes = 0;
        std::size_t asked = 0;  // threads
    };
    // The distance is usually small, because only the TLS of the program and of libraries that were loaded before libc
    // lies in between. The TLS of the program can be large. Then the only vote for a small distance may come from a
    // stale word on the stack of one thread.
    std::optional<std::int64_t> vote() {
        constexpr std::uint64_t kNear = 16384, kFar = std::uint64_t{1} << 20;
        constexpr std::size_t kNearThreads = 8, kFarThreads = 2;
        Votes best = vote_within(kNear, kNearThreads);
        if (best.votes * 2 <= best.asked)
            if (const Votes far = vote_within(kFar, kFarThreads); far.votes > best.votes) best = far;
        return best.votes > 0 ? std::optional(best.distance) : std::nullopt;
    }
    // All words of the first threads are tried. Other threads only confirm a distance.
    Votes vote_within(std::uint64_t reach, std::size_t thorough) {
        constexpr std::size_t kVoters = 64;
        std::map<std::int64_t, std::size_t> votes;
        Votes best;
        for (const GlibcThread& thread : threads_) {
            if (thread.tid <= 0) continue;
            if (best.asked == kVoters || deadline_.has_passed()) break;
            if (++best.asked <= thorough) {
                try_all(thread.node, reach, votes);
            } else {
                for (auto& [distance, count] : votes) {
                    const auto word = word_at(thread, distance);
                    count += word && state_at(*word) == State::used ? 1 : 0;
                }
            }
        }
        for (const auto& [distance, count] : votes)
            if (count > best.votes) {
                best.distance = distance;
                best.votes = count;
            }
        return best;
    }
    void try_all(std::uint64_t node, std::uint64_t reach, std::map<std::int64_t, std::size_t>& votes) {
        const std::uint64_t page = page_bytes(), end = node + reach;
        for (std::uint64_t at = node - reach; at < end && !deadline_.has_passed();) {
            const std::uint64_t next = rounded_down(at, page) + page;
            if (!memory_.pages().contains(at)) {  // a read of an absent page would cost a system call for nothing
                at = next;
                continue;
            }
            for (; at < std::min(next, end); at += 8)
                if (const auto word = memory_.get<std::uint64_t>(at); word && state_at(*word) == State::used)
                    ++votes[static_cast<std::int64_t>(at - node)];
        }
    }
    std::optional<std::uint64_t> word_at(const GlibcThread& thread, std::int64_t distance) const {
        return memory_.get<std::uint64_t>(thread.node + static_cast<std::uint64_t>(distance));
    }

    std::vector<std::uint64_t> tcaches_at(std::int64_t distance) {
        std::set<std::uint64_t> tcaches;
        for (const GlibcThread& thread : threads_) {
            if (deadline_.has_passed()) break;
            if (thread.tid <= 0) continue;
            const auto word = word_at(thread, distance);
            const State state = word ? state_at(*word) : State::no_tcache;
            found_.absent += word ? 0 : 1;
            found_.torn += state == State::torn ? 1 : 0;
            if (state == State::used) tcaches.insert(*word);
        }
        return {tcaches.begin(), tcaches.end()};
    }

    // Takes one step in all lists at a time, because many reads at once need fewer system calls.
    void follow(std::span<const std::uint64_t> tcaches) {
        constexpr std::uint64_t kLeastCount = 16;  // default 7; 16 from 2.43 on
        const std::uint64_t longest = std::max(glibc_.parameters ? glibc_.parameters->tcache_count : 0, kLeastCount);
        std::vector<Cursor> cursors, left;
        for (const std::uint64_t tcache : tcaches) {
            const auto shape = shape_at(tcache);
            const auto lists = shape ? lists_of(tcache, *shape) : std::nullopt;
            if (lists) cursors.insert(cursors.end(), lists->begin(), lists->end());
            found_.absent += lists ? 0 : 1;
            found_.caches += lists ? 1 : 0;
        }
        std::vector<std::uint64_t> addresses;
        for (std::uint64_t i = 0; i < longest && !cursors.empty(); ++i) {
            if (deadline_.has_passed()) return;
            std::ranges::sort(cursors, {}, &Cursor::entry);  // neighbours are read faster
            addresses.clear();
            for (const Cursor& cursor : cursors) addresses.push_back(cursor.entry - 8);
            const auto chunks = memory_.gather<SizeAndLink>(addresses);
            left.clear();
            for (std::size_t j = 0; j < cursors.size(); ++j)
                if (step(cursors[j], chunks[j])) left.push_back(cursors[j]);
            std::swap(cursors, left);
        }
        found_.cut_off += cursors.size();
    }

    // False at the end of the list.
    bool step(Cursor& cursor, const std::optional<SizeAndLink>& chunk) {
        constexpr std::size_t kMostChunks = std::size_t{1} << 19;
        constexpr std::uint64_t kLargest = std::uint64_t{8} << 20;
        if (!chunk) return ends(found_.absent);
        if (!has_size_of(cursor.bin, chunk->size)) return ends(found_.torn);
        if (sizes_.size() >= kMostChunks) return ends(found_.cut_off);
        const std::uint64_t start = cursor.entry - 16;
        // From 2.42 on, a block that malloc has mapped can be cached, too. It is not in a heap. A forged list can lead
        // to the same chunk twice.
        if (glibc_.is_in_a_heap(start) && !sizes_.emplace(start, std::min(chunk->size & kChunkSize, kLargest)).second)
            return ends(found_.torn);
        const std::uint64_t link = glibc_.hides_links() ? chunk->link ^ (cursor.entry >> 12) : chunk->link;
        if (link % 16 != 0) return ends(found_.torn);
        cursor.entry = link;
        return link != 0;
    }
    static bool ends(std::uint64_t& reason) {
        ++reason;
        return false;
    }

    const GlibcMalloc& glibc_;
    std::span<const GlibcThread> threads_;
    PresentMemory& memory_;
    const ReadDeadline& deadline_;
    TcacheChunks found_{};
    std::map<std::uint64_t, State> states_{};         // by address
    std::map<std::uint64_t, std::uint64_t> sizes_{};  // of chunks, by address
};

}  // namespace

TcacheChunks find_tcaches(const GlibcMalloc& glibc, std::span<const GlibcThread> threads, PresentMemory& memory,
                          const ReadDeadline& deadline) {
    return TcacheFinder(glibc, threads, memory, deadline).find();
}

}  // namespace memscope
