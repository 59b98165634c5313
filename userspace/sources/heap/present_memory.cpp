#include "sources/heap/present_memory.h"

#include <bit>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/units.h"
#include "sources/heap/library_bss.h"

namespace memscope {
namespace {

constexpr std::uint64_t kUserEnd = std::uint64_t{1} << 57;   // end of the largest user address space
constexpr std::uint64_t kScanStep = std::uint64_t{4} << 20;  // the kernel holds the mmap_lock for one step
// The largest step in a mapping that had no pages so far, because terabytes may be mapped and never used. PAGEMAP_SCAN
// skips a step without page tables at once, and needs 6 to 20 ms for 1 GiB of pages.
constexpr std::uint64_t kSparseStep = std::uint64_t{1} << 30;
constexpr std::size_t kEntriesAtOnce = 1024;  // of pagemap: one step

// Bits of a pagemap entry.
constexpr std::uint64_t kPresent = std::uint64_t{1} << 63;
constexpr std::uint64_t kOfFile = std::uint64_t{1} << 61;
constexpr std::uint64_t kMappedOnce = std::uint64_t{1} << 56;
constexpr std::uint64_t kFrame = (std::uint64_t{1} << 55) - 1;

// Memory that is only reserved has no pages and can be terabytes. Huge pages of hugetlbfs are not in RssAnon.
bool may_have_anonymous_pages(const MappedRange& range) {
    return !range.shared && (range.readable || range.writable || range.executable) && range.end <= kUserEnd &&
           !range.path.starts_with("[v") && !range.path.starts_with("/anon_hugepage") &&
           !range.path.starts_with("/dev/nvidia") && !range.path.starts_with("/dev/dri");
}

// PAGEMAP_SCAN of linux/fs.h, which the build machine may not have.
struct ScanRegion {
    std::uint64_t start, end, categories;
};
struct ScanArgument {
    std::uint64_t size, flags, start, end, walk_end, regions, regions_length, most_pages, inverted, mask, any_of,
        returned;
};
constexpr std::uint64_t kScanFile = 1 << 2;
constexpr std::uint64_t kScanPresent = 1 << 3;
constexpr std::uint64_t kScanZero = 1 << 5;

// The page frame of the kernel's page of zeros, so that it can be left out. 0 without the privilege to see it.
std::uint64_t frame_of_zeros() {
    void* page = ::mmap(nullptr, page_bytes(), PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) return 0;
    [[maybe_unused]] const char touched = *static_cast<volatile char*>(page);
    std::uint64_t entry = 0;
    const Fd pagemap{::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC)};
    const auto place = std::bit_cast<std::uint64_t>(page) / page_bytes() * sizeof entry;
    if (!pagemap || ::pread(pagemap.get(), &entry, sizeof entry, static_cast<off_t>(place)) != sizeof entry) entry = 0;
    ::munmap(page, page_bytes());
    return entry & kFrame;
}

class PageReader {
  public:
    PageReader(const Fd& pagemap, std::size_t most_runs, Pace& pace, PageScan scan)
        : pagemap_(pagemap), most_runs_(most_runs), pace_(pace), scan_(scan == PageScan::if_available) {}

    // False if the limit is reached.
    Result<bool> read(HeapRange range) {
        if (scan_) {
            const auto scanned = scan(range);
            if (scanned) return !is_full();
            if (scanned.error().code != std::errc::inappropriate_io_control_operation &&
                scanned.error().code != std::errc::invalid_argument)
                return scanned.error();
            scan_ = false;
        }
        if (auto done = read_entries(range); !done) return done.error();
        return !is_full();
    }
    std::vector<HeapRange> take() { return std::move(runs_); }
    bool skips_holes() const { return scan_; }
    std::uint64_t end() const { return runs_.empty() ? 0 : runs_.back().end; }  // of the last page so far
    bool is_full() const { return runs_.size() >= most_runs_; }

  private:
    void add(HeapRange run) {
        if (!runs_.empty() && run.start < runs_.back().end) run.start = runs_.back().end;
        if (run.size() == 0) return;
        if (!runs_.empty() && runs_.back().end == run.start)
            runs_.back().end = run.end;
        else if (!is_full())
            runs_.push_back(run);
    }

