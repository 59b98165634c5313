#pragma once
#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <sys/types.h>
#include <type_traits>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "base/units.h"
#include "sources/heap/heap_range.h"
#include "sources/proc/process_maps.h"

namespace memscope {

// A limit of the CPU time that this thread uses. Waiting does not count, because a busy machine must not make a reading
// incomplete; a reading that hangs ends after `wall`.
class ReadDeadline {
  public:
    static constexpr Seconds kWall{30};

    explicit ReadDeadline(Seconds from_now, Seconds wall = kWall)
        : cpu_end_(cpu_seconds() + from_now),
          soonest_(Clock::now() + std::chrono::duration_cast<Clock::duration>(std::min(from_now, wall))),
          end_(Clock::now() + std::chrono::duration_cast<Clock::duration>(wall)) {}
    bool has_passed() const {
        const auto now = Clock::now();  // CPU time is no more than time, and costs a system call
        return now >= soonest_ && (now >= end_ || cpu_seconds() >= cpu_end_);
    }
    Seconds left() const { return std::max(Seconds{0}, std::min(cpu_end_ - cpu_seconds(), wall_left())); }
    Seconds wall_left() const { return Seconds(end_ - Clock::now()); }
    ReadDeadline sooner(Seconds from_now) const {
        const ReadDeadline other(from_now, wall_left());
        return other.cpu_end_ < cpu_end_ ? other : *this;
    }
    static Seconds cpu_seconds();  // of this thread

  private:
    using Clock = std::chrono::steady_clock;
    Seconds cpu_end_;
    Clock::time_point soonest_;  // before this time it cannot have passed
    Clock::time_point end_;
};

// Pauses between reads. A reader of another process holds its mmap_lock, and the kernel lets further readers pass a
// waiting writer for milliseconds. A reader without pauses would keep the process from mapping and unmapping memory:
// during a census the rate of these calls fell to 0.3 to 4 % without pauses, and to 40 to 80 % with these pauses.
class Pace {
  public:
    template <class Work>
    auto operator()(Work work) {
        const auto began = std::chrono::steady_clock::now();
        const auto result = work();
        worked_ += std::chrono::steady_clock::now() - began;
        if (worked_ >= kWork) pause();
        return result;
    }

  private:
    static constexpr std::chrono::microseconds kWork{200};
    static constexpr std::chrono::microseconds kPause{100};
    void pause();
    std::chrono::steady_clock::duration worked_{};
};

// The anonymous pages of a process that were present at one time. Pages of zeros that the kernel shares between all
// processes are left out, because they are no memory of the process.
class PresentPages {
  public:
    PresentPages() = default;
    explicit PresentPages(std::vector<HeapRange> runs);  // sorted and disjoint

    std::uint64_t bytes_in(HeapRange range) const {
        return range.size() == 0 ? 0 : bytes_below(range.end) - bytes_below(range.start);
    }
    bool contains(std::uint64_t address) const { return range_at(runs_, address) != nullptr; }
    std::uint64_t end_of_run(std::uint64_t address) const;  // 0: not present
    std::uint64_t total() const { return bytes_below(~std::uint64_t{0}); }
    std::span<const HeapRange> runs() const { return runs_; }

  private:
    std::uint64_t bytes_below(std::uint64_t address) const;

    std::vector<HeapRange> runs_{};
    std::vector<std::uint64_t> before_{};  // bytes of all runs before each run
};

struct PresentPagesReading {
    PresentPages pages{};
    bool cut_off = false;  // there are more runs than the limit
    bool late = false;     // the deadline passed before the end
};
enum class PageScan { if_available, never };  // PAGEMAP_SCAN: Linux 6.7 and later
// `process` is its directory in /proc.
Result<PresentPagesReading> read_present_pages(const Fd& process, const ProcessMaps& maps, std::size_t most_runs,
                                               Pace& pace, const ReadDeadline& deadline,
                                               PageScan scan = PageScan::if_available);

// Returns those of the pages that another process maps, too: pages from a fork that neither process has written to
// since. Empty if they cannot be read. Stops at `most_runs` and at the deadline.
PresentPages read_shared_pages(const Fd& process, const PresentPages& pages, std::size_t most_runs, Pace& pace,
                               const ReadDeadline& deadline);

// A source of the bytes of a process. Tests implement it with made-up memory.
class MemorySource {
  public:
    struct Piece {
        std::uint64_t address = 0;
        std::span<std::byte> into{};
        bool done = false;
    };
    virtual ~MemorySource() = default;
    // Reads each piece whose pages are all present now, and sets `done`. Never causes a page fault in the process,
    // except in the microseconds between the check and the read.
    virtual void read(std::span<Piece> pieces) = 0;
};

// Checks in pagemap that the pages are present, and reads them with process_vm_readv(), which is fast but pins pages.
// If a fork shares a page, the kernel (5.19 and later) copies the page before it pins it, which takes memory and ends
// the sharing. Therefore pages that another process maps, too, are read from /proc/PID/mem, which does not pin.
class ProcessSource : public MemorySource {
  public:
    static Result<ProcessSource> open(const Fd& process, pid_t pid, Pace& pace);
    void read(std::span<Piece> pieces) override;
    std::uint64_t bytes() const { return bytes_; }

