#pragma once
#include <string_view>

#include "base/result.h"

namespace memscope {

// A moment as people say it: "2h ago", "03:40", "03:40:10", "2026-11-15 03:40", "2026-11-15T03:40:10Z". Seconds since
// 1970. `now` is the current time. A time without a date is the last such moment before `latest`, for example the end
// of a recording. Without Z, times are local.
Result<double> parse_moment(std::string_view text, double now, double latest);

}  // namespace memscope