    Status scan(HeapRange range) {
        while (range.size() > 0 && !is_full()) {
            ScanArgument argument{.size = sizeof(ScanArgument),
                                  .flags = 0,
                                  .start = range.start,
                                  .end = range.end,
                                  .walk_end = 0,
                                  .regions = std::bit_cast<std::uint64_t>(regions_.data()),
                                  .regions_length = regions_.size(),
                                  .most_pages = 0,
                                  .inverted = kScanFile | kScanZero,
                                  .mask = kScanPresent | kScanFile | kScanZero,
                                  .any_of = 0,
                                  .returned = kScanPresent};
            const int found = pace_([&] { return ::ioctl(pagemap_.get(), _IOWR('f', 16, ScanArgument), &argument); });
            if (found < 0) return system_error(errno, "scan pagemap");
            const auto count = std::min(static_cast<std::size_t>(found), regions_.size());
            for (std::size_t i = 0; i < count; ++i) add({regions_[i].start, regions_[i].end});
            // Linux 6.18 sets walk_end before the end of the last region, so the scan continues from the region.
            if (count < regions_.size()) return Done{};
            range.start = std::max(range.start + page_bytes(), regions_.back().end);
        }
        return Done{};
    }

    Status read_entries(HeapRange range) {
        static const std::uint64_t zeros = frame_of_zeros();
        const std::uint64_t last = range.end / page_bytes();
        for (std::uint64_t page = range.start / page_bytes(); page < last;) {
            const auto want = std::min<std::uint64_t>(entries_.size(), last - page) * sizeof entries_[0];
            const ssize_t got = pace_([&] {
                return ::pread(pagemap_.get(), entries_.data(), want, static_cast<off_t>(page * sizeof entries_[0]));
            });
            if (got < 0) return system_error(errno, "read pagemap");
            const auto count = static_cast<std::uint64_t>(got) / sizeof entries_[0];
            if (count == 0) return system_error(ESRCH, "read pagemap");
            for (std::uint64_t i = 0; i < count; ++i) {
                const std::uint64_t entry = entries_[i], frame = entry & kFrame;
                const bool own = (entry & kPresent) != 0 && (entry & kOfFile) == 0 && (frame == 0 || frame != zeros);
                if (own) add({(page + i) * page_bytes(), (page + i + 1) * page_bytes()});
            }
            page += count;
        }
        return Done{};
    }

    const Fd& pagemap_;
    std::size_t most_runs_;
    Pace& pace_;
    bool scan_;
    std::vector<ScanRegion> regions_ = std::vector<ScanRegion>(kEntriesAtOnce);
    std::vector<std::uint64_t> entries_ = std::vector<std::uint64_t>(kEntriesAtOnce);
    std::vector<HeapRange> runs_{};
};

}  // namespace

void Pace::pause() {
    const timespec pause{.tv_sec = 0, .tv_nsec = std::chrono::nanoseconds(kPause).count()};
    ::nanosleep(&pause, nullptr);
    worked_ = {};
}

