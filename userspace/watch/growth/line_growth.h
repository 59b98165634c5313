#pragma once
#include <string>
#include <vector>

#include "watch/growth/call_sites.h"

namespace memscope {

// "validate (train.py:60)". Native code is shown with its file only, because loading symbols can take long and a tick
// does not wait for them.
std::string place_of(const CallSite& site);

// Growth of each line, largest first: memory that was first touched there, and memory that the line keeps.
std::vector<LineGrowth> by_line(const std::vector<SiteGrowth>& touched, const std::vector<SiteGrowth>& kept);

}  // namespace memscope
