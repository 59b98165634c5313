#pragma once
#include <string_view>

#include "base/result.h"

namespace memscope {

// Parses a moment as a user writes it: "2h ago", "03:40", "03:40:10", "2026-11-15 03:40", "2026-11-15T03:40:10Z".
// Returns seconds since 1970. `now` is the current time. A time without a date is the last such time before `latest`,
// for example the end of a recording. Without Z, times are local.
Result<double> parse_moment(std::string_view text, double now, double latest);

}  // namespace memscope
