#pragma once
#include <cstddef>
#include <string>
#include <string_view>

#include "outputs/growth/growth_report.h"

namespace memscope {

struct TextLook {
    std::size_t columns = 100;
    bool colour = false;
};

// Growth as text: each plane with its meaning, its largest call sites and its unattributed growth.
std::string growth_text(const GrowthReport& report, const TextLook& look);

// Parts that the live view also uses.
std::string_view resident_meaning(ResidentMethod method);  // what the resident plane shows
// resident_meaning(), and when memscope last checked which pages still exist, if that was 10 s ago or longer.
std::string resident_state(const Growth& growth);
std::string human_growth(std::int64_t bytes);  // "1.9 GiB", "-312 KiB"
std::string role_text(const RoleKey& role);    // "trainer 0"
// Sum of all positive sizes of sites and of unattributed growth. The column SHARE is relative to this sum.
std::int64_t growth_sum(const GrowthPlane& plane);
// The own line of a call site in at most `width` columns: "…/job/history.py:41 History.append". Printable.
std::string site_line(const GrowthSite& site, std::size_t width);

}  // namespace memscope
