#pragma once
#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/deaths/death_report.h"

namespace memscope {

// Larger than any report: ReportStore writes at most 3 MiB.
inline constexpr std::size_t kMostReportBytes = std::size_t{4} << 20U;

// The report that the file contains as a record. The text is not trusted: the file can be truncated or forged.
Result<DeathReport> parse_report(std::string_view text);

// The JSON of the file without the record, in ASCII without control characters, so that a file cannot send control
// sequences to the terminal.
Result<std::string> report_as_json(std::string_view text);

}  // namespace memscope
