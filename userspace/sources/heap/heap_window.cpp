#include "sources/heap/heap_window.h"

#include <algorithm>
#include <cstring>

namespace memscope {

void HeapWindow::fill(std::uint64_t address, std::size_t bytes, std::uint64_t limit, std::size_t ahead) {
    constexpr std::uint64_t kPiece = std::uint64_t{64} << 10;
    ++fills_;
    const std::uint64_t most = limit > address ? limit - address : 0;
    start_ = address;
    size_ = std::clamp<std::size_t>(std::min<std::uint64_t>(ahead, most), std::min(bytes, kMost), kMost);
    pieces_.clear();
    const auto runs = pages_.runs();
    auto run = std::upper_bound(runs.begin(), runs.end(), start_,
                                [](std::uint64_t value, const HeapRange& r) { return value < r.end; });
    std::uint64_t known = start_;  // everything before is read, or 0
    const auto skip_to = [&](std::uint64_t to) {
        std::memset(buffer_.data() + (known - start_), 0, to - known);
        known = to;
    };
    for (; run != runs.end() && run->start < start_ + size_; ++run) {
        const std::uint64_t end = std::min(run->end, start_ + size_);
        skip_to(std::max(known, run->start));
        while (known < end) {
            const std::uint64_t part = std::min(rounded_down(known, kPiece) + kPiece, end) - known;
            pieces_.push_back({known, std::span(buffer_).subspan(known - start_, part)});
            known += part;
        }
    }
    skip_to(start_ + size_);
    source_.read(pieces_);
    // One page that is gone makes its whole piece unreadable, so the other pages are read one by one.
    std::vector<MemorySource::Piece> single;
    for (const MemorySource::Piece& piece : pieces_) {
        if (piece.done) continue;
        std::ranges::fill(piece.into, std::byte{0});
        for (std::uint64_t at = 0; at < piece.into.size();) {
            const std::uint64_t part =
                std::min<std::uint64_t>(kPage - (piece.address + at) % kPage, piece.into.size() - at);
            single.push_back({piece.address + at, piece.into.subspan(at, part)});
            at += part;
        }
    }
    if (single.empty()) return;
    source_.read(single);
    for (const MemorySource::Piece& page : single) {
        if (page.done) continue;
        std::ranges::fill(page.into, std::byte{0});
        ++lost_pages_;
    }
}

}  // namespace memscope
