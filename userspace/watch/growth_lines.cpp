#include "watch/growth_lines.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <utility>

#include "analysis/attribution.h"

namespace memscope {
namespace {

std::string place_of(const CallSite& site) {
    if (const PythonFrame* frame = telling_frame(site.python))
        return fmt::format("{} ({}:{})", frame->function, frame->file.substr(frame->file.rfind('/') + 1), frame->line);
    if (site.native.empty() || !site.native.front().module) return "unknown code";
    const std::string& path = site.native.front().module->name();
    return path.substr(path.rfind('/') + 1);
}

}  // namespace

std::vector<LineGrowth> by_line(const std::vector<BookedGrowth>& booked) {
    std::map<std::pair<RoleKey, const CallSite*>, std::int64_t> by_site;  // many processes grow at the same
    for (const BookedGrowth& each : booked) by_site[{each.role, each.site.get()}] += each.bytes;
    std::map<std::pair<RoleKey, std::string>, std::int64_t> by_place;
    for (const auto& [key, bytes] : by_site) by_place[{key.first, place_of(*key.second)}] += bytes;
    std::vector<LineGrowth> lines;
    lines.reserve(by_place.size());
    for (const auto& [key, bytes] : by_place) lines.push_back({key.first, key.second, bytes});
    std::stable_sort(lines.begin(), lines.end(),
                     [](const LineGrowth& a, const LineGrowth& b) { return a.bytes > b.bytes; });
    return lines;
}

}  // namespace memscope
