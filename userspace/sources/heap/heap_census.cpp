#include "sources/heap/heap_census.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <fmt/format.h>
#include <map>
#include <memory>
#include <new>
#include <unistd.h>
#include <utility>

#include "base/text.h"
#include "sources/gpu/probed_libraries.h"
#include "sources/heap/address_claims.h"
#include "sources/heap/allocators.h"
#include "sources/heap/glibc_arenas.h"
#include "sources/heap/glibc_free.h"
#include "sources/heap/glibc_tcache.h"
#include "sources/heap/library_bss.h"
#include "sources/heap/present_memory.h"
#include "sources/heap/pymalloc.h"
#include "sources/heap/python/object_census.h"
#include "sources/heap/thread_stacks.h"
#include "sources/proc/procfs.h"
#include "sources/python/python_finder.h"
#include "sources/python/python_layout.h"

namespace memscope {
namespace {

constexpr std::size_t kEnvironLimit = std::size_t{1} << 20;

double unix_seconds() { return Seconds(std::chrono::system_clock::now().time_since_epoch()).count(); }

struct StatusSizes {
    Bytes anon{};
    Bytes swap{};
};
// None for a kernel thread and for a process that has released its memory.
std::optional<StatusSizes> parse_status_sizes(std::string_view status) {
    std::optional<StatusSizes> sizes;
    for_each_line(status, [&](std::string_view line) {
        const auto value = [&](std::string_view key) -> std::optional<Bytes> {
            if (!line.starts_with(key)) return std::nullopt;
            line.remove_prefix(key.size());
            line = trimmed(line);
            const auto kib = parse_number(line.substr(0, line.find(' ')));
            return kib ? std::optional(Bytes{*kib << 10}) : std::nullopt;
        };
        if (const auto anon = value("RssAnon:")) sizes = StatusSizes{.anon = *anon};
        if (const auto swap = value("VmSwap:"); swap && sizes) sizes->swap = *swap;
    });
    return sizes;
}

struct PythonFile {
    std::string path{};
    int version = 0;            // 311
    std::uint64_t runtime = 0;  // address of _PyRuntime in the process
    bool debug_build = false;
};

bool has_name_of_python(std::string_view path) {
    const std::string_view name = path.substr(path.rfind('/') + 1);  // npos + 1 is 0
    return name.starts_with("python") || name.starts_with("libpython");
}

// Reads the version from the file, because the page of the process with the version may not be present.
std::optional<int> version_in(const ElfFile& elf, const PythonElf& python) {
    if (!python.version_address) return python.version_text;
    for (const bool executable : {false, true}) {
        const auto offset = offset_in(elf.segments(), *python.version_address, executable);
        std::uint64_t hex_version = 0;
        const std::string bytes = offset ? elf.read(*offset, sizeof hex_version) : std::string();
        if (bytes.size() != sizeof hex_version) continue;
        bytes.copy(reinterpret_cast<char*>(&hex_version), sizeof hex_version);
        return python_version(hex_version);
    }
    return std::nullopt;
}

bool is_debug_build(const ElfFile& elf) { return elf.find_symbol("_Py_NegativeRefcount").has_value(); }

// The executable or library that contains CPython.
std::optional<PythonFile> find_python(const SysRoot& root, pid_t pid, const ProcessMaps& maps) {
    constexpr std::size_t kMostFiles = 8;
    std::error_code unknown;
    const std::string executable = fs::read_symlink(root.proc / std::to_string(pid) / "exe", unknown).string();
    std::size_t tried = 0;
    for (const MappedRange& range : maps.ranges) {
        if (range.inode == 0 || range.offset != 0 || tried == kMostFiles) continue;
        const bool runs = (range.deleted ? range.path + " (deleted)" : range.path) == executable;
        if (!runs && !has_name_of_python(range.path)) continue;
        ++tried;
        const auto library = open_mapped_library(root, pid, range);
        if (!library) continue;
        const auto python = find_python_in(library->elf);
        const auto version = python ? version_in(library->elf, *python) : std::nullopt;
        if (!version) continue;
        return PythonFile{.path = range.path,
                          .version = *version,
                          .runtime = python->runtime + (range.start - python->load_address),
                          .debug_build = is_debug_build(library->elf)};
    }
    return std::nullopt;
}

// Reads files of libraries, whose pages need not be present in the process. Files are opened once.
class LibraryFiles {
  public:
    LibraryFiles(const SysRoot& root, pid_t pid) : root_(root), pid_(pid) {}

