#pragma once
#include <span>
#include <vector>

#include "base/units.h"

namespace memscope {

constexpr Bytes kChunk{4ULL << 20};

// Memory of the calling process that is really resident, kept at the size one wants: whole chunks, each mapped and
// touched, and unmapped again when it is to go.
class ResidentMemory {
  public:
    ResidentMemory() = default;
    ResidentMemory(const ResidentMemory&) = delete;
    ResidentMemory& operator=(const ResidentMemory&) = delete;
    ~ResidentMemory() { follow({}); }

    void follow(Bytes wanted);  // to the nearest chunk; as far as it gets where the machine gives no more
    Bytes held() const { return {chunks_.size() * kChunk.n}; }

  private:
    std::vector<std::span<char>> chunks_;
};

// Memory that is there before a fork, so that the children share it. Never given back: it ends with the process.
class Dataset {
  public:
    Dataset() = default;
    static Dataset build(Bytes size);  // empty where the machine gives no memory

    Bytes size() const { return {bytes_.size()}; }
    // Writes one byte into each page that starts in the first `wanted` bytes and was not written before: the kernel
    // then copies a page that is shared.
    void rewrite(Bytes wanted);

  private:
    std::span<char> bytes_{};
    std::size_t written_ = 0;  // where the next page to be written starts
};

}  // namespace memscope
