#pragma once
#include <string_view>

#include "base/result.h"
#include "base/units.h"

namespace memscope {

// The time span that a user requests for a growth report.
struct GrowthRequest {
    enum class Since {
        start,   // since watching began
        warmup,  // since the end of the warm-up; since watching began if no warm-up has ended
        ago,     // since a time ago
    };
    Since since = Since::start;
    Seconds ago{};         // only for Since::ago
    bool at_peak = false;  // the growth of the time when the target held most, instead of now
    // With at_peak: use only the stored growth of an earlier peak, never the present growth, because the processes may
    // have exited since the last tick.
    bool kept_peak = false;
    bool operator==(const GrowthRequest&) const = default;
};

// "start", "warmup" or a duration ("10m"). Sets `since` and `ago`.
Status parse_since(std::string_view text, GrowthRequest& request);
// "now" or "peak".
Status parse_at(std::string_view text, GrowthRequest& request);

}  // namespace memscope
