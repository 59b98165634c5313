#pragma once
#include <string_view>

#include "base/result.h"
#include "base/units.h"

namespace memscope {

// The time that a report of growth is about.
struct GrowthRequest {
    enum class Since {
        start,   // since watching began
        warmup,  // since the end of the warm-up; since watching began if no warm-up has ended
        ago,     // since a time ago
    };
    Since since = Since::start;
    Seconds ago{};         // only for Since::ago
    bool at_peak = false;  // what was held when the target held most, instead of now
    // With at_peak: only the peak that was kept, never now, because the processes may have exited since the last tick.
    bool kept_peak = false;
    bool operator==(const GrowthRequest&) const = default;
};

// "start", "warmup" or a duration ("10m"). Sets `since` and `ago`.
Status parse_since(std::string_view text, GrowthRequest& request);
// "now" or "peak".
Status parse_at(std::string_view text, GrowthRequest& request);

}  // namespace memscope
