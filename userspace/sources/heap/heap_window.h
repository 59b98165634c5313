#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sources/heap/present_memory.h"

namespace memscope {

// Reads memory of a process in the order of addresses, through one buffer that is filled with few system calls. A byte
// that cannot be read is 0.
class HeapWindow {
  public:
    static constexpr std::size_t kMost = std::size_t{1} << 20;

    HeapWindow(MemorySource& source, const PresentPages& pages)
        : source_(source), pages_(pages), buffer_(kMost + kPage) {}

    bool contains(std::uint64_t address, std::size_t bytes) const {
        return address >= start_ && bytes <= size_ && address - start_ <= size_ - bytes;
    }
    // `bytes` bytes from the address on, at most kMost. If they are not in the buffer, it is filled from the address on
    // with `ahead` bytes, but not beyond `limit`.
    const std::byte* at(std::uint64_t address, std::size_t bytes, std::uint64_t limit, std::size_t ahead) {
        if (!contains(address, bytes)) fill(address, bytes, limit, ahead);
        return buffer_.data() + (address - start_);
    }
    void forget() { size_ = 0; }
    const PresentPages& pages() const { return pages_; }
    std::uint64_t fills() const { return fills_; }
    std::uint64_t lost_pages() const { return lost_pages_; }  // they were present before, and could not be read

  private:
    static constexpr std::uint64_t kPage = 4096;

    void fill(std::uint64_t address, std::size_t bytes, std::uint64_t limit, std::size_t ahead);

    MemorySource& source_;
    const PresentPages& pages_;
    std::vector<std::byte> buffer_;
    std::vector<MemorySource::Piece> pieces_{};
    std::uint64_t start_ = 0;
    std::size_t size_ = 0;
    std::uint64_t fills_ = 0;
    std::uint64_t lost_pages_ = 0;
};

}  // namespace memscope
