// The report of a death, whatever its file or the record in it holds: read, shown, written again, and read once more.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/base64.h"
#include "cli/recordings/report_file.h"
#include "fuzz.h"
#include "outputs/deaths/death_report_bounds.h"
#include "outputs/deaths/death_report_json.h"
#include "outputs/deaths/death_text.h"
#include "record/container.h"

namespace memscope::fuzz {
namespace {

void check_file(std::string_view bytes) {
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
    require(death_report_json(*again) == written, "and is the same");
}

}  // namespace

void one(std::string_view bytes) {
    check_file(bytes);
    const std::string record = record::sealed(record::Kind::death_report, bytes);
    check_file(fmt::format(R"({{"report":"death","version":1,"record":"{}"}})", base64(record)));
}

}  // namespace memscope::fuzz
