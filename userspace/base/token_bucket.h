#pragma once
#include <algorithm>

#include "base/units.h"

namespace memscope {

// Rate limit: `most` events at once, then one per interval `each`. So a job that crashes in a loop is reported, but
// does not displace other reports.
class TokenBucket {
  public:
    TokenBucket(double most, Seconds each) : most_(most), each_(each), left_(most) {}

    // Times are monotonic.
    bool may(Seconds now) {
        left_ = std::min(most_, left_ + std::max(now - last_, Seconds{}) / each_);
        last_ = now;
        return left_ >= 1;
    }
    void take() { left_ -= 1; }

  private:
    double most_;
    Seconds each_;
    double left_;
    Seconds last_{};
};

}  // namespace memscope