    bool read(const MappedRange& range, std::uint64_t offset, std::span<std::byte> into) {
        constexpr std::size_t kMostFiles = 256;
        auto known = files_.find(range.path);
        if (known == files_.end()) {
            if (files_.size() >= kMostFiles) return false;
            auto library = open_mapped_library(root_, pid_, range);
            known = files_.emplace(range.path, library ? std::optional(std::move(library->elf)) : std::nullopt).first;
        }
        if (!known->second) return false;
        const std::string bytes = known->second->read(offset, into.size());
        std::memcpy(into.data(), bytes.data(), bytes.size());
        std::fill(into.begin() + static_cast<std::ptrdiff_t>(bytes.size()), into.end(), std::byte{0});
        return !bytes.empty();
    }

  private:
    const SysRoot& root_;
    pid_t pid_;
    std::map<std::string, std::optional<ElfFile>> files_{};
};

// From the text "GNU C Library (...) stable release version 2.36." in the file.
std::optional<std::string> find_glibc_version(const SysRoot& root, pid_t pid, const ProcessMaps& maps,
                                              const std::string& path) {
    constexpr std::string_view kMarker = "release version ";
    constexpr std::size_t kLongest = 32;
    const auto range = std::ranges::find(maps.ranges, path, &MappedRange::path);
    if (range == maps.ranges.end()) return std::nullopt;
    const auto library = open_mapped_library(root, pid, *range);
    if (!library) return std::nullopt;
    const auto section = library->elf.section(".rodata");
    const auto text = section ? library->elf.find_text(*section, kMarker, kLongest) : std::nullopt;
    if (!text) return std::nullopt;
    std::string version = text->substr(kMarker.size());
    version.resize(std::min(version.find_first_not_of("0123456789."), version.size()));
    while (version.ends_with('.')) version.pop_back();
    return parse_glibc_version(version) ? std::optional(version) : std::nullopt;
}

class CensusTaker {
  public:
    CensusTaker(const SysRoot& root, pid_t pid, const HeapBudget& budget, const ReadDeadline& deadline,
                const ProcessMaps& maps, MemorySource& source, PresentMemory& memory, HeapCensus& census)
        : root_(root),
          pid_(pid),
          budget_(budget),
          deadline_(deadline),
          maps_(maps),
          source_(source),
          memory_(memory),
          census_(census) {}

    void take(std::string_view environ) {
        find_glibc();
        find_stacks();
        const AllocatorName allocator = find_allocator(maps_, environ, glibc_ ? &*glibc_ : nullptr);
        census_.allocator.name = allocator;
        read_python(allocator);
        read_free(allocator);
        claim();
        census_.part(HeapPart::malloc_free) = Bytes{std::min(malloc_free_, heaps_present_)};
        census_.part(HeapPart::malloc_live).n += heaps_present_ - census_.part(HeapPart::malloc_free).n;
    }

    bool has_moved() const { return has_moved_; }

