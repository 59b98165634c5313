#pragma once
#include <string>
#include <vector>

#include "watch/growth/call_sites.h"

namespace memscope {

// "validate (train.py:60)". Native code is shown with its file only, because loading symbols can take long and a tick
// does not wait for them.
std::string place_of(const CallSite& site);

// Memory that is kept at call sites, in two planes.
struct KeptSites {
    std::vector<SiteGrowth> mapped{};
    std::vector<SiteGrowth> tensors{};
};

// Growth of each line, largest first: memory that the line touched first, and memory that the line keeps. The storage
// of a tensor can be a mapping of its own, so of the two planes the one with more bytes at a line counts.
std::vector<LineGrowth> by_line(const std::vector<SiteGrowth>& touched, const KeptSites& kept);

}  // namespace memscope