  private:
    enum class Pages { absent, own, shared };  // shared: at least one of the pages is

    ProcessSource(Fd pagemap, Fd memory, pid_t pid, Pace& pace);
    void read_batch(std::span<Piece> pieces);
    std::uint64_t last_page(std::uint64_t address, std::uint64_t bytes) const {
        return (address + std::max<std::uint64_t>(bytes, 1) - 1) / page_;
    }
    Pages find_pages(std::uint64_t address, std::uint64_t bytes, std::uint64_t ahead);
    std::uint64_t end_of_neighbours(std::span<const Piece> pieces) const;

    Fd pagemap_;
    Fd memory_;
    pid_t pid_;
    Pace* pace_;
    std::uint64_t page_;
    std::vector<std::uint64_t> entries_{};  // of pagemap, from page number `first_entry_` on
    std::uint64_t first_entry_ = 0;
    std::uint64_t bytes_ = 0;
};

// Memory of a process through a cache of 4 KiB blocks, for many small reads. The bytes can be inconsistent or stale,
// because the process changes them during the reads. The process can also forge them.
class PresentMemory {
  public:
    PresentMemory(MemorySource& source, const PresentPages& pages);

    bool read(std::uint64_t address, std::span<std::byte> into);
    template <class T>
    std::optional<T> get(std::uint64_t address) {
        static_assert(std::is_trivially_copyable_v<T>);
        T value{};
        if (!read(address, std::as_writable_bytes(std::span(&value, 1)))) return std::nullopt;
        return value;
    }
    // Reads the blocks of these addresses into the cache with as few system calls as possible.
    void prefetch(std::span<const std::uint64_t> addresses);
    // Reads one value from each address, without the cache. A value that cannot be read is absent.
    template <class T>
    std::vector<std::optional<T>> gather(std::span<const std::uint64_t> addresses) {
        static_assert(std::is_trivially_copyable_v<T>);
        std::vector<std::optional<T>> all(addresses.size());
        std::vector<T> values(std::min(addresses.size(), kMostPieces));
        std::vector<MemorySource::Piece> pieces;
        for (std::size_t from = 0; from < addresses.size(); from += kMostPieces) {
            const std::size_t count = std::min(kMostPieces, addresses.size() - from);
            pieces.clear();
            for (std::size_t i = 0; i < count; ++i)
                pieces.push_back({addresses[from + i], std::as_writable_bytes(std::span(&values[i], 1))});
            source_->read(pieces);
            for (std::size_t i = 0; i < count; ++i)
                if (pieces[i].done) all[from + i] = values[i];
        }
        return all;
    }
    // Reads all bytes in one system call, without the cache: for a structure that changes.
    bool read_at_once(std::uint64_t address, std::span<std::byte> into);
    // Reads as many bytes as are present from the address on, without the cache.
    std::size_t read_some(std::uint64_t address, std::span<std::byte> into);

    void forget();  // empties the cache
    const PresentPages& pages() const { return *pages_; }

  private:
    static constexpr std::size_t kBlock = 4096;
    static constexpr std::size_t kBlocks = 1024;
    static constexpr std::size_t kMostPieces = 512;
    static constexpr std::uint64_t kNone = ~std::uint64_t{0};
    struct Block {
        std::uint64_t address = kNone;
        std::uint64_t round = 0;
        std::array<std::byte, kBlock> bytes;
    };
    Block& slot_of(std::uint64_t address) { return blocks_[address / kBlock % kBlocks]; }

    MemorySource* source_;
    const PresentPages* pages_;
    std::vector<Block> blocks_;
    std::uint64_t round_ = 0;
};

// The writable data of a library or an executable: .data and .bss. Pages without own content are zeros.
struct LibraryData {
    std::uint64_t base = 0;
    std::vector<std::uint64_t> words{};

    std::uint64_t address(std::size_t index) const { return base + index * 8; }
    std::uint64_t at(std::size_t index) const { return index < words.size() ? words[index] : 0; }
    HeapRange range() const { return {base, base + words.size() * 8}; }
};
std::vector<LibraryData> read_library_data(PresentMemory& memory, const ProcessMaps& maps, const std::string& path);

// True for a private mapping that no file backs, except those that the kernel made.
bool is_anonymous(const MappedRange& range);

}  // namespace memscope