    // `inherited`: the pages that a forked process shares with its parent. Null: the process was not forked.
    void read_objects(const PresentPages* inherited) {
        if (!python_) return;
        memory_.forget();
        LibraryFiles files(root_, pid_);
        const bool serves_malloc = census_.allocator.name == AllocatorName::glibc && glibc_ && glibc_->was_used();
        PythonHeap heap{.source = source_,
                        .pages = memory_.pages(),
                        .maps = maps_,
                        .runtime = python_->runtime,
                        .version = python_->version,
                        .debug_build = python_->debug_build,
                        .pymalloc = pymalloc_ ? &*pymalloc_ : nullptr,
                        .blocks = serves_malloc && heap_blocks() != nullptr ? &blocks_->all : nullptr,
                        .threads = threads_,
                        .mapped_blocks = mapped_blocks_,
                        .mappings = mappings_,
                        .python_live = census_.part(HeapPart::python_live),
                        .live = census_.part(HeapPart::malloc_live) + census_.part(HeapPart::python_live) +
                                census_.part(HeapPart::mapped),
                        .inherited = inherited,
                        .read_file = [&files](const MappedRange& range, std::uint64_t offset,
                                              std::span<std::byte> into) { return files.read(range, offset, into); }};
        std::uint64_t runs = memory_.pages().runs().size() * sizeof(HeapRange) * 2;
        if (inherited) runs += inherited->runs().size() * sizeof(HeapRange) * 2;
        const std::uint64_t most_bytes = budget_.memory.n - std::min(budget_.memory.n / 2, runs);
        if (read_objects(heap, most_bytes)) return;
        const bool had_blocks = std::exchange(heap.blocks, nullptr) != nullptr;
        if (blocks_) blocks_->all = {};
        if (had_blocks && read_objects(heap, most_bytes)) return;
        count(HeapGap::too_many);  // the census keeps its parts, which are complete
    }

  private:
    // False if the objects need more memory than the helper process may have.
    bool read_objects(const PythonHeap& heap, std::uint64_t most_bytes) {
        auto incomplete = census_.incomplete;
        try {
            std::vector<ContainerPlace> places;
            const ReadDeadline deadline(budget_.objects_time, deadline_.wall_left());
            census_.objects =
                std::make_shared<ObjectCensus>(take_object_census(heap, most_bytes, deadline, incomplete, places));
            census_.places = std::make_shared<const std::vector<ContainerPlace>>(std::move(places));
            census_.incomplete = std::move(incomplete);
            return true;
        } catch (const std::bad_alloc&) {
            return false;
        }
    }
    // The live chunks of all heaps. Null if not all could be read.
    const HeapBlocks* heap_blocks() {
        if (!blocks_) {
            const GlibcWalkLimits limits{.deadline = deadline_.sooner(deadline_.left() * 0.7)};
            blocks_ = find_heap_blocks(*glibc_, tcaches_, source_, memory_.pages(), limits,
                                       budget_.memory.n / 4 / sizeof(HeapBlock));
        }
        return blocks_->is_whole() ? &*blocks_ : nullptr;
    }
    void count(HeapGap gap, std::uint64_t times = 1) {
        if (times > 0) census_.incomplete[gap] += times;
    }

    void find_glibc() {
        constexpr int kTries = 5;  // arenas that change right now are not recognized
        std::vector<std::string> paths = c_library_paths(maps_);
        const bool dynamic = !paths.empty();
        if (!dynamic) {
            std::error_code unknown;
            paths.push_back(fs::read_symlink(root_.proc / std::to_string(pid_) / "exe", unknown).string());
        }
        const auto version = find_glibc_version(root_, pid_, maps_, paths.front());
        const auto number = version ? parse_glibc_version(*version) : std::nullopt;
        bool late = false;
        for (int i = 0; i < kTries && !glibc_ && !deadline_.has_passed(); ++i) {
            memory_.forget();
            const ReadDeadline limit = deadline_.sooner(deadline_.left() * 0.3);
            glibc_ = find_glibc_malloc(read_library_data(memory_, maps_, paths.front()), number, memory_, maps_, limit);
            late = limit.has_passed();
        }
        count(HeapGap::time_limit, late && !glibc_ ? 1 : 0);
        memory_.forget();
        if (glibc_ && glibc_->was_used()) glibc_version_ = version;
    }

    void find_stacks() {
        std::vector<LibraryData> libraries;
        for (const std::string& path : thread_library_paths(maps_))
            for (LibraryData& each : read_library_data(memory_, maps_, path)) libraries.push_back(std::move(each));
        GlibcThreads threads = find_threads(libraries, memory_, deadline_.sooner(deadline_.left() * 0.2));
        count(HeapGap::too_many, threads.cut_off ? 1 : 0);
        count(HeapGap::time_limit, threads.late ? 1 : 0);
        threads_ = std::move(threads.all);
    }