Seconds ReadDeadline::cpu_seconds() {
    timespec time{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return Seconds{static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9};
}

PresentPages::PresentPages(std::vector<HeapRange> runs) : runs_(std::move(runs)) {
    before_.reserve(runs_.size());
    std::uint64_t sum = 0;
    for (const HeapRange& run : runs_) {
        before_.push_back(sum);
        sum += run.size();
    }
}

std::uint64_t PresentPages::bytes_below(std::uint64_t address) const {
    const auto behind = std::upper_bound(runs_.begin(), runs_.end(), address,
                                         [](std::uint64_t value, const HeapRange& r) { return value < r.start; });
    if (behind == runs_.begin()) return 0;
    const auto last = static_cast<std::size_t>(behind - runs_.begin()) - 1;
    return before_[last] + std::min(address, runs_[last].end) - runs_[last].start;
}

std::uint64_t PresentPages::end_of_run(std::uint64_t address) const {
    const HeapRange* run = range_at(runs_, address);
    return run ? run->end : 0;
}

Result<PresentPagesReading> read_present_pages(const Fd& process, const ProcessMaps& maps, std::size_t most_runs,
                                               Pace& pace, const ReadDeadline& deadline, PageScan scan) {
    const Fd pagemap{::openat(process.get(), "pagemap", O_RDONLY | O_CLOEXEC)};
    if (!pagemap) return system_error(errno, "open pagemap");
    PageReader reader(pagemap, most_runs, pace, scan);
    PresentPagesReading reading;
    for (const MappedRange& range : maps.ranges) {
        if (!may_have_anonymous_pages(range)) continue;
        std::uint64_t step = kScanStep;
        for (std::uint64_t at = range.start; at < range.end && !reading.cut_off && !reading.late;) {
            const std::uint64_t end = std::min(range.end, rounded_down(at, kScanStep) + step);
            const auto room = reader.read({at, end});
            if (!room) return room.error();
            reading.cut_off = !*room;
            reading.late = deadline.has_passed();
            const bool is_sparse = reader.skips_holes() && reader.end() <= at;
            step = is_sparse ? std::min(2 * step, kSparseStep) : kScanStep;
            at = end;
        }
    }
    reading.pages = PresentPages(reader.take());
    return reading;
}

PresentPages read_shared_pages(const Fd& process, const PresentPages& pages, std::size_t most_runs, Pace& pace,
                               const ReadDeadline& deadline) {
    const Fd pagemap{::openat(process.get(), "pagemap", O_RDONLY | O_CLOEXEC)};
    std::vector<HeapRange> shared;
    std::vector<std::uint64_t> entries(kEntriesAtOnce);
    const std::uint64_t page = page_bytes();
    const auto add = [&](std::uint64_t start) {
        if (!shared.empty() && shared.back().end == start)
            shared.back().end += page;
        else
            shared.push_back({start, start + page});
    };
    for (const HeapRange& run : pages.runs())
        for (std::uint64_t at = run.start; at < run.end;) {
            if (!pagemap || shared.size() + kEntriesAtOnce > most_runs || deadline.has_passed())
                return PresentPages(std::move(shared));
            const auto want = std::min<std::uint64_t>(kEntriesAtOnce, (run.end - at) / page) * sizeof entries[0];
            const ssize_t got = pace([&] {
                return ::pread(pagemap.get(), entries.data(), want, static_cast<off_t>(at / page * sizeof entries[0]));
            });
            if (got <= 0) return PresentPages(std::move(shared));
            const auto count = static_cast<std::uint64_t>(got) / sizeof entries[0];
            for (std::uint64_t i = 0; i < count; ++i)
                if ((entries[i] & kPresent) != 0 && (entries[i] & (kOfFile | kMappedOnce)) == 0) add(at + i * page);
            at += std::max<std::uint64_t>(count, 1) * page;
        }
    return PresentPages(std::move(shared));
}

Result<ProcessSource> ProcessSource::open(const Fd& process, pid_t pid, Pace& pace) {
    Fd pagemap{::openat(process.get(), "pagemap", O_RDONLY | O_CLOEXEC)};
    if (!pagemap) return system_error(errno, "open pagemap");
    Fd memory{::openat(process.get(), "mem", O_RDONLY | O_CLOEXEC)};
    if (!memory) return system_error(errno, "open mem");
    return ProcessSource(std::move(pagemap), std::move(memory), pid, pace);
}

ProcessSource::ProcessSource(Fd pagemap, Fd memory, pid_t pid, Pace& pace)
    : pagemap_(std::move(pagemap)), memory_(std::move(memory)), pid_(pid), pace_(&pace), page_(page_bytes()) {}

// Pieces are often neighbours, so the entries up to page `ahead` are read together. They are used within one batch
// only.
ProcessSource::Pages ProcessSource::find_pages(std::uint64_t address, std::uint64_t bytes, std::uint64_t ahead) {
    if (address >= kUserEnd || bytes >= kUserEnd - address) return Pages::absent;
    Pages found = Pages::own;
    const std::uint64_t last = last_page(address, bytes);
    for (std::uint64_t page = address / page_; page <= last; ++page) {
        if (page < first_entry_ || page - first_entry_ >= entries_.size()) {
            const std::uint64_t want = std::min(std::max(last, ahead) - page + 1, std::uint64_t{kEntriesAtOnce});
            entries_.assign(want, 0);
            first_entry_ = page;
            const ssize_t got =
                ::pread(pagemap_.get(), entries_.data(), want * sizeof entries_[0], static_cast<off_t>(page * 8));
            if (got < 0) std::fill(entries_.begin(), entries_.end(), 0);
        }
        const std::uint64_t entry = entries_[page - first_entry_];
        if ((entry & kPresent) == 0) return Pages::absent;
        if ((entry & (kOfFile | kMappedOnce)) == 0) found = Pages::shared;
    }
    return found;
}

// The last page that the first pieces need, as long as each of them begins near the end of the one before it. Each
// entry of pagemap costs about as much as a cache miss, so entries that nobody needs are not read.
std::uint64_t ProcessSource::end_of_neighbours(std::span<const Piece> pieces) const {
    constexpr std::uint64_t kNear = 4;  // pages
    std::uint64_t last = last_page(pieces[0].address, pieces[0].into.size());
    for (const Piece& next : pieces.subspan(1)) {
        const std::uint64_t page = next.address / page_;
        if (page > last + kNear || page + kNear < last || next.address >= kUserEnd) break;
        last = std::max(last, last_page(next.address, next.into.size()));
    }
    return last;
}

void ProcessSource::read(std::span<Piece> pieces) {
    constexpr std::size_t kBatch = 64;  // so that the check is not long before the read
    for (std::size_t from = 0; from < pieces.size(); from += kBatch)
        pace_->operator()([&] {
            read_batch(pieces.subspan(from, std::min(kBatch, pieces.size() - from)));
            return 0;
        });
}

void ProcessSource::read_batch(std::span<Piece> pieces) {
    entries_.clear();
    std::vector<Piece*> own, shared;
    std::uint64_t ahead = 0;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
        Piece& piece = pieces[i];
        if (i == 0 || piece.address / page_ > ahead) ahead = end_of_neighbours(pieces.subspan(i));
        const Pages pages = find_pages(piece.address, piece.into.size(), ahead);
        if (pages == Pages::own) own.push_back(&piece);
        if (pages == Pages::shared) shared.push_back(&piece);
    }
    std::vector<iovec> local, remote;
    // Marks the first pieces that were read as a whole. Returns the number of the piece at which to go on: the kernel
    // stops at a piece that was unmapped.
    const auto mark = [&](std::vector<Piece*>& all, std::size_t from, ssize_t got) {
        auto left = static_cast<std::uint64_t>(std::max<ssize_t>(got, 0));
        bytes_ += left;
        const std::size_t end = from + local.size();
        for (; from < end && left >= all[from]->into.size(); ++from) {
            left -= all[from]->into.size();
            all[from]->done = true;
        }
        return from == end ? end : from + 1;
    };
    for (std::size_t from = 0; from < shared.size();) {
        local.clear();
        std::uint64_t end = shared[from]->address;
        for (std::size_t i = from; i < shared.size() && shared[i]->address == end; ++i) {
            local.push_back({shared[i]->into.data(), shared[i]->into.size()});
            end += shared[i]->into.size();
        }
        const ssize_t got = ::preadv(memory_.get(), local.data(), static_cast<int>(local.size()),
                                     static_cast<off_t>(shared[from]->address));
        from = mark(shared, from, got);
    }
    for (std::size_t from = 0; from < own.size();) {
        local.clear();
        remote.clear();
        for (std::size_t i = from; i < own.size(); ++i) {
            local.push_back({own[i]->into.data(), own[i]->into.size()});
            remote.push_back({std::bit_cast<void*>(own[i]->address), own[i]->into.size()});
        }
        const ssize_t got = ::process_vm_readv(pid_, local.data(), local.size(), remote.data(), remote.size(), 0);
        from = mark(own, from, got);
    }
}

