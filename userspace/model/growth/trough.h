#pragma once
#include <algorithm>
#include <cstdint>
#include <optional>

#include "base/units.h"

namespace memscope {

// The lowest live bytes of a call stack right after it freed memory, of the last 30 to 60 seconds. A stack that
// allocates in each step of a job and frees before the next step comes back to the same value again and again. What it
// holds above that value will be freed soon, so the stack does not keep it. A stack that frees nothing has no trough.
class Trough {
  public:
    static constexpr Seconds kSpan{30};

    // The stack has freed memory and holds `bytes` after that. Times are of one clock and do not go back.
    void note(Seconds now, std::int64_t bytes) {
        if (!current_.low || now - current_.began >= kSpan) {
            before_ = current_;
            current_ = {.began = now};
        }
        current_.low = std::min(current_.low.value_or(bytes), bytes);
    }
    // The part of `bytes`, which the stack holds now, that is likely to be freed soon.
    std::int64_t passing(Seconds now, std::int64_t bytes) const {
        std::int64_t low = bytes;
        for (const Part& part : {current_, before_})
            if (part.low && now - part.began < 2 * kSpan) low = std::min(low, *part.low);
        return std::max<std::int64_t>(bytes - std::max<std::int64_t>(low, 0), 0);
    }
    bool is_over(Seconds now) const { return now - current_.began >= 2 * kSpan; }

  private:
    struct Part {
        Seconds began{};
        std::optional<std::int64_t> low{};
    };
    Part current_{};
    Part before_{};
};

}  // namespace memscope
