#include "sources/proc/pagemap.h"

#include <array>
#include <bit>
#include <chrono>
#include <fcntl.h>
#include <unistd.h>

#include "base/text.h"
#include "base/units.h"

namespace memscope {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::uint64_t kPiecesPerClockRead = 64;  // pieces between two reads of the clock

// Bits of a pagemap entry.
constexpr std::uint64_t kPresent = 1ULL << 63;
constexpr std::uint64_t kSwapped = 1ULL << 62;
constexpr std::uint64_t kMapped = 1ULL << 61;  // page of a file or of shared memory
constexpr std::uint64_t kOwn = 1ULL << 56;

constexpr std::uint64_t kUserEnd = 1ULL << 57;  // end of the largest user address space

// Leaves out memory that is only reserved, memory of a device, and memory of the kernel.
bool is_worth_sampling(const MappedRange& range) {
    return (range.readable || range.writable) && range.end <= kUserEnd && !range.path.starts_with("/dev/nvidia") &&
           !range.path.starts_with("/dev/dri") && range.path != "[vvar]";
}

// Hash that puts neighbours far apart, so that memory with a regular pattern is neither always hit nor always missed.
std::uint64_t scattered(std::uint64_t n) {
    n = (n ^ (n >> 30)) * 0xbf58476d1ce4e5b9ULL;
    n = (n ^ (n >> 27)) * 0x94d049bb133111ebULL;
    return n ^ (n >> 31);
}

void count(PageSample& sample, std::uint64_t entry) {
    if (!(entry & kPresent)) return;
    if (entry & kMapped)
        ++(entry & kOwn ? sample.own_mapped : sample.shared_mapped);
    else
        ++(entry & kOwn ? sample.own_anon : sample.shared_anon);
}

// Reads at most one piece.
Status sample_piece(const Fd& pagemap, std::uint64_t from, std::uint64_t to, std::uint64_t page, PageSample& sample) {
    std::array<std::uint64_t, SamplePlan::kPagesAPiece> entries{};
    const ssize_t got = ::pread(pagemap.get(), entries.data(), (to - from) / page * sizeof entries[0],
                                static_cast<off_t>(from / page * sizeof entries[0]));
    if (got < 0) return system_error(errno, "read pagemap");
    if (got == 0) return system_error(ESRCH, "read pagemap");
    for (std::size_t i = 0; i < static_cast<std::size_t>(got) / sizeof entries[0]; ++i) count(sample, entries.at(i));
    return Done{};
}

// Does one pass. False if the time ran out before its end.
Result<bool> sample_pass(const Fd& pagemap, const ProcessMaps& maps, const SamplePlan& plan, unsigned pass,
                         Clock::time_point end, PageSample& sample) {
    std::uint64_t pieces = 0;
    for (const MappedRange& range : maps.ranges) {
        if (!is_worth_sampling(range)) continue;
        for (std::uint64_t cell = range.start / plan.cell; cell * plan.cell < range.end; ++cell) {
            if (scattered(~cell) % SamplePlan::kPasses != pass) continue;
            const std::uint64_t piece = plan.piece_in(cell);
            const std::uint64_t from = std::max(piece, range.start);
            const std::uint64_t to = std::min(piece + SamplePlan::kPagesAPiece * plan.page, range.end);
            if (from >= to) continue;
            if (++pieces % kPiecesPerClockRead == 0 && Clock::now() > end) return false;
            if (const auto done = sample_piece(pagemap, from, to, plan.page, sample); !done) return done.error();
        }
    }
    return true;
}

PageSample operator+(const PageSample& a, const PageSample& b) {
    return {a.own_anon + b.own_anon, a.shared_anon + b.shared_anon, a.own_mapped + b.own_mapped,
            a.shared_mapped + b.shared_mapped};
}

Bytes part(Bytes all, std::uint64_t some, std::uint64_t of) {
    return of == 0 ? Bytes{}
                   : Bytes{static_cast<std::uint64_t>(static_cast<double>(all.n) * static_cast<double>(some) /
                                                      static_cast<double>(of))};
}

}  // namespace

