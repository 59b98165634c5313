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

void HeapCopy::Unmap::operator()(std::byte* slab) const { ::munmap(slab, kSlab); }

HeapCopy::HeapCopy(MemorySource& source, const ProcessMaps& maps, std::uint64_t most_bytes,
                   const ReadDeadline& deadline, ReadFile read_file)
    : source_(source),
      maps_(maps),
      deadline_(deadline),
      read_file_(std::move(read_file)),
      lines_(kLines),
      zeros_(kPage) {
    limit_to(most_bytes);
}

const std::byte* HeapCopy::find(std::uint64_t page) {
    Line& line = lines_[page % kLines];
    const auto known = pages_.find(page);
    if (known != pages_.end()) {
        line = {page, known->second};
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
    if (last_range_ != nullptr) return bytes <= last_range_->end - address;
    return is_present(address) && is_present(address + bytes - 1);
}

bool HeapCopy::is_claimed(Address address, std::uint64_t bytes) {
    const auto is_in_mapping = [&](Address at) { return range_at(at) != nullptr || is_present(at); };
    return bytes == 0 || (address + bytes > address && is_in_mapping(address) && is_in_mapping(address + bytes - 1));
}

void HeapCopy::load(std::uint64_t page) {
    if (late_ || !may_read(page * kPage)) return;
    const std::uint64_t first = rounded_down(page, kAhead);
    std::array<MemorySource::Piece, kAhead> pieces;
    std::size_t count = 0;
    std::byte* const bytes = room(often_, kAhead);
    for (std::uint64_t i = 0; i < kAhead; ++i) {
        if (pages_.contains(first + i) || (first + i != page && !may_read((first + i) * kPage))) continue;
        pieces[count++] = {(first + i) * kPage, {bytes + i * kPage, kPage}};
    }
    source_.read({pieces.data(), count});
    bool is_there = false;
    for (std::size_t i = 0; i < count; ++i) {
        if (!pieces[i].done) continue;
        keep(often_, pieces[i].address / kPage, pieces[i].into.data());
        is_there |= pieces[i].address / kPage == page;
    }
    std::byte* const own = bytes + (page - first) * kPage;
    if (!is_there && read_from_file(page, {own, kPage})) keep(often_, page, own);
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
            void* more = ::mmap(nullptr, kSlab, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            if (more == MAP_FAILED) throw std::bad_alloc();
            slab.bytes.reset(static_cast<std::byte*>(more));
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
    pages_[page] = bytes;
    lines_[page % kLines] = {page, bytes};
}

HeapCopy::Slab HeapCopy::take_oldest(Ring& ring) {
    const std::byte* const start = ring.slabs.front().bytes.get();
    for (const std::uint64_t page : ring.slabs.front().pages) {
        const auto known = pages_.find(page);
        if (known == pages_.end() || known->second < start || known->second >= start + kSlab) continue;  // newer copy
        pages_.erase(known);
        Line& line = lines_[page % kLines];
        if (line.page == page) line = {};
    }
    Slab oldest = std::move(ring.slabs.front());
    ring.slabs.pop_front();
    return oldest;
}

void HeapCopy::limit_to(std::uint64_t most_bytes) {
    often_.most = std::max<std::uint64_t>(most_bytes / kSlab, 2 + once_.most) - once_.most;
    while (often_.slabs.size() > often_.most) (void)take_oldest(often_);
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

void HeapCopy::correct(Address address, std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        const auto part = std::min<std::size_t>(bytes.size(), kPage - address % kPage);
        if (const auto copy = pages_.find(address / kPage); copy != pages_.end())
            std::memcpy(copy->second + address % kPage, bytes.data(), part);
        address += part;
        bytes = bytes.subspan(part);
    }
}

void HeapCopy::forget(const HeapRange& range) {
    for (std::uint64_t page = range.start / kPage; page * kPage < range.end && !late(); ++page) {
        pages_.erase(page);
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
