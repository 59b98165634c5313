#pragma once
#include "analysis/advice.h"

namespace memscope {

// The part about OOM kills: by whose limit it was, and by what the series looked like.
std::vector<std::string> advice_for_oom_kill(const DeathReport& report, const std::string& top_site);

}  // namespace memscope