PresentMemory::PresentMemory(MemorySource& source, const PresentPages& pages)
    : source_(&source), pages_(&pages), blocks_(kBlocks) {}

bool PresentMemory::read(std::uint64_t address, std::span<std::byte> into) {
    while (!into.empty()) {
        Block& block = slot_of(address);
        const std::uint64_t start = rounded_down(address, kBlock);
        if (block.address != start) {
            MemorySource::Piece piece{start, block.bytes};
            block.address = kNone;
            source_->read({&piece, 1});
            if (!piece.done) return false;
            block.address = start;
        }
        const auto part = std::min<std::size_t>(into.size(), kBlock - address % kBlock);
        std::memcpy(into.data(), block.bytes.data() + address % kBlock, part);
        address += part;
        into = into.subspan(part);
    }
    return true;
}

void PresentMemory::prefetch(std::span<const std::uint64_t> addresses) {
    std::vector<MemorySource::Piece> pieces;
    const auto flush = [&] {
        std::ranges::sort(pieces, {}, &MemorySource::Piece::address);  // neighbours are read together
        source_->read(pieces);
        for (const MemorySource::Piece& piece : pieces)
            if (!piece.done) slot_of(piece.address).address = kNone;
        pieces.clear();
    };
    ++round_;
    for (const std::uint64_t address : addresses) {
        Block& block = slot_of(address);
        const std::uint64_t start = rounded_down(address, kBlock);
        if (block.address == start || block.round == round_ || !pages_->contains(start)) continue;
        block.round = round_;
        block.address = start;
        pieces.push_back({start, block.bytes});
        if (pieces.size() == kMostPieces) flush();
    }
    flush();
}

