// Growth in every format. Programs can choose any names for their code.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "fuzz.h"
#include "outputs/growth/growth_folded.h"
#include "outputs/growth/growth_json.h"
#include "outputs/growth/growth_pprof.h"
#include "outputs/growth/growth_text.h"
#include "outputs/text/text_layout.h"

namespace memscope::fuzz {
namespace {

GrowthSite any_site(Input& input) {
    GrowthSite site;
    site.bytes = input.number<std::int64_t>() >> (input.number() % 64U);
    site.role.role = kRoles[input.number() % std::size(kRoles)];
    if (input.flag()) site.role.rank = input.number<int>();
    site.pids.assign(input.number() % 4U, 7);
    for (std::size_t n = input.number() % 8U; n > 0; --n)
        site.python.push_back({input.text(), input.text(), input.number<int>()});
    for (std::size_t n = input.number() % 8U; n > 0; --n)
        site.native.push_back({input.text(), input.text(), input.number<std::uint64_t>()});
    return site;
}

GrowthPlane any_plane(Input& input) {
    GrowthPlane plane;
    for (std::size_t n = input.number() % 8U; n > 0; --n) plane.sites.push_back(any_site(input));
    for (std::size_t n = input.number() % 3U; n > 0; --n)
        plane.unattributed.push_back({input.text(), input.number<std::int64_t>()});
    return plane;
}

void check_folded(const GrowthReport& report) {
    const FoldedGrowth folded = growth_folded(report);
    require(is_clean(folded.text, '\n') && is_clean(folded.note), "folded stacks are clean text", folded.text);
    for_each_line(folded.text, [](std::string_view line) {
        const auto bytes = parse_number(line.substr(line.rfind(' ') + 1));
        require(bytes && *bytes > 0, "a folded line ends with its bytes", line);
    });
}

}  // namespace

void one(std::string_view bytes) {
    Input input(bytes);
    GrowthReport report{.time = input.number<double>(), .target = {.name = input.text()}};
    if (input.flag()) report.top = input.number() % 8U;
    const std::size_t columns = input.number();
    report.growth.resident = any_plane(input);
    report.growth.mapped = any_plane(input);
    report.growth.file_mapped_bytes = input.number<std::int64_t>();

    const std::string json = growth_json(report);
    const auto document = nlohmann::json::parse(json, nullptr, false);  // not the library of the writer
    require(document.is_object(), "growth is JSON", json);
    require(document["resident"].size() + document["left_out"]["resident"]["sites"].get<std::size_t>() ==
                report.growth.resident.sites.size(),
            "every site is there or counted", json);

    const std::string text = growth_text(report, {.columns = columns});
    require(is_clean(text, '\n'), "the text steers no terminal", text);
    for_each_line(text, [&](std::string_view line) {
        require(display_width(line) <= std::max<std::size_t>(columns, 40), "the text fits", line);
    });
    check_folded(report);
    require(growth_pprof(report).starts_with("\x1f\x8b"), "a profile is gzipped");
}

}  // namespace memscope::fuzz
