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

// A recorded run as one HTML file that needs no network and no server. The file has less than 5 MB. This limits the
// number of ticks and the resolution of the curves.
Result<std::string> html_report(const RecordedRun& recorded, const PageFiles& files, const HtmlReportOptions& options);

// The parts, for tests.
// JSON that can be put between the tags of a script element.
std::string escaped_for_html(std::string_view json);
// One HTML file from the files of the page and the data. An error if a file of the page cannot be put into it.
Result<std::string> assemble_html(const std::string& index, std::string script, std::string style,
                                  std::string_view data);
// Chooses at most `most` of the sorted `times`: for each time of `wanted` the last time at or before it, and other
// times evenly in between. `wanted` begins with the most important time.
std::vector<double> choose_moments(const std::vector<double>& times, const std::vector<double>& wanted,
                                   std::size_t most);

}  // namespace memscope::web
