#include "watch/growth/line_growth.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <utility>

#include "analysis/growth/attribution.h"

namespace memscope {

std::string place_of(const CallSite& site) {
    if (std::string place = own_place(site.python); !place.empty()) return place;
    if (site.native.empty() || !site.native.front().module) return "unknown code";
    const std::string& path = site.native.front().module->name();
    return path.substr(path.rfind('/') + 1);
}

std::vector<LineGrowth> by_line(const std::vector<SiteGrowth>& touched, const KeptSites& kept) {
    struct Sums {
        std::int64_t touched = 0;
        std::int64_t mapped = 0;
        std::int64_t tensors = 0;
    };
    std::map<std::pair<RoleKey, const CallSite*>, Sums> by_site;  // many processes grow at one site
    for (const SiteGrowth& each : touched) by_site[{each.role, each.site.get()}].touched += each.bytes;
    for (const SiteGrowth& each : kept.mapped) by_site[{each.role, each.site.get()}].mapped += each.bytes;
    for (const SiteGrowth& each : kept.tensors) by_site[{each.role, each.site.get()}].tensors += each.bytes;
    std::map<std::pair<RoleKey, std::string>, Sums> by_place;
    for (const auto& [key, sums] : by_site) {
        Sums& sum = by_place[{key.first, place_of(*key.second)}];
        sum.touched += sums.touched;
        sum.mapped += sums.mapped;
        sum.tensors += sums.tensors;
    }
    std::vector<LineGrowth> lines;
    lines.reserve(by_place.size());
    for (const auto& [key, sums] : by_place)
        lines.push_back({key.first, key.second, sums.touched, std::max(sums.mapped, sums.tensors)});
    const auto size = [](const LineGrowth& line) { return std::max(line.bytes, line.kept); };
    std::stable_sort(lines.begin(), lines.end(),
                     [&](const LineGrowth& a, const LineGrowth& b) { return size(a) > size(b); });
    return lines;
}

}  // namespace memscope
