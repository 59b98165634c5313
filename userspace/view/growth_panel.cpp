#include "view/growth_panel.h"

#include <algorithm>
#include <fmt/format.h>
#include <functional>
#include <map>

#include "base/text.h"
#include "outputs/growth_source.h"
#include "outputs/growth_text.h"
#include "outputs/text_layout.h"

namespace memscope::view {
namespace {

constexpr std::size_t kSitesPerRole = 5;
constexpr std::size_t kBytes = 10;

struct RoleGrowth {
    RoleKey role{};
    std::int64_t bytes = 0;
    std::vector<const GrowthSite*> largest{};
    std::size_t others = 0;
};

std::vector<RoleGrowth> by_role(const GrowthPlane& plane) {
    std::map<RoleKey, RoleGrowth> roles;
    for (const GrowthSite& site : plane.sites) {  // largest first
        RoleGrowth& role = roles[site.role];
        role.role = site.role;
        role.bytes = add_bytes(role.bytes, site.bytes);
        if (role.largest.size() < kSitesPerRole)
            role.largest.push_back(&site);
        else
            ++role.others;
    }
    std::vector<RoleGrowth> sorted;
    sorted.reserve(roles.size());
    for (auto& [key, role] : roles) sorted.push_back(std::move(role));
    std::ranges::stable_sort(sorted, std::greater{}, &RoleGrowth::bytes);
    return sorted;
}

}  // namespace

std::vector<Line> growth_panel(const Growth* growth, GrowthPanel plane, std::size_t width) {
    const bool resident = plane == GrowthPanel::resident;
    std::vector<Line> lines;
    lines.push_back(
        Line{}
            .add(resident ? " RESIDENT" : " MAPPED", Style::bold)
            .add(resident ? "  where memory was first touched" : "  mapped here and not unmapped since", Style::dim));
    if (!growth) {
        lines.push_back(Line{}.add(std::string("   ") + kGrowthNotFollowed, Style::warn));
        return lines;
    }
    const GrowthPlane& shown = resident ? growth->resident : growth->mapped;
    if (shown.sites.empty()) lines.push_back(Line{}.add("   nothing so far", Style::dim));
    for (const RoleGrowth& role : by_role(shown)) {
        lines.push_back(Line{}
                            .add(right(human_growth(role.bytes), kBytes), Style::bold)
                            .add("  " + role_text(role.role), Style::bold));
        for (const GrowthSite* site : role.largest)
            lines.push_back(Line{}
                                .add(right(human_growth(site->bytes), kBytes))
                                .add("    " + site_line(*site, width > kBytes + 4 ? width - kBytes - 4 : 1)));
        if (role.others > 0)
            lines.push_back(
                Line{}.add(std::string(kBytes + 4, ' ') + fmt::format("… {} more", role.others), Style::dim));
    }
    for (const UnattributedGrowth& part : shown.unattributed)
        if (part.bytes != 0)
            lines.push_back(Line{}.add(
                right(human_growth(part.bytes), kBytes) + "  not attributed: " + printable(part.reason), Style::warn));
    return lines;
}

}  // namespace memscope::view
