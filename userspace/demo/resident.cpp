#include "demo/resident.h"

#include <algorithm>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

namespace memscope {
namespace {

// Touched: untouched memory is not resident. Without huge pages: the size is then exact, and a shared page that is
// written to is copied alone.
std::span<char> map_touched(Bytes size) {
    void* mapped = ::mmap(nullptr, size.n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) return {};
    (void)::madvise(mapped, size.n, MADV_NOHUGEPAGE);  // a kernel without them refuses, and has none
    std::memset(mapped, 1, size.n);
    return {static_cast<char*>(mapped), size.n};
}

}  // namespace

void ResidentMemory::follow(Bytes wanted) {
    const std::size_t count = (wanted.n + kChunk.n / 2) / kChunk.n;
    for (; chunks_.size() > count; chunks_.pop_back()) ::munmap(chunks_.back().data(), chunks_.back().size());
    while (chunks_.size() < count) {
        const auto chunk = map_touched(kChunk);
        if (chunk.empty()) return;
        chunks_.push_back(chunk);
    }
}

Dataset Dataset::build(Bytes size) {
    Dataset built;
    if (size.n > 0) built.bytes_ = map_touched(size);
    return built;
}

void Dataset::rewrite(Bytes wanted) {
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    const std::size_t end = std::min<std::size_t>(wanted.n, bytes_.size());
    for (; written_ < end; written_ += page) {
        volatile char& byte = bytes_[written_];
        byte = 2;
    }
}

}  // namespace memscope
