// The report of a death, whatever it holds: read, shown, written again, and read once more.
#include <nlohmann/json.hpp>

#include "cli/read_report.h"
#include "fuzz.h"
#include "outputs/deaths/death_report_json.h"
#include "outputs/deaths/death_text.h"

namespace memscope::fuzz {

void one(std::string_view bytes) {
    if (const auto json = parsed(report_as_json(bytes)))
        require(is_clean(*json, '\n') && nlohmann::json::parse(*json, nullptr, false).is_object(),
                "JSON stays JSON and steers no terminal", *json);
    auto report = parsed(parse_report(bytes));
    if (!report) return;
    const std::string story = death_story(*report, false);
    require(is_clean(story, '\n'), "the story steers no terminal", story);
    for (const std::string& line : death_block(*report, "/var/lib/memscope/death.json"))
        require(is_clean(line), "nor does the block", line);
    keep_within_bounds(*report);
    const std::string written = death_report_json(*report);
    const auto again = parsed(parse_report(written));
    require(again.has_value(), "what is written can be read", written);
    require(again->deaths.size() == report->deaths.size(), "with all its deaths");
}

}  // namespace memscope::fuzz
