#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "web/page_files.h"
#include "web/recorded_run.h"

namespace memscope::web {

struct HtmlReportOptions {
    bool with_commands = false;  // also the command lines of processes and of actions
};

// A recorded run as one HTML file that needs no network and no server. Less than 5 MB: the number of ticks and the
// resolution of the curves follow from that.
Result<std::string> html_report(const RecordedRun& recorded, const PageFiles& files, const HtmlReportOptions& options);

// The parts, for tests.
// JSON that can be put between the tags of a script element.
std::string escaped_for_html(std::string_view json);
// One HTML file from the files of the page and the data. An error if a file of the page cannot be put into it.
Result<std::string> assemble_html(const std::string& index, std::string script, std::string style,
                                  std::string_view data);
// Of sorted times: those that must be there as far as they exist (the last one at or before each), and others evenly in
// between, at most `most`. The more important ones come first in `wanted`.
std::vector<double> choose_moments(const std::vector<double>& times, const std::vector<double>& wanted,
                                   std::size_t most);

}  // namespace memscope::web