    void read_python(AllocatorName allocator) {
        const auto& python = python_ = find_python(root_, pid_, maps_);
        if (!python) return;
        census_.python = python_version_text(python->version);
        const auto heads = allocator == AllocatorName::glibc ? MallocHeads::glibc : MallocHeads::unknown;
        memory_.forget();
        const ReadDeadline limit = deadline_.sooner(deadline_.left() * 0.3);
        pymalloc_ = read_pymalloc(read_library_data(memory_, maps_, python->path), heads, memory_, limit);
        count(HeapGap::time_limit, limit.has_passed() ? 1 : 0);
        if (!pymalloc_) return;
        count(HeapGap::torn, pymalloc_->unread_pools);
        count(HeapGap::not_present, pymalloc_->absent_pools);
    }

    void read_free(AllocatorName allocator) {
        if (!glibc_ || !glibc_->was_used()) return;
        memory_.forget();
        tcaches_ = find_tcaches(*glibc_, threads_, memory_, deadline_.sooner(deadline_.left() * 0.2));
        count(HeapGap::torn, tcaches_.torn);
        count(HeapGap::not_present, tcaches_.absent);
        count(HeapGap::too_many, tcaches_.cut_off);
        count(HeapGap::time_limit, tcaches_.late ? 1 : 0);
        memory_.forget();
        FreeLimits limits{.deadline = deadline_.sooner(deadline_.left() * 0.7),
                          .most_chunks = budget_.memory.n / 8 / 16};
        if (budget_.objects && python_ && allocator == AllocatorName::glibc)
            limits.walk = [this] { return heap_blocks(); };
        const GlibcFree free = find_glibc_free(*glibc_, tcaches_, memory_, limits);
        malloc_free_ = free.present + free.top_present + tcaches_.bytes;
        count(HeapGap::torn, free.torn);
        count(HeapGap::not_present, free.absent);
        count(HeapGap::too_many, free.cut_off);
        count(HeapGap::time_limit, free.late ? 1 : 0);
        if (count_inconsistent_arenas(*glibc_) > glibc_->arenas.size() / 2) count(HeapGap::torn);
        // Another allocator serves malloc() in this process, so the figures of glibc do not describe it.
        if (allocator != AllocatorName::glibc) return;
        census_.allocator.version = glibc_version_;
        census_.allocator.arenas = glibc_->arenas.size();
        census_.allocator.trimmable = Bytes{std::min(free.trimmable, malloc_free_)};
    }

    // Gives each present page to one owner.
    void claim() {
        AddressClaims claims;
        if (glibc_)
            for (const GlibcArena& arena : glibc_->arenas)
                for (const HeapRange& heap : arena.heaps)  // the rest of a heap is reserved for it
                    claims.add(arena.main ? heap : HeapRange{heap.start, heap.start + glibc_->heap_limit},
                               HeapOwner::arena);
        if (pymalloc_)
            for (const HeapRange& arena : pymalloc_->arenas) claims.add(arena, HeapOwner::python);
        for (const GlibcThread& thread : threads_) claims.add(thread.stack, HeapOwner::stack);
        if (glibc_ && (glibc_->was_used() || (glibc_->parameters && glibc_->parameters->mmapped > 0))) {
            memory_.forget();
            for (const HeapRange& block : find_mapped_blocks(*glibc_, memory_, maps_, claims.ranges(), deadline_))
                if (claims.add(block, HeapOwner::mapped_block)) mapped_blocks_.push_back(block);
        }
        if (deadline_.has_passed()) count(HeapGap::time_limit);
        std::uint64_t python_present = 0;
        for (const auto& [range, owner] : claims.all()) {
            const std::uint64_t present = memory_.pages().bytes_in(range);
            switch (owner) {
                case HeapOwner::arena:
                    heaps_present_ += present;
                    break;
                case HeapOwner::python:
                    python_present += present;
                    break;
                case HeapOwner::stack:
                    census_.part(HeapPart::stacks).n += present;
                    break;
                case HeapOwner::mapped_block:
                    census_.part(HeapPart::malloc_live).n += present;
                    break;
            }
        }
        if (pymalloc_) {
            const std::uint64_t free = std::min(python_present, pymalloc_->free_blocks + pymalloc_->free_pools);
            census_.part(HeapPart::python_free) = Bytes{free};
            census_.part(HeapPart::python_live) = Bytes{python_present - free};
        }
        claim_rest(claims);
    }

