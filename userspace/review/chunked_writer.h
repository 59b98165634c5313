#pragma once
#include <string>
#include <string_view>

#include "review/export.h"

namespace memscope {

// Writes an export in chunks, because single lines would cost a system call each.
class ChunkedWriter {
  public:
    explicit ChunkedWriter(const WriteText& write) : write_(write) {}

    // False: the reader is gone, or the disk is full. finish() returns the reason.
    bool add(std::string_view text) {
        chunk_ += text;
        return chunk_.size() < kChunk || flush();
    }
    Status finish() {
        flush();
        return status_;
    }

  private:
    static constexpr std::size_t kChunk = std::size_t{64} << 10U;  // bytes

    bool flush() {
        if (!chunk_.empty() && status_) status_ = write_(chunk_);
        chunk_.clear();
        return static_cast<bool>(status_);
    }

    const WriteText& write_;
    std::string chunk_{};
    Status status_ = Done{};
};

}  // namespace memscope
