#pragma once
#include <string_view>

#include "base/result.h"
#include "model/deaths/death_report.h"

namespace memscope {

// More than any report has; a file that is larger is none.
inline constexpr std::size_t kMostReportBytes = std::size_t{4} << 20U;

// What death_report_json() wrote. The text may be anything: a file that was cut, or one that somebody made up.
Result<DeathReport> parse_report(std::string_view text);

// The same report in ASCII: whatever a file holds, it steers no terminal.
Result<std::string> report_as_json(std::string_view text);

}  // namespace memscope