SamplePlan SamplePlan::of(const ProcessMaps& maps, Bytes page) {
    std::uint64_t all = 0;
    for (const MappedRange& range : maps.ranges)
        if (is_worth_sampling(range)) all += range.end - range.start;
    return {.cell = std::bit_ceil(std::max(all / kMostPieces, kPagesAPiece * page.n)), .page = page.n};
}

std::uint64_t SamplePlan::piece_in(std::uint64_t cell_index) const {
    const std::uint64_t piece = kPagesAPiece * page;
    return cell_index * cell + scattered(cell_index) % (cell / piece) * piece;
}

Result<PageSample> sample_pages(const Fd& process, const ProcessMaps& maps, Bytes page, Seconds most) {
    const Fd pagemap{::openat(process.get(), "pagemap", O_RDONLY | O_CLOEXEC)};
    if (!pagemap) return system_error(errno, "open pagemap");
    const SamplePlan plan = SamplePlan::of(maps, page);
    const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(most);
    PageSample sample;
    for (unsigned pass = 0; pass < SamplePlan::kPasses; ++pass) {
        PageSample seen;  // an incomplete pass has too many pages of low addresses, so it is dropped
        const auto whole = sample_pass(pagemap, maps, plan, pass, end, seen);
        if (!whole) return whole.error();
        if (!*whole && pass == 0) return plain_error("it has too many mappings to be sampled in the allowed time");
        if (!*whole) break;
        sample = sample + seen;
    }
    return sample;
}

std::optional<PageSharing> extrapolate(const PageSample& sample, std::string_view statm, Bytes page) {
    const auto fields = split(trimmed(statm), ' ');
    if (fields.size() < 3) return std::nullopt;
    const auto resident = parse_number(fields[1]), mapped = parse_number(fields[2]);
    constexpr std::uint64_t kMostPages = 1ULL << 52;
    if (!resident || !mapped || *resident > kMostPages || *mapped > kMostPages) return std::nullopt;
    const Bytes all{*resident * page.n}, anonymous = all - Bytes{*mapped * page.n};
    return PageSharing{
        .resident = all,
        .anonymous = anonymous,
        .own_anon = part(anonymous, sample.own_anon, sample.own_anon + sample.shared_anon),
        .own_mapped = part(all - anonymous, sample.own_mapped, sample.own_mapped + sample.shared_mapped)};
}

Result<std::vector<std::uint64_t>> absent_pages(const Fd& process, std::span<const std::uint64_t> addresses,
                                                Bytes page) {
    const Fd pagemap(::openat(process.get(), "pagemap", O_RDONLY | O_CLOEXEC));
    if (!pagemap) return system_error(errno, "open pagemap");
    std::array<std::uint64_t, 64> entries{};  // neighbours are read together
    std::vector<std::uint64_t> absent;
    for (std::size_t next = 0; next < addresses.size();) {
        const std::uint64_t first = addresses[next] / page.n;
        std::size_t behind = next + 1;
        while (behind < addresses.size() && addresses[behind] / page.n - first < entries.size()) ++behind;
        const std::size_t wanted = addresses[behind - 1] / page.n - first + 1;
        const ssize_t got = ::pread(pagemap.get(), entries.data(), wanted * sizeof entries[0],
                                    static_cast<off_t>(first * sizeof entries[0]));
        if (got < 0) return system_error(errno, "read pagemap");
        if (got == 0) return system_error(ESRCH, "read pagemap");
        const std::size_t read = static_cast<std::size_t>(got) / sizeof entries[0];
        for (; next < behind; ++next) {
            const std::uint64_t index = addresses[next] / page.n - first;
            const bool there =
                index < read && (entries.at(index) & (kPresent | kSwapped)) != 0 && (entries.at(index) & kMapped) == 0;
            if (!there) absent.push_back(addresses[next]);
        }
    }
    return absent;
}

Result<PageSharing> read_page_sample(const Fd& process, Seconds most) {
    const Bytes page{page_bytes()};
    const auto maps = read_process_maps(process);
    if (!maps) return maps.error();
    const auto sample = sample_pages(process, *maps, page, most);
    if (!sample) return sample.error();
    const auto statm = read_file_at(process, "statm");
    if (!statm) return statm.error();
    const auto pages = extrapolate(*sample, *statm, page);
    if (!pages) return plain_error("/proc/PID/statm has an unexpected format");
    return *pages;
}

}  // namespace memscope
