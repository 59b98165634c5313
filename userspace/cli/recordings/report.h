#pragma once
#include <string>

#include "base/result.h"
#include "cli/arguments/options.h"

namespace memscope {

// The text of the last death report, or of the file that the options name.
Result<std::string> show_report(const ReportOptions& options, bool colour);

// Writes the HTML file that the options name. Returns a line that says what was written.
Result<std::string> write_html_report(const ReportOptions& options);

}  // namespace memscope