bool PresentMemory::read_at_once(std::uint64_t address, std::span<std::byte> into) {
    MemorySource::Piece piece{address, into};
    source_->read({&piece, 1});
    return piece.done;
}

std::size_t PresentMemory::read_some(std::uint64_t address, std::span<std::byte> into) {
    const std::uint64_t end = pages_->end_of_run(address);
    for (auto bytes = static_cast<std::size_t>(std::min<std::uint64_t>(into.size(), end - std::min(end, address)));
         bytes > 0;) {
        if (read_at_once(address, into.first(bytes))) return bytes;
        // A page is no longer present: try a part that ends earlier.
        const std::size_t in_first_page = kBlock - address % kBlock;
        if (bytes <= in_first_page) return 0;
        const std::uint64_t earlier = rounded_down(address + bytes / 8, kBlock);
        bytes = earlier > address ? static_cast<std::size_t>(earlier - address) : in_first_page;
    }
    return 0;
}

void PresentMemory::forget() {
    for (Block& block : blocks_) block.address = kNone;
}

bool is_anonymous(const MappedRange& range) {
    return range.inode == 0 && !range.shared && range.writable &&
           (range.path.empty() || range.path.starts_with("[anon"));
}

std::vector<LibraryData> read_library_data(PresentMemory& memory, const ProcessMaps& maps, const std::string& path) {
    constexpr std::uint64_t kMostBytes = std::uint64_t{32} << 20;
    constexpr std::size_t kMostMappings = 8;
    std::vector<LibraryData> all;
    for (std::size_t i = 0; i < maps.ranges.size() && all.size() < kMostMappings; ++i) {
        const MappedRange& range = maps.ranges[i];
        if (range.path != path || range.inode == 0 || !range.writable || range.shared) continue;
        HeapRange data{range.start, range.end};
        if (i + 1 < maps.ranges.size()) {
            const MappedRange& next = maps.ranges[i + 1];
            if (next.path == kBss) data.end = next.end;
        }
        data.end = std::min(data.end, data.start + kMostBytes);
        LibraryData library{.base = data.start, .words = std::vector<std::uint64_t>(data.size() / 8)};
        for (std::uint64_t at = data.start; at < data.end;) {
            const std::uint64_t end = std::min(memory.pages().end_of_run(at), data.end);
            if (end <= at) {
                at += page_bytes();
                continue;
            }
            const auto words = std::span(library.words).subspan((at - data.start) / 8, (end - at) / 8);
            const std::size_t got = memory.read_some(at, std::as_writable_bytes(words));
            at += std::max<std::uint64_t>(got, page_bytes());
        }
        all.push_back(std::move(library));
    }
    return all;
}

}  // namespace memscope
