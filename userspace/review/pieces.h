#pragma once
#include <string>
#include <string_view>

#include "review/export.h"

namespace memscope {

// Collects an export in pieces of some size, because single lines would cost a system call each.
class Pieces {
  public:
    explicit Pieces(const WriteText& write) : write_(write) {}

    // False: the reader is gone, or the disk is full. finish() returns the reason.
    bool add(std::string_view text) {
        piece_ += text;
        return piece_.size() < kPiece || flush();
    }
    Status finish() {
        flush();
        return status_;
    }

  private:
    static constexpr std::size_t kPiece = std::size_t{64} << 10U;  // bytes

    bool flush() {
        if (!piece_.empty() && status_) status_ = write_(piece_);
        piece_.clear();
        return static_cast<bool>(status_);
    }

    const WriteText& write_;
    std::string piece_{};
    Status status_ = Done{};
};

}  // namespace memscope
