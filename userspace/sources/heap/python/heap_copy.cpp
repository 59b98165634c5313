#include "sources/heap/python/heap_copy.h"

#include <algorithm>
#include <new>
#include <sys/mman.h>

namespace memscope {
namespace {

// Reads of device memory can move pages between a GPU and the host.
bool is_safe_to_read(const MappedRange& range) {
    const std::string_view path = range.path;
    return range.readable && path != "[vvar]" && path != "[vvar_vclock]" && path != "[vsyscall]" &&
           (!path.starts_with("/dev/") || path.starts_with("/dev/shm/") || path.starts_with("/dev/zero"));
}

}  // namespace

void CopiedPages::set(std::uint64_t page, std::byte* bytes) {
    if (2 * (used_ + 1) > table_.size()) {
        std::vector<Entry> old(2 * table_.size());
        old.swap(table_);
        used_ = 0;
        for (const Entry& each : old)
            if (each.bytes != nullptr) set(each.page, each.bytes);
    }
    std::size_t at = place(page);
    while (table_[at].bytes != nullptr && table_[at].page != page) at = (at + 1) & mask();
    used_ += table_[at].bytes == nullptr ? 1 : 0;
    table_[at] = {page, bytes};
}

void CopiedPages::erase(std::uint64_t page) {
    std::size_t hole = place(page);
    while (table_[hole].bytes != nullptr && table_[hole].page != page) hole = (hole + 1) & mask();
    if (table_[hole].bytes == nullptr) return;
    --used_;
    // Entries behind the hole move into it if their search would end at the hole.
    for (std::size_t at = (hole + 1) & mask(); table_[at].bytes != nullptr; at = (at + 1) & mask())
        if (((at - place(table_[at].page)) & mask()) >= ((at - hole) & mask())) {
            table_[hole] = table_[at];
            hole = at;
        }
    table_[hole] = {};
}

// In one large page if the kernel has one: the copy is read all over.
std::byte* HeapCopy::map_slab() {
    void* more = ::mmap(nullptr, 2 * kSlab, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (more == MAP_FAILED) throw std::bad_alloc();
    auto* const all = static_cast<std::byte*>(more);
    const std::uint64_t before = (kSlab - reinterpret_cast<std::uintptr_t>(all) % kSlab) % kSlab;
    if (before > 0) (void)::munmap(all, before);
    (void)::munmap(all + before + kSlab, kSlab - before);
    (void)::madvise(all + before, kSlab, MADV_HUGEPAGE);
    return all + before;
}

void HeapCopy::Unmap::operator()(std::byte* slab) const { ::munmap(slab, kSlab); }

HeapCopy::HeapCopy(MemorySource& source, const ProcessMaps& maps, std::uint64_t most_bytes,
                   const ReadDeadline& deadline, ReadFile read_file)
    : source_(source),
      maps_(maps),
      deadline_(deadline),
      read_file_(std::move(read_file)),
      lines_(kLines),
      zeros_(kPage),
      absent_(std::size_t{1} << kAbsentBits, kNoPage) {
    limit_to(most_bytes);
}

const std::byte* HeapCopy::find(std::uint64_t page) {
    Line& line = lines_[page % kLines];
    if (const std::byte* known = pages_.find(page); known != nullptr) {
        line = {page, known};
    } else {
        line = {page, zeros_.data()};
        load(page);
    }
    return lines_[page % kLines].bytes;
}

bool HeapCopy::may_read(Address address) {
    constexpr Address kUserEnd = Address{1} << 56;
    if (address < kPage || address >= kUserEnd) return false;
    if (last_range_ == nullptr || address < last_range_->start || address >= last_range_->end)
        last_range_ = range_at(address);
    return last_range_ == nullptr || is_safe_to_read(*last_range_);
}

bool HeapCopy::is_mapped(Address address, std::uint64_t bytes) {
    if (bytes == 0) return true;
    if (!may_read(address) || address + bytes < address) return false;
    // A heap or a large block may have grown since the mappings were listed.
    if (last_range_ != nullptr && bytes <= last_range_->end - address) return true;
    if (last_range_ != nullptr && !may_read(address + bytes - 1)) return false;
    return is_present(address) && is_present(address + bytes - 1);
}

bool HeapCopy::is_claimed(Address address, std::uint64_t bytes) {
    const auto is_in_mapping = [&](Address at) { return range_at(at) != nullptr || is_present(at); };
    return bytes == 0 || (address + bytes > address && is_in_mapping(address) && is_in_mapping(address + bytes - 1));
}

void HeapCopy::load(std::uint64_t page) {
    std::uint64_t& absent = absent_at(page);
    if (late_ || absent == page || !may_read(page * kPage)) return;
    const std::uint64_t first = rounded_down(page, kAhead);
    std::array<MemorySource::Piece, kAhead> pieces;
    std::size_t count = 0;
    std::byte* const bytes = room(often_, kAhead);
    for (std::uint64_t i = 0; i < kAhead; ++i) {
        if (pages_.find(first + i) != nullptr || (first + i != page && !may_read((first + i) * kPage))) continue;
        pieces[count++] = {(first + i) * kPage, {bytes + i * kPage, kPage}};
    }
    source_.read({pieces.data(), count});
    bool is_there = false;
    for (std::size_t i = 0; i < count; ++i) {
        if (!pieces[i].done) continue;
        keep(often_, pieces[i].address / kPage, pieces[i].into.data());
        is_there |= pieces[i].address / kPage == page;
    }
    if (is_there) return;
    std::byte* const own = bytes + (page - first) * kPage;
    if (read_from_file(page, {own, kPage}))
        keep(often_, page, own);
    else
        absent = page;
}

bool HeapCopy::read_from_file(std::uint64_t page, std::span<std::byte> into) {
    if (!read_file_ || !may_read(page * kPage) || last_range_ == nullptr) return false;
    const MappedRange& range = *last_range_;
    if (range.inode == 0 || range.writable || range.shared) return false;
    return read_file_(range, range.offset + (page * kPage - range.start), into);
}

std::byte* HeapCopy::room(Ring& ring, std::size_t pages) {
    if (ring.slabs.empty() || ring.used_in_last + pages > kSlab / kPage) {
        Slab slab;
        while (ring.slabs.size() >= ring.most) slab = take_oldest(ring);
        slab.pages.clear();
        if (!slab.bytes) {
            slab.bytes.reset(map_slab());
        }
        ring.slabs.push_back(std::move(slab));
        ring.used_in_last = 0;
    }
    std::byte* bytes = ring.slabs.back().bytes.get() + ring.used_in_last * kPage;
    ring.used_in_last += pages;
    return bytes;
}

void HeapCopy::keep(Ring& ring, std::uint64_t page, std::byte* bytes) {
    ring.slabs.back().pages.push_back(page);
    pages_.set(page, bytes);
    lines_[page % kLines] = {page, bytes};
}

HeapCopy::Slab HeapCopy::take_oldest(Ring& ring) {
    const std::byte* const start = ring.slabs.front().bytes.get();
    for (const std::uint64_t page : ring.slabs.front().pages) {
        const std::byte* known = pages_.find(page);
        if (known == nullptr || known < start || known >= start + kSlab) continue;  // newer copy
        pages_.erase(page);
        Line& line = lines_[page % kLines];
        if (line.page == page) line = {};
    }
    Slab oldest = std::move(ring.slabs.front());
    ring.slabs.pop_front();
    return oldest;
}

void HeapCopy::limit_to(std::uint64_t most_bytes) {
    constexpr std::uint64_t kMostSoon = 6;
    const std::uint64_t slabs = most_bytes / kSlab;
    soon_.most = std::clamp<std::uint64_t>(slabs / 8, 2, kMostSoon);
    often_.most = std::max<std::uint64_t>(slabs, 1 + once_.most + soon_.most) - once_.most - soon_.most;
    for (Ring* ring : {&often_, &soon_})
        while (ring->slabs.size() > ring->most) (void)take_oldest(*ring);
}

void HeapCopy::read(Address address, std::span<std::byte> into) {
    while (!into.empty()) {
        const auto part = std::min<std::size_t>(into.size(), kPage - address % kPage);
        std::memcpy(into.data(), at(address), part);
        address += part;
        into = into.subspan(part);
    }
}

std::string HeapCopy::c_string(Address address, std::size_t most) {
    std::string text;
    constexpr unsigned char kFirstPrintable = 32;
    for (; text.size() < most; ++address) {
        const auto c = get<unsigned char>(address);
        if (c == 0) break;
        if (c < kFirstPrintable) return {};
        text += static_cast<char>(c);
    }
    return text;
}

void HeapCopy::prefetch(std::vector<Address>& addresses) {
    constexpr std::size_t kAtOnce = 64;
    for (Address& each : addresses) each /= kPage;
    std::ranges::sort(addresses);
    std::vector<MemorySource::Piece> pieces;
    const auto flush = [&] {
        source_.read(pieces);
        for (const MemorySource::Piece& piece : pieces)
            if (piece.done) keep(soon_, piece.address / kPage, piece.into.data());
        pieces.clear();
    };
    std::size_t left = (soon_.most - 1) * (kSlab / kPage);  // more would replace the first ones
    Address last = kNoPage;
    for (const Address page : addresses) {
        if (page == last || pages_.find(page) != nullptr || !may_read(page * kPage)) continue;
        if (left == 0 || late()) break;
        --left;
        last = page;
        // All pieces of one call lie in one slab, because room() may drop the oldest slab.
        if (pieces.size() == kAtOnce || (!soon_.slabs.empty() && soon_.used_in_last + 1 > kSlab / kPage)) flush();
        pieces.push_back({page * kPage, {room(soon_, 1), kPage}});
    }
    flush();
}

bool HeapCopy::read_past(Address address, std::span<std::byte> into) {
    if (late()) return false;
    MemorySource::Piece piece{address, into};
    source_.read({&piece, 1});
    return piece.done;
}

void HeapCopy::copy_again(std::span<const HeapRange> ranges) {
    constexpr std::size_t kAtOnce = 64;
    std::vector<std::byte> bytes;
    std::vector<MemorySource::Piece> pieces;
    for (std::size_t from = 0; from < ranges.size() && !late(); from += kAtOnce) {
        const auto part = ranges.subspan(from, std::min(kAtOnce, ranges.size() - from));
        std::uint64_t size = 0;
        for (const HeapRange& range : part) size += range.size();
        bytes.resize(size);
        pieces.clear();
        std::size_t at = 0;
        for (const HeapRange& range : part) {
            pieces.push_back({range.start, std::span(bytes).subspan(at, range.size())});
            at += range.size();
        }
        source_.read(pieces);
        for (const MemorySource::Piece& piece : pieces)
            if (piece.done) correct(piece.address, piece.into);
    }
}

std::vector<HeapCopy::Head> HeapCopy::heads_now(std::span<const Address> objects) {
    constexpr std::size_t kAtOnce = 256;
    std::vector<Head> heads(objects.size());
    std::vector<MemorySource::Piece> pieces;
    for (std::size_t from = 0; from < objects.size(); from += kAtOnce) {
        pieces.clear();
        for (std::size_t i = from; i < std::min(objects.size(), from + kAtOnce); ++i)
            pieces.push_back({objects[i], std::as_writable_bytes(std::span(heads[i]))});
        source_.read(pieces);
        for (std::size_t i = 0; i < pieces.size(); ++i)
            if (!pieces[i].done) heads[from + i] = {};
    }
    return heads;
}

void HeapCopy::correct(Address address, std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        const auto part = std::min<std::size_t>(bytes.size(), kPage - address % kPage);
        if (std::byte* copy = pages_.find(address / kPage); copy != nullptr)
            std::memcpy(copy + address % kPage, bytes.data(), part);
        address += part;
        bytes = bytes.subspan(part);
    }
}

void HeapCopy::forget(const HeapRange& range) {
    for (std::uint64_t page = range.start / kPage; page * kPage < range.end && !late(); ++page) {
        pages_.erase(page);
        if (absent_at(page) == page) absent_at(page) = kNoPage;
        Line& line = lines_[page % kLines];
        if (line.page == page) line = {};
    }
}

std::uint64_t HeapCopy::copy(std::span<const HeapRange> ranges, Use use) {
    Ring& ring = use == Use::once ? once_ : often_;
    constexpr std::size_t kAtOnce = 64;
    std::vector<MemorySource::Piece> pieces;
    std::uint64_t absent = 0;
    const auto flush = [&] {
        source_.read(pieces);
        for (const MemorySource::Piece& piece : pieces) {
            std::vector<MemorySource::Piece> single;
            for (std::uint64_t i = 0; i < kUnit; i += kPage)
                single.push_back({piece.address + i, piece.into.subspan(i, kPage), piece.done});
            if (!piece.done) source_.read(single);  // some of its pages may be present
            for (const MemorySource::Piece& page : single) {
                if (page.done)
                    keep(ring, page.address / kPage, page.into.data());
                else
                    ++absent;
            }
        }
        pieces.clear();
    };
    for (const HeapRange& range : ranges)
        for (Address at = rounded_up(range.start, kUnit); at + kUnit <= range.end; at += kUnit) {
            if (late()) return absent;
            // All pieces of one call lie in one slab, because room() may drop the oldest slab.
            if (pieces.size() == kAtOnce || (!ring.slabs.empty() && ring.used_in_last + kUnit / kPage > kSlab / kPage))
                flush();
            pieces.push_back({at, {room(ring, kUnit / kPage), kUnit}});
        }
    flush();
    return absent;
}

}  // namespace memscope