    // Pages of mappings that no allocator owns.
    void claim_rest(const AddressClaims& claims) {
        constexpr std::uint64_t kLargeMapping = std::uint64_t{1} << 20;
        constexpr std::size_t kMostMappings = 32;
        for (const MappedRange& range : maps_.ranges) {
            const HeapRange addresses{range.start, range.end};
            const std::uint64_t rest = claims.unclaimed(addresses, memory_.pages());
            if (rest == 0) continue;
            const bool anonymous = is_anonymous(range) || range.path == "[heap]";
            if (range.path == "[stack]") {
                census_.part(HeapPart::stacks).n += rest;
            } else if (anonymous && is_of_scattered_arena(addresses)) {
                heaps_present_ += rest;
            } else if (anonymous && addresses.size() >= kLargeMapping) {
                claim_large(addresses, Bytes{rest});
            } else {
                census_.part(HeapPart::other).n += rest;
            }
        }
        std::ranges::sort(mapped_blocks_, {}, &HeapRange::start);
        std::ranges::sort(census_.mappings, std::greater{}, &HeapMapping::resident);
        census_.mappings.resize(std::min(census_.mappings.size(), kMostMappings));
    }

    void claim_large(const HeapRange& mapping, Bytes rest) {
        const bool is_whole = rest.n == memory_.pages().bytes_in(mapping);  // else a block is known to begin in it
        switch (is_whole ? start_of(mapping) : Start::data) {
            case Start::gone:
                has_moved_ = true;
                count(HeapGap::torn);
                return;
            case Start::block:
                census_.part(HeapPart::malloc_live) += rest;
                mapped_blocks_.push_back(mapping);
                return;
            case Start::data:
                census_.part(HeapPart::mapped) += rest;
                census_.mappings.push_back({mapping.start, mapping.end, rest});
                if (is_whole) mappings_.push_back(mapping);
        }
    }
    enum class Start { data, block, gone };
    // What lies at the start of a mapping now: realloc() moves and resizes the mapping of a large block.
    Start start_of(const HeapRange& range) {
        const auto runs = memory_.pages().runs();
        const auto run = std::upper_bound(runs.begin(), runs.end(), range.start,
                                          [](std::uint64_t value, const HeapRange& r) { return value < r.end; });
        if (run == runs.end() || run->start >= range.end) return Start::data;  // no page is known to be present
        std::array<std::uint64_t, 2> words{};
        const std::uint64_t at = std::max(run->start, range.start);
        if (!memory_.read_at_once(at, std::as_writable_bytes(std::span(words)))) return Start::gone;
        const auto [before, head] = words;
        const bool is_block = before == 0 && (head & 7) == kChunkIsMapped && (head & kChunkSize) % page_bytes() == 0;
        return at == range.start && is_block ? Start::block : Start::data;
    }

    // The main arena maps memory where brk() fails. Such a mapping contains its top or a chunk of a bin.
    bool is_of_scattered_arena(const HeapRange& range) const {
        if (!glibc_ || !glibc_->arenas.front().scattered) return false;
        const GlibcArenaTail& tail = glibc_->arenas.front().tail;
        return range.contains(tail.top) ||
               std::ranges::any_of(tail.bins, [&](std::uint64_t chunk) { return range.contains(chunk); });
    }

    const SysRoot& root_;
    pid_t pid_;
    const HeapBudget& budget_;
    const ReadDeadline& deadline_;
    const ProcessMaps& maps_;
    MemorySource& source_;
    PresentMemory& memory_;
    HeapCensus& census_;

