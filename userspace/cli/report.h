#pragma once
#include <string>

#include "base/result.h"
#include "cli/options.h"

namespace memscope {

// The last death that was written down, or the one that is named.
Result<std::string> show_report(const ReportOptions& options, bool colour);

}  // namespace memscope
