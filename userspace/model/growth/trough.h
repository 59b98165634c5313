#pragma once
#include <algorithm>
#include <cstdint>
#include <optional>

#include "base/units.h"

namespace memscope {

// How a call stack frees memory, in the last 30 to 60 seconds: the lowest live bytes right after a free, and the
// deepest fall. A stack that allocates in each step of a job and frees before the next step comes back to the same
// value again and again. What it holds above that value, up to the deepest fall, will be freed soon, so the stack does
// not keep it. A stack that keeps much and frees little has shallow falls. A stack that frees nothing has no trough.
class Trough {
  public:
    static constexpr Seconds kSpan{30};

    // The stack held `high`, then freed memory and held `bytes` after that. Times are of one clock and do not go back.
    void note(Seconds now, std::int64_t bytes, std::int64_t high) { note(now, bytes, high, high - bytes); }
    // Several frees: the lowest value after a free, the highest value before a free, and the deepest fall, which is
    // less than the difference if the highest value came later.
    void note(Seconds now, std::int64_t low, std::int64_t high, std::int64_t fall) {
        if (!current_.low || now - current_.began >= kSpan) {
            before_ = current_;
            current_ = {.began = now};
        }
        current_.low = std::min(current_.low.value_or(low), low);
        current_.fall = std::max({current_.fall, current_.high - low, fall});
        current_.high = std::max(current_.high, high);
    }
    // The part of `bytes`, which the stack holds now, that is likely to be freed soon.
    std::int64_t passing(Seconds now, std::int64_t bytes) const {
        std::int64_t low = bytes, fall = 0;
        for (const Part& part : {current_, before_}) {
            if (!part.low || now - part.began >= 2 * kSpan) continue;
            low = std::min(low, *part.low);
            fall = std::max(fall, part.fall);
        }
        return std::max<std::int64_t>(std::min(bytes - std::max<std::int64_t>(low, 0), fall), 0);
    }
    bool is_over(Seconds now) const { return now - current_.began >= 2 * kSpan; }

  private:
    struct Part {
        Seconds began{};
        std::optional<std::int64_t> low{};
        std::int64_t high = 0;
        std::int64_t fall = 0;  // the deepest one from the highest value before it
    };
    Part current_{};
    Part before_{};
};

}  // namespace memscope