    std::optional<GlibcMalloc> glibc_{};
    std::optional<std::string> glibc_version_{};
    TcacheChunks tcaches_{};
    std::optional<HeapBlocks> blocks_{};
    std::vector<HeapRange> mappings_{};  // large mappings that no allocator owns, without any part that one owns
    std::vector<HeapRange> mapped_blocks_{};
    std::vector<GlibcThread> threads_{};
    std::optional<Pymalloc> pymalloc_{};
    std::optional<PythonFile> python_{};
    std::uint64_t heaps_present_ = 0;  // of arenas
    std::uint64_t malloc_free_ = 0;
    bool has_moved_ = false;  // a large mapping was gone when it was read
};

std::optional<StatusSizes> read_status_sizes(const Fd& process) {
    const auto status = read_file_at(process, "status");
    return status ? parse_status_sizes(*status) : std::nullopt;
}

// `has_moved`: where to say that a large mapping was gone when it was read; then the objects are not read. Null: they
// are read in any case.
Result<HeapCensus> take_census(const SysRoot& root, pid_t pid, const HeapBudget& budget, const ReadDeadline& deadline,
                               bool* has_moved) {
    constexpr std::uint64_t kNsPerSecond = 1'000'000'000;
    const auto gone = [&] { return system_error(ESRCH, fmt::format("read the heap of process {}", pid)); };
    const auto process = open_directory(root.proc / std::to_string(pid));
    if (!process) return gone();
    const auto stat_text = read_file_at(*process, "stat");
    const auto stat = stat_text ? parse_process_stat(*stat_text) : std::nullopt;
    if (!stat || stat->exiting) return gone();
    auto all_maps = read_process_maps(*process);
    if (!all_maps) return all_maps.error();
    const ProcessMaps maps = name_bss(*std::move(all_maps), root, pid);
    if (!read_status_sizes(*process))
        return plain_error(fmt::format("process {} has no memory: it is a kernel thread, or it is exiting", pid));

    HeapCensus census{.process = {.pid = pid}, .time = unix_seconds()};
    census.process.start_ns = stat->start * (kNsPerSecond / static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK)));
    Pace pace;
    constexpr std::uint64_t kBytesPerRun = 24;
    auto reading = read_present_pages(*process, maps, budget.memory.n / 4 / kBytesPerRun, pace, deadline);
    if (!reading) return reading.error();
    const auto sizes = read_status_sizes(*process);
    if (!sizes) return gone();
    census.anon = sizes->anon;
    census.swap = sizes->swap;
    if (reading->cut_off || maps.truncated) ++census.incomplete[HeapGap::too_many];
    if (reading->late) ++census.incomplete[HeapGap::time_limit];

    auto source = ProcessSource::open(*process, pid, pace);
    if (!source) return source.error();
    PresentMemory memory(*source, reading->pages);
    const auto environ = read_file_at(*process, "environ", kEnvironLimit);
    CensusTaker taker(root, pid, budget, deadline, maps, *source, memory, census);
    taker.take(environ ? *environ : std::string());
    if (has_moved != nullptr) *has_moved = taker.has_moved();
    if (has_moved != nullptr && *has_moved) return census;
    if (budget.objects) {
        std::optional<PresentPages> inherited;
        const std::size_t most_runs = budget.memory.n / 16 / kBytesPerRun;
        if (stat->forked) inherited = read_shared_pages(*process, reading->pages, most_runs, pace, deadline);
        taker.read_objects(inherited ? &*inherited : nullptr);
    }

    // A process that exits loses its memory during the census, and its parts would be wrong.
    if (!read_status_sizes(*process)) return gone();
    std::uint64_t sum = 0;
    for (const Bytes part : census.parts) sum += part.n;
    const std::uint64_t apart = std::max(sum, census.anon.n) - std::min(sum, census.anon.n);
    constexpr std::uint64_t kSmall = std::uint64_t{1} << 20;
    if (apart > kSmall && apart > census.anon.n / 100 * 3) ++census.incomplete[HeapGap::torn];
    return census;
}

}  // namespace

Result<HeapCensus> take_heap_census(const SysRoot& root, pid_t pid, const HeapBudget& budget) {
    const Seconds began = ReadDeadline::cpu_seconds();
    const ReadDeadline deadline(budget.time);
    bool has_moved = false;
    auto census = take_census(root, pid, budget, deadline, &has_moved);
    if (census && has_moved) census = take_census(root, pid, budget, deadline, nullptr);
    if (census) census->taken = ReadDeadline::cpu_seconds() - began;
    return census;
}

}  // namespace memscope
