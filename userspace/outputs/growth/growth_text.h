#pragma once
#include <cstddef>
#include <string>

#include "outputs/growth/growth_report.h"

namespace memscope {

struct TextLook {
    std::size_t columns = 100;
    bool colour = false;
};

// Growth for a person: each plane with what it means, its largest call sites, and what is at none.
std::string growth_text(const GrowthReport& report, const TextLook& look);

// Pieces of it that the live view has, too.
std::string human_growth(std::int64_t bytes);  // "1.9 GiB", "-312 KiB"
std::string role_text(const RoleKey& role);    // "trainer 0"
// Bytes that sites and unattributed growth have together, those that were given back left aside: what a share is of.
std::int64_t growth_sum(const GrowthPlane& plane);
// The line a person looks at first, in at most `width` columns: "…/job/history.py:41 History.append". Printable.
std::string site_line(const GrowthSite& site, std::size_t width);

}  // namespace memscope
